//! Starting, steering and ending one master.

use super::admin::Admin;
use super::error::ProcessError;
use super::layout::{self, Page, SOCKET_BIND_FAILED};
use super::page::{self, SharedPage};
use super::release::Release;
use super::threads::{self, EVICTION_SLEEP_NS, Patience, SLICE, Served, ThreadView, Threads, Tick};
use super::{home, library, ports, spawn};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Thread};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Real time that a start may take. On an idle machine it takes 0.05 s.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Real time that a round of a background thread may take.
const TICK_LIMIT: Duration = Duration::from_secs(20);
/// Real time that an orderly end may take before the process is killed.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// Pairs of ports that are tried.
const PORT_TRIES: u32 = 8;
/// Bytes of the log that an error shows.
const LOG_TAIL_BYTES: usize = 4_096;
/// Flags that the process control sets itself.
const RESERVED_FLAGS: [&str; 9] = [
    "rpc_address",
    "rpc_port",
    "port",
    "rpc_interface",
    "metrics_host",
    "metrics_port",
    "rpc_thread_num",
    "max_threads",
    "config_path",
];

/// How to start a master.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// Further flags by upstream's name, without the dash: `{"default_kv_lease_ttl": "10000"}`.
    pub flags: BTreeMap<String, String>,
    /// What its clocks show from the first instruction on.
    pub clocks: Clocks,
    /// Seed of its random device. Which segment gets a replica follows from it.
    pub seed: u64,
    /// Where its output goes; by default to a file that goes with the process.
    pub log: Option<PathBuf>,
    /// The release; by default the one found by [`Release::locate`].
    pub release: Option<Release>,
    /// The preload library; by default the one found by [`library::locate`].
    pub library: Option<PathBuf>,
    /// RPC and admin port; by default free ones are found.
    pub ports: Option<(u16, u16)>,
}

/// A running master under control.
#[derive(Debug)]
pub struct MasterProcess {
    // First, so that the process has ended when its folder goes.
    run: Run,
    options: StartOptions,
    release: Release,
    library: PathBuf,
    home: TempDir,
}

/// One life of the process.
#[derive(Debug)]
struct Run {
    page: SharedPage,
    child: Mutex<Child>,
    pid: u32,
    threads: Threads,
    rpc_port: u16,
    admin_port: u16,
    log: PathBuf,
}

impl MasterProcess {
    /// Starts a master and returns once it is reachable and every background thread sleeps.
    pub fn start(options: StartOptions) -> Result<MasterProcess, ProcessError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(ProcessError::Platform);
        }
        let reserved = options
            .flags
            .keys()
            .find(|flag| RESERVED_FLAGS.contains(&flag.as_str()));
        if let Some(flag) = reserved {
            return Err(ProcessError::ReservedFlag { flag: flag.clone() });
        }
        let release = options.release.clone().map_or_else(Release::locate, Ok)?;
        let library = options.library.clone().map_or_else(library::locate, Ok)?;
        let home = home::create()?;
        let launch = Launch {
            options: &options,
            release: &release,
            library: &library,
            home: &home,
        };
        let run = launch.until_a_port_is_free(options.clocks)?;
        Ok(MasterProcess {
            options,
            release,
            library,
            home,
            run,
        })
    }

    /// Kills the process and starts a new one on the same ports, with the same flags and seed and with clocks that go on from where
    /// they are. What the old one knew is lost.
    pub fn restart(&mut self) -> Result<(), ProcessError> {
        self.kill()?;
        let clocks = self.run.page.clocks();
        let ports = (self.run.rpc_port, self.run.admin_port);
        let launch = Launch {
            options: &self.options,
            release: &self.release,
            library: &self.library,
            home: &self.home,
        };
        self.run = launch.on_ports(clocks, ports).map_err(|failure| match failure {
            Failure::PortTaken(what) => ProcessError::Ports { tries: 1, last: what },
            Failure::Other(error) => error,
        })?;
        Ok(())
    }

    /// Sets both clocks.
    pub fn set_clocks(&self, clocks: Clocks) {
        self.run.page.set_clocks(clocks);
    }

    /// Sets the wall clock alone.
    pub fn set_realtime(&self, realtime: RealtimeNs) {
        self.set_clocks(Clocks {
            realtime,
            ..self.clocks()
        });
    }

    /// Sets the monotonic clock alone.
    pub fn set_monotonic(&self, monotonic: MonotonicNs) {
        self.set_clocks(Clocks {
            monotonic,
            ..self.clocks()
        });
    }

    /// What its clocks show.
    pub fn clocks(&self) -> Clocks {
        self.run.page.clocks()
    }

    /// What the process itself has seen of its clocks.
    pub fn served(&self) -> Served {
        threads::served(self.run.page.get())
    }

    /// Lets one background thread do exactly one round; returns when it sleeps again.
    pub fn tick(&self, thread: Thread) -> Result<Tick, ProcessError> {
        let ticked = self
            .run
            .patiently(|page, patience| self.run.threads.tick(page, thread, patience));
        ticked.ok_or_else(|| {
            self.run.stuck(
                "a background round",
                &format!("the {} thread to sleep again", thread.name()),
            )
        })
    }

    /// Waits until the replica clean-up worker, which unmounting a segment wakes, has nothing left to do.
    pub fn await_cleanup_idle(&self) -> Result<(), ProcessError> {
        let idle = self
            .run
            .patiently(|page, patience| self.run.threads.await_workers(page, patience));
        idle.ok_or_else(|| {
            self.run
                .stuck("cleaning up", "the replica clean-up worker to sleep again")
        })
    }

    /// Every thread that has ever slept, for diagnosis.
    pub fn threads(&self) -> Vec<ThreadView> {
        threads::view(self.run.page.get())
    }

    /// Ends the process at once (SIGKILL) and waits for its end. Nothing happens if it has ended already.
    pub fn kill(&self) -> Result<ExitStatus, ProcessError> {
        let mut child = self.run.child();
        child.kill().map_err(ProcessError::io("kill the master"))?;
        child
            .wait()
            .map_err(ProcessError::io("wait for the master's end"))
    }

    /// Ends the process in order: opens the gates, sends SIGTERM, and kills it if that does not end it in time.
    pub fn stop(&self) -> Result<ExitStatus, ProcessError> {
        let mut child = self.run.child();
        end(&self.run.page, &mut child)
    }

    /// Stops the process where it stands (SIGSTOP); returns once it stands. What is sent to it waits.
    pub fn freeze(&self) -> Result<(), ProcessError> {
        let child = self.run.living_child("being frozen")?;
        spawn::freeze(&child).map_err(ProcessError::io("freeze the master"))
    }

    /// Lets a frozen process go on.
    pub fn resume(&self) -> Result<(), ProcessError> {
        let child = self.run.living_child("being resumed")?;
        spawn::resume(&child);
        Ok(())
    }

    /// How the process ended; none while it runs.
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.run.child().try_wait().ok().flatten()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.run.pid
    }

    /// Processor time it has used, all threads together. An error once it has ended.
    pub fn cpu_time(&self) -> Result<Duration, ProcessError> {
        let child = self.run.living_child("being measured")?;
        spawn::cpu_time(&child).map_err(ProcessError::io("read the master's processor time"))
    }

    /// Where it answers RPCs.
    pub fn rpc_addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.run.rpc_port))
    }

    /// Where its admin server answers.
    pub fn admin_addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.run.admin_port))
    }

    /// The observer: queries of the admin server that change nothing.
    pub fn admin(&self) -> Admin {
        Admin::new(self.admin_addr())
    }

    /// The release it was started from.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// The end of its output.
    pub fn log_tail(&self) -> String {
        self.run.log_tail()
    }
}

impl Run {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The child, if it runs. The id of one that has ended and been waited for may by now be another process's.
    fn living_child(&self, doing: &'static str) -> Result<MutexGuard<'_, Child>, ProcessError> {
        let mut child = self.child();
        match child
            .try_wait()
            .map_err(ProcessError::io("look after the master"))?
        {
            None => Ok(child),
            Some(status) => Err(ProcessError::Ended {
                doing,
                status,
                log_tail: self.log_tail(),
            }),
        }
    }

    fn log_tail(&self) -> String {
        log_tail(&self.log)
    }

    fn patiently<T>(&self, wait: impl FnOnce(&Page, &Patience<'_>) -> Option<T>) -> Option<T> {
        // No `try_wait` holds the lock for long, and none is made while the thread answers within a slice.
        let runs = || matches!(self.child().try_wait(), Ok(None));
        wait(
            self.page.get(),
            &Patience {
                until: Instant::now() + TICK_LIMIT,
                runs: &runs,
            },
        )
    }

    fn stuck(&self, doing: &'static str, waiting_for: &str) -> ProcessError {
        let ended = self.child().try_wait().ok().flatten();
        let log_tail = self.log_tail();
        match ended {
            Some(status) => ProcessError::Ended {
                doing,
                status,
                log_tail,
            },
            None => ProcessError::TimedOut {
                waiting_for: waiting_for.to_owned(),
                limit: TICK_LIMIT,
                log_tail,
            },
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Already reported or nobody left to report to: the process is a child, so the kernel has the last word in any case.
        let _ = end(&self.page, &mut child);
    }
}

/// Opens the gates, asks the process to end, and insists.
fn end(page: &SharedPage, child: &mut Child) -> Result<ExitStatus, ProcessError> {
    let waiting = || ProcessError::io("wait for the master's end");
    if let Some(status) = child.try_wait().map_err(waiting())? {
        return Ok(status);
    }
    page.open_gates();
    // A frozen process would not notice the rest.
    spawn::resume(child);
    spawn::terminate(child);
    if !spawn::wait_for_end(child, STOP_LIMIT) {
        child.kill().map_err(ProcessError::io("kill the master"))?;
    }
    child.wait().map_err(waiting())
}

fn log_tail(path: &PathBuf) -> String {
    let Ok(bytes) = std::fs::read(path) else {
        return "(no log)".to_owned();
    };
    let tail = &bytes[bytes.len().saturating_sub(LOG_TAIL_BYTES)..];
    let text = String::from_utf8_lossy(tail).trim().to_owned();
    if text.is_empty() {
        "(it said nothing)".to_owned()
    } else {
        text
    }
}

/// What a start needs.
struct Launch<'a> {
    options: &'a StartOptions,
    release: &'a Release,
    library: &'a PathBuf,
    home: &'a TempDir,
}

/// Why one try to start did not do.
enum Failure {
    /// Somebody else has the port; another may do.
    PortTaken(String),
    Other(ProcessError),
}

impl From<ProcessError> for Failure {
    fn from(error: ProcessError) -> Failure {
        Failure::Other(error)
    }
}

impl Launch<'_> {
    fn until_a_port_is_free(&self, clocks: Clocks) -> Result<Run, ProcessError> {
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

    fn on_ports(&self, clocks: Clocks, (rpc_port, admin_port): (u16, u16)) -> Result<Run, Failure> {
        let page = SharedPage::create(clocks, self.options.seed, EVICTION_SLEEP_NS)?;
        let log = self
            .options
            .log
            .clone()
            .unwrap_or_else(|| self.home.path().join("master.log"));
        let command = self.command(&page, &log, (rpc_port, admin_port))?;
        let mut child = spawn::spawn(command, page.descriptor())?;
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

    fn command(&self, page: &SharedPage, log: &PathBuf, ports: (u16, u16)) -> Result<Command, ProcessError> {
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
fn settle(
    shared: &SharedPage,
    child: &mut Child,
    ports: (u16, u16),
    log: &PathBuf,
) -> Result<Threads, Failure> {
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
