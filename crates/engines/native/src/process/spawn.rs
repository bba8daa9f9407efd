//! Starting a child that dies with this process, ending it, and waiting for its end without polling.
#![allow(
    unsafe_code,
    reason = "process start and pidfd; each block says why it is sound"
)]

use super::error::ProcessError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

type Reply = Sender<io::Result<Child>>;

/// Starts `command` so that the kernel kills it when this process is gone, in a process group of its own, with the
/// descriptors `inherit` open.
///
/// The parent-death signal follows the *thread* that started the child, so all children are started by one thread that lives as
/// long as the process.
pub(crate) fn spawn(mut command: Command, inherit: &[RawFd]) -> Result<Child, ProcessError> {
    let parent = std::process::id();
    let inherit = inherit.to_vec();
    // A terminal's Ctrl-C goes to the whole foreground group; what happens to the child is for the parent to decide.
    command.process_group(0);
    // SAFETY: the closure runs between fork and exec and makes a few system calls, each of which is async-signal-safe; it neither
    // allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have died before the line above; then nobody would ever send the signal.
            if libc::getppid().cast_unsigned() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            for descriptor in &inherit {
                if libc::fcntl(*descriptor, libc::F_SETFD, 0) != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    let (reply, answer) = channel();
    let gone = || io::Error::other("the thread that starts processes is gone");
    spawner()
        .and_then(|spawner| spawner.send((command, reply)).map_err(|_| gone()))
        .and_then(|()| answer.recv().map_err(|_| gone())?)
        .map_err(ProcessError::io("start the process"))
}

fn spawner() -> io::Result<&'static Sender<(Command, Reply)>> {
    static SPAWNER: OnceLock<Sender<(Command, Reply)>> = OnceLock::new();
    if let Some(spawner) = SPAWNER.get() {
        return Ok(spawner);
    }
    let (sender, jobs) = channel::<(Command, Reply)>();
    std::thread::Builder::new()
        .name("moonquake-spawner".to_owned())
        .spawn(move || {
            for (mut command, reply) in jobs {
                // A caller that has given up leaves a child that nobody owns; end it.
                if let Err(unwanted) = reply.send(command.spawn())
                    && let Ok(mut child) = unwanted.0
                {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        })?;
    // If another thread was quicker, its spawner is used and the one made here ends, as its channel is dropped.
    Ok(SPAWNER.get_or_init(|| sender))
}

/// Asks a child to end.
pub(crate) fn terminate(child: &Child) {
    // SAFETY: sends a signal. The child has not been waited for by the caller, so the id is still its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
}

/// Stops a child and waits until it stands still.
pub(crate) fn freeze(child: &Child) -> io::Result<()> {
    let pid = child.id().cast_signed();
    // SAFETY: sends a signal to a child that has not been waited for.
    if unsafe { libc::kill(pid, libc::SIGSTOP) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all bytes zero is a valid value of this plain structure.
    let mut seen: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let wanted = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
    // SAFETY: the structure is writable. Nothing is reaped, so that the child's end can still be waited for.
    if unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut seen, wanted) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if seen.si_code == libc::CLD_STOPPED {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Lets a stopped child go on.
pub(crate) fn resume(child: &Child) {
    // SAFETY: sends a signal to a child that has not been waited for.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGCONT) };
}

/// Waits until the child has ended, at most `limit` of real time. Says whether it has. Does not reap it.
pub(crate) fn wait_for_end(child: &Child, limit: Duration) -> bool {
    let Some(handle) = pidfd(child) else {
        return false;
    };
    let mut poll = libc::pollfd {
        fd: handle.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let limit_ms = libc::c_int::try_from(limit.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one valid entry. An interrupted wait counts as not ended, which the callers survive.
    unsafe { libc::poll(&raw mut poll, 1, limit_ms) == 1 }
}

fn pidfd(child: &Child) -> Option<OwnedFd> {
    // SAFETY: plain arguments. The id is still the child's, as it has not been reaped.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::c_long::from(child.id()), 0) };
    let raw = RawFd::try_from(raw).ok().filter(|raw| *raw >= 0)?;
    // SAFETY: a fresh descriptor that nothing else owns.
    Some(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Processor time a child has used, all threads together.
pub(crate) fn cpu_time(child: &Child) -> io::Result<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the clock id is writable.
    let error = unsafe { libc::clock_getcpuclockid(child.id().cast_signed(), &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is writable.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    ))
}
