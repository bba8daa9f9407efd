//! Starting, steering and ending one master.

use super::admin::Admin;
use super::error::ProcessError;
use super::launch::{Failure, Launch};
use super::release::Release;
use super::run::{self, Run};
use super::threads::{self, RealTime, Served, ThreadView, Tick};
use super::{home, library, spawn};
use moonquake_clock::{Clocks, MonotonicNs, RealtimeNs, Thread};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use tempfile::TempDir;

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

    /// How many ids it has made since it started, of tasks and of jobs. They follow from the seed and from this number.
    pub fn ids_made(&self) -> u64 {
        threads::ids_made(self.run.page.get())
    }

    /// What the process itself has seen of its clocks.
    pub fn served(&self) -> Served {
        threads::served(self.run.page.get())
    }

    /// What the process has done in real time so far.
    pub fn real_time(&self) -> RealTime {
        threads::real_time(self.run.page.get())
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

    /// Lets the timers that are due by its monotonic clock do their work. Upstream they run by themselves.
    pub fn run_due_timers(&self) -> Result<(), ProcessError> {
        let now = self.clocks().monotonic;
        let done = self
            .run
            .patiently(|page, patience| self.run.threads.run_due(page, now, patience));
        done.ok_or_else(|| self.run.stuck("a timer", "the thread of a timer to sleep again"))
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

    /// Waits until a graceful unmount that was just answered has a thread that waits for its end.
    pub fn await_graceful_unmount(&self) -> Result<(), ProcessError> {
        let there = self
            .run
            .patiently(|page, patience| self.run.threads.await_scheduler(page, patience));
        there.ok_or_else(|| {
            self.run
                .stuck("a graceful unmount", "the scheduler of its end to sleep")
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
        run::end(&self.run.page, &mut child)
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
