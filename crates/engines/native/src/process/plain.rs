//! A server as anybody would start it: real clocks, threads of its own, nothing preloaded. For measurements.

use super::error::ProcessError;
use super::release::Release;
use super::run::{log_tail, stop};
use super::{home, ports, spawn};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Real time that a start may take.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long to wait before looking again whether a port is open; nothing tells of it.
const SLICE: Duration = Duration::from_millis(5);

/// A running server. It ends when this is dropped, and with this process however that ends.
#[derive(Debug)]
pub struct PlainProcess {
    child: Child,
    address: SocketAddr,
    // Removed after the process has ended.
    _home: Option<TempDir>,
}

impl PlainProcess {
    /// Starts the unmodified master of the pinned release with `flags` (`-name=value`) besides its addresses, quiet, and
    /// returns when it can be reached.
    ///
    /// # Errors
    /// [`ProcessError`] when the release is not there, or the process does not come up.
    pub fn master(flags: &[String]) -> Result<PlainProcess, ProcessError> {
        let release = Release::locate()?;
        let home = home::create()?;
        let log = home.path().join("master.log");
        let (rpc_port, admin_port) = ports::free_pair().ok_or_else(|| ProcessError::Ports {
            tries: 0,
            last: "every port is in use".to_owned(),
        })?;
        let writing = || ProcessError::io(format!("write the log {}", log.display()));
        let output = File::create(&log).map_err(writing())?;
        let errors = output.try_clone().map_err(writing())?;
        let mut command = Command::new(release.master());
        command
            .args(["-rpc_address=127.0.0.1", "-metrics_host=127.0.0.1"])
            .arg(format!("-rpc_port={rpc_port}"))
            .arg(format!("-metrics_port={admin_port}"))
            .args(["-minloglevel=2", "-logtostderr=true"])
            .args(flags)
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        if let Some(folder) = release.system_libraries() {
            command.env("LD_LIBRARY_PATH", folder);
        }
        let mut child = spawn::spawn(command, &[])?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, rpc_port));
        match until_reachable(&mut child, address, &log) {
            Ok(()) => Ok(PlainProcess {
                child,
                address,
                _home: Some(home),
            }),
            Err(error) => {
                let _ = stop(&mut child);
                Err(error)
            }
        }
    }

    /// Starts a server whose first line of output ends with the address on which it listens, as `moonquake serve` does.
    ///
    /// # Errors
    /// [`ProcessError`] when it does not start or says something else.
    pub fn announced(mut command: Command) -> Result<PlainProcess, ProcessError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = spawn::spawn(command, &[])?;
        let mut line = String::new();
        let read = match child.stdout.take() {
            Some(output) => BufReader::new(output).read_line(&mut line),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let address = read.and_then(|_| {
            let said = || io::Error::other(format!("it said {line:?} instead of its address"));
            let last = line.split_whitespace().next_back().ok_or_else(said)?;
            last.parse().map_err(|_| said())
        });
        match address {
            Ok(address) => Ok(PlainProcess {
                child,
                address,
                _home: None,
            }),
            Err(source) => {
                let _ = stop(&mut child);
                Err(ProcessError::io("learn the address of a server")(source))
            }
        }
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Processor time that it has used, all its threads together, in user and in kernel mode.
    ///
    /// # Errors
    /// [`ProcessError::Io`] when it has ended.
    pub fn cpu_time(&self) -> Result<Duration, ProcessError> {
        spawn::cpu_time(&self.child).map_err(ProcessError::io("read a server's processor time"))
    }

    /// Memory that it holds, in bytes: its resident set.
    ///
    /// # Errors
    /// [`ProcessError::Io`] when it has ended.
    pub fn resident_bytes(&self) -> Result<u64, ProcessError> {
        let path = format!("/proc/{}/status", self.child.id());
        let missing = || io::Error::other("the system does not say it");
        let read = std::fs::read_to_string(path).and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmRSS:"));
            let kib = line.and_then(|line| line.split_whitespace().nth(1));
            let kib: u64 = kib.and_then(|kib| kib.parse().ok()).ok_or_else(missing)?;
            Ok(kib << 10)
        });
        read.map_err(ProcessError::io("read a server's memory"))
    }

    /// Ends it at once; nothing in it is cleaned up. Returns how it ended, when it has.
    ///
    /// # Errors
    /// [`ProcessError::Io`] when the system does not let us.
    pub fn kill(mut self) -> Result<ExitStatus, ProcessError> {
        let killing = || ProcessError::io("kill a server");
        self.child.kill().map_err(killing())?;
        self.child.wait().map_err(killing())
    }

    /// Asks it to end, and insists after two seconds.
    ///
    /// # Errors
    /// [`ProcessError::Io`] when the system does not let us.
    pub fn stop(mut self) -> Result<(), ProcessError> {
        stop(&mut self.child).map(drop)
    }
}

impl Drop for PlainProcess {
    fn drop(&mut self) {
        // Nobody is left to report to; the kernel has the last word in any case.
        let _ = stop(&mut self.child);
    }
}

fn until_reachable(child: &mut Child, address: SocketAddr, log: &Path) -> Result<(), ProcessError> {
    let until = Instant::now() + START_LIMIT;
    while TcpStream::connect(address).is_err() {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(ProcessError::Ended {
                doing: "starting",
                status,
                log_tail: log_tail(log),
            });
        }
        if Instant::now() >= until {
            return Err(ProcessError::TimedOut {
                waiting_for: format!("a connection to {address}"),
                limit: START_LIMIT,
                log_tail: log_tail(log),
            });
        }
        spawn::wait_for_end(child, SLICE);
    }
    Ok(())
}
