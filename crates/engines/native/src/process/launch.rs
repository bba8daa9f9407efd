//! Starting a process and waiting until it is reachable and still.

use super::error::ProcessError;
use super::layout::{self, Page, SOCKET_BIND_FAILED};
use super::master::StartOptions;
use super::page::{self, SharedPage};
use super::release::Release;
use super::run::{Run, log_tail};
use super::threads::{self, EVICTION_SLEEP_NS, SLICE, Threads};
use super::{ports, spawn};
use moonquake_clock::Clocks;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Real time that a start may take. On an idle machine it takes 0.05 s.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Pairs of ports that are tried.
const PORT_TRIES: u32 = 8;

/// What a start needs.
pub(crate) struct Launch<'a> {
    pub(crate) options: &'a StartOptions,
    pub(crate) release: &'a Release,
    pub(crate) library: &'a Path,
    pub(crate) home: &'a TempDir,
}

/// Why one try to start did not do.
pub(crate) enum Failure {
    /// Somebody else has the port; another may do.
    PortTaken(String),
    /// Nothing else to try.
    Other(ProcessError),
}

impl From<ProcessError> for Failure {
    fn from(error: ProcessError) -> Failure {
        Failure::Other(error)
    }
}

impl Launch<'_> {
    /// Starts on free ports, on others if somebody takes them first.
    pub(crate) fn until_a_port_is_free(&self, clocks: Clocks) -> Result<Run, ProcessError> {
        let mut last = "every port is in use".to_owned();
        let tries = if self.options.ports.is_some() {
            1
        } else {
            PORT_TRIES
        };
        for _ in 0..tries {
            let Some(pair) = self.options.ports.or_else(ports::free_pair) else {
                break;
            };
            match self.on_ports(clocks, pair) {
                Ok(run) => return Ok(run),
                Err(Failure::PortTaken(what)) => last = what,
                Err(Failure::Other(error)) => return Err(error),
            }
        }
        Err(ProcessError::Ports { tries, last })
    }

    /// Starts on these ports.
    pub(crate) fn on_ports(
        &self,
        clocks: Clocks,
        (rpc_port, admin_port): (u16, u16),
    ) -> Result<Run, Failure> {
        let page = SharedPage::create(clocks, self.options.seed, EVICTION_SLEEP_NS)?;
        let log = self
            .options
            .log
            .clone()
            .unwrap_or_else(|| self.home.path().join("master.log"));
        let command = self.command(&page, &log, (rpc_port, admin_port))?;
        let mut child = spawn::spawn(command, &[page.descriptor()])?;
        let pid = child.id();
        match settle(&page, &mut child, (rpc_port, admin_port), &log) {
            Ok(threads) => Ok(Run {
                page,
                child: Mutex::new(child),
                pid,
                threads,
                rpc_port,
                admin_port,
                log,
            }),
            Err(failure) => {
                // A gated master that wants to give up cannot: it waits for its sleeping threads. End it from outside.
                let _ = child.kill();
                let _ = child.wait();
                Err(failure)
            }
        }
    }

    fn command(&self, page: &SharedPage, log: &Path, ports: (u16, u16)) -> Result<Command, ProcessError> {
        let writing = format!("write the log {}", log.display());
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .map_err(ProcessError::io(writing.clone()))?;
        let errors = output.try_clone().map_err(ProcessError::io(writing))?;
        let mut command = Command::new(self.release.master());
        command
            .args([
                "-rpc_address=127.0.0.1",
                "-metrics_host=127.0.0.1",
                "-rpc_thread_num=1",
            ])
            .arg(format!("-rpc_port={}", ports.0))
            .arg(format!("-metrics_port={}", ports.1))
            // The log grows by every operation otherwise.
            .args(["-minloglevel=2", "-logtostderr=true"])
            .args(
                self.options
                    .flags
                    .iter()
                    .map(|(flag, value)| format!("-{flag}={value}")),
            )
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("LD_PRELOAD", self.library)
            .env(
                layout::PAGE_VARIABLE,
                format!("/proc/self/fd/{}", page.descriptor()),
            )
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        if let Some(folder) = self.release.system_libraries() {
            command.env("LD_LIBRARY_PATH", folder);
        }
        Ok(command)
    }
}

/// Waits until the process listens on both ports and every background thread sleeps.
fn settle(shared: &SharedPage, child: &mut Child, ports: (u16, u16), log: &Path) -> Result<Threads, Failure> {
    let page = shared.get();
    let until = Instant::now() + START_LIMIT;
    loop {
        let seen = page.activity.load(Ordering::SeqCst);
        let missing = match reachable(page, ports)? {
            Some(missing) => missing,
            None => match Threads::identify(page) {
                Ok(threads) => return Ok(threads),
                Err(missing) => missing,
            },
        };
        let ended = child
            .try_wait()
            .map_err(ProcessError::io("look after the master"))?;
        if let Some(status) = ended {
            let doing = if status.signal().is_some() {
                "starting (a signal ended it)"
            } else {
                "starting"
            };
            return Err(ProcessError::Ended {
                doing,
                status,
                log_tail: log_tail(log),
            }
            .into());
        }
        if Instant::now() >= until {
            let waiting_for = format!(
                "waiting for its start; {missing}; threads: {:?}",
                threads::view(page)
            );
            return Err(ProcessError::TimedOut {
                waiting_for,
                limit: START_LIMIT,
                log_tail: log_tail(log),
            }
            .into());
        }
        page::wait_while(&page.activity, seen, SLICE);
    }
}

/// None if both ports are listened on, else what is missing.
fn reachable(page: &Page, ports: (u16, u16)) -> Result<Option<String>, Failure> {
    let mut listening = Vec::new();
    for event in &page.socket_events {
        let what = event.what.load(Ordering::Acquire);
        let port = event.port.load(Ordering::Relaxed);
        let errno = event.errno.load(Ordering::Relaxed);
        let ours = port == u32::from(ports.0) || port == u32::from(ports.1);
        if what != 0 && ours && (what == SOCKET_BIND_FAILED || errno != 0) {
            let error = std::io::Error::from_raw_os_error(errno.cast_signed());
            return Err(Failure::PortTaken(format!("port {port}: {error}")));
        }
        if what == layout::SOCKET_LISTEN {
            listening.push(port);
        }
    }
    let missing = [ports.0, ports.1]
        .into_iter()
        .find(|port| !listening.contains(&u32::from(*port)));
    Ok(missing.map(|port| format!("port {port} is not open yet")))
}
