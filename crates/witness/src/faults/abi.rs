//! The calls of `userfaultfd`, as `linux/userfaultfd.h` lays them out. The crate of that name makes its constants with
//! libclang at build time, which is much to ask for eight numbers.
#![allow(
    unsafe_code,
    reason = "system calls on descriptors; each block says why it is sound"
)]

use crate::WitnessError;
use crate::mapping::refused;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const API: u64 = 0xaa;
/// A page fault tells whether it was a write to a protected page.
pub(super) const FEATURE_WP: u64 = 1 << 0;
/// It tells the thread.
pub(super) const FEATURE_THREAD_ID: u64 = 1 << 8;
/// Minor faults on shared memory.
pub(super) const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
/// Write protection of shared memory.
pub(super) const FEATURE_WP_SHMEM: u64 = 1 << 12;

/// Register for write protection.
pub(super) const MODE_WP: u64 = 1 << 1;
/// Register for minor faults.
pub(super) const MODE_MINOR: u64 = 1 << 2;

const EVENT_PAGEFAULT: u8 = 0x12;
const FLAG_WRITE: u64 = 1 << 0;
const FLAG_MINOR: u64 = 1 << 2;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Range {
    start: u64,
    len: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct WriteProtect {
    range: Range,
    mode: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Continue {
    range: Range,
    mode: u64,
    mapped: i64,
}

/// `struct uffd_msg`, as it is for page faults.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u32,
    padding: u32,
}

const fn request<T>(direction: u64, number: u64) -> u64 {
    direction << 30 | (size_of::<T>() as u64) << 16 | API << 8 | number
}

const READ: u64 = 2;
const READ_WRITE: u64 = 3;

/// A page fault that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// An address in the page.
    pub(super) address: u64,
    /// Whether it is a write.
    pub(super) write: bool,
    /// Whether the page is not mapped yet (or else protected).
    pub(super) minor: bool,
    /// The thread.
    pub(super) thread: u32,
}

fn ask<T>(fd: BorrowedFd<'_>, request: u64, argument: &mut T) -> io::Result<()> {
    // SAFETY: every `request` here is made with the size of its own argument (`request::<T>`), which the kernel reads and
    // writes within; the ranges named in it are checked by the kernel and change protections only, never content.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, std::ptr::from_mut(argument)) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A new descriptor that tells of faults of the kernel too. Without that sight a copy of the kernel would fail.
pub(super) fn open() -> Result<OwnedFd, WitnessError> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: takes flags alone; the result is checked before use.
    let raw = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    let error = io::Error::last_os_error();
    let raw = if raw >= 0 {
        i32::try_from(raw).unwrap_or(-1)
    } else {
        through_device(flags)
    };
    if raw < 0 {
        return Err(match error.raw_os_error() {
            Some(libc::EPERM) => WitnessError::Unavailable {
                what: "this user may not see page faults of the kernel".to_owned(),
                cure: "sysctl -w vm.unprivileged_userfaultfd=1, or give the user /dev/userfaultfd, or CAP_SYS_PTRACE"
                    .to_owned(),
            },
            _ => WitnessError::Unavailable {
                what: format!("this kernel gives no userfaultfd: {error}"),
                cure: "use a kernel of Linux 6.4 or later with CONFIG_USERFAULTFD, and no filter of system calls"
                    .to_owned(),
            },
        });
    }
    // SAFETY: a fresh descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// A copy of a descriptor of another process, which this one must be allowed to trace (a child of it always is).
pub(super) fn take(process: u32, number: i32) -> Result<OwnedFd, WitnessError> {
    // SAFETY: takes numbers; the result is checked before use.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
    let handle = i32::try_from(raw).ok().filter(|raw| *raw >= 0);
    let handle = handle.ok_or_else(|| refused("find a process"))?;
    // SAFETY: a fresh descriptor that nothing else owns.
    let handle = unsafe { OwnedFd::from_raw_fd(handle) };
    // SAFETY: takes numbers; the result is checked before use.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_getfd, handle.as_raw_fd(), number, 0) };
    let taken = i32::try_from(raw).ok().filter(|raw| *raw >= 0);
    let taken = taken.ok_or_else(|| refused("take a descriptor of a process"))?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(taken) })
}

/// The device gives the same to whoever may open it.
fn through_device(flags: i32) -> i32 {
    const NEW: u64 = API << 8;
    // SAFETY: a valid C string; the result is checked before use.
    let device = unsafe { libc::open(c"/dev/userfaultfd".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if device < 0 {
        return -1;
    }
    // SAFETY: a fresh descriptor that nothing else owns.
    let device = unsafe { OwnedFd::from_raw_fd(device) };
    // SAFETY: this request takes its flags by value and gives a descriptor or an error.
    unsafe { libc::ioctl(device.as_raw_fd(), NEW as _, flags) }
}

/// Agrees on what is told; the first thing to ask of a new descriptor.
pub(super) fn agree(fd: BorrowedFd<'_>, features: u64) -> Result<(), WitnessError> {
    let mut api = Api {
        api: API,
        features,
        ioctls: 0,
    };
    ask(fd, request::<Api>(READ_WRITE, 0x3f), &mut api).map_err(|error| WitnessError::Unavailable {
        what: format!("this kernel does not tell of such page faults: {error}"),
        cure: "use a kernel of Linux 6.4 or later".to_owned(),
    })
}

/// Faults on these pages are told from now on.
pub(super) fn register(fd: BorrowedFd<'_>, start: u64, len: u64, mode: u64) -> Result<(), WitnessError> {
    let mut register = Register {
        range: Range { start, len },
        mode,
        ioctls: 0,
    };
    let what = "tell of faults on these pages";
    ask(fd, request::<Register>(READ_WRITE, 0x00), &mut register)
        .map_err(|error| WitnessError::Refused { what, error })
}

/// Faults on these pages are not told any more, their protection is lifted, and whoever waits goes on.
pub(super) fn unregister(fd: BorrowedFd<'_>, start: u64, len: u64) -> Result<(), WitnessError> {
    let what = "tell no more of faults on these pages";
    ask(fd, request::<Range>(READ, 0x01), &mut Range { start, len })
        .map_err(|error| WitnessError::Refused { what, error })
}

/// Protects pages from writes, or lifts that and lets whoever waits go on.
pub(super) fn protect(fd: BorrowedFd<'_>, start: u64, len: u64, on: bool) -> io::Result<()> {
    let mut protect = WriteProtect {
        range: Range { start, len },
        mode: u64::from(on),
    };
    ask(fd, request::<WriteProtect>(READ_WRITE, 0x06), &mut protect)
}

/// Maps pages that are there and lets whoever waits go on; protected from writes on demand.
pub(super) fn carry_on(fd: BorrowedFd<'_>, start: u64, len: u64, protected: bool) -> io::Result<()> {
    let mut carry_on = Continue {
        range: Range { start, len },
        mode: u64::from(protected) << 1,
        mapped: 0,
    };
    ask(fd, request::<Continue>(READ_WRITE, 0x07), &mut carry_on)
}

/// Lets whoever waits for these pages try again.
pub(super) fn wake(fd: BorrowedFd<'_>, start: u64, len: u64) -> io::Result<()> {
    ask(fd, request::<Range>(READ, 0x02), &mut Range { start, len })
}

/// The next fault that waits, if there is one.
pub(super) fn next(fd: BorrowedFd<'_>) -> io::Result<Option<Fault>> {
    let mut message = Message::default();
    let into = std::ptr::from_mut(&mut message).cast();
    // SAFETY: plain numbers of a known layout, as many bytes as the kernel is told of.
    let got = unsafe { libc::read(fd.as_raw_fd(), into, size_of::<Message>()) };
    if got < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        };
    }
    if usize::try_from(got).ok() != Some(size_of::<Message>()) || message.event != EVENT_PAGEFAULT {
        return Err(io::Error::other("an event that nobody asked for"));
    }
    Ok(Some(Fault {
        address: message.address,
        write: message.flags & FLAG_WRITE != 0,
        minor: message.flags & FLAG_MINOR != 0,
        thread: message.thread,
    }))
}

/// Waits until one of the two has something to tell or is closed.
pub(super) fn wait(first: BorrowedFd<'_>, second: BorrowedFd<'_>) -> io::Result<(bool, bool)> {
    let of = |fd: BorrowedFd<'_>| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut both = [of(first), of(second)];
    // SAFETY: two entries, as many as the kernel is told of; it writes their results.
    if unsafe { libc::poll(both.as_mut_ptr(), 2, -1) } < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok((false, false)),
            _ => Err(error),
        };
    }
    if both[0].revents & (libc::POLLERR | libc::POLLNVAL) != 0 {
        return Err(io::Error::other(
            "the descriptor was not made with O_NONBLOCK, or nothing was agreed on",
        ));
    }
    Ok((both[0].revents != 0, both[1].revents != 0))
}

/// Forgets where pages of shared memory of this process are mapped; their content stays.
pub(super) fn unmap_pages(start: u64, len: u64) -> Result<(), WitnessError> {
    let (Ok(start), Ok(len)) = (usize::try_from(start), usize::try_from(len)) else {
        return Err(WitnessError::Nonsense("no memory of this process".to_owned()));
    };
    let start = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: only called for a shared mapping that is alive, whose pages are in its file: no byte changes by it.
    if unsafe { libc::madvise(start, len, libc::MADV_DONTNEED) } < 0 {
        return Err(refused("forget where pages are mapped"));
    }
    Ok(())
}
