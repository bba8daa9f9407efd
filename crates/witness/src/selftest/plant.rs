//! One access of a kind, made on purpose.
#![allow(
    unsafe_code,
    reason = "the kernel and a child process are told to reach into memory; each block says why it is sound"
)]

use crate::{AccessKind, Mapping, Way, WitnessError};
use std::io::{self, PipeReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// Reads bytes of the memory, or writes `bytes` there, in the way of `kind`. All that is moved begins at `at`.
///
/// # Errors
/// Why it cannot be planted here.
pub(super) fn plant(memory: &Mapping, kind: AccessKind, at: u64, bytes: &[u8]) -> Result<(), String> {
    let whole = at + bytes.len() as u64;
    if whole > memory.len() {
        return Err("outside".to_owned());
    }
    let address = memory.address() + at;
    let wrong = |error: io::Error| error.to_string();
    match (kind.way, kind.write) {
        (Way::Cpu, true) => memory
            .write(at, bytes)
            .map_err(|error: WitnessError| error.to_string()),
        (Way::Cpu, false) => {
            let mut read = vec![0; bytes.len()];
            memory.read(at, &mut read).map_err(|error| error.to_string())
        }
        (Way::Socket, write) => by_socket(address, bytes, write).map_err(wrong),
        (Way::File, write) => by_pipe(address, bytes, write).map_err(wrong),
        (Way::Peer, write) => by_child(address, bytes, write).map_err(wrong),
        (Way::Nic, _) => Err("no card is told of this memory".to_owned()),
    }
}

fn all(moved: isize, len: usize) -> io::Result<()> {
    match usize::try_from(moved) {
        Ok(moved) if moved == len => Ok(()),
        Ok(moved) => Err(io::Error::other(format!("{moved} of {len} bytes moved"))),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn pointer(address: u64) -> io::Result<usize> {
    usize::try_from(address).map_err(io::Error::other)
}

/// `recv` into the memory or `send` from it, on a connection of the transport's kind.
fn by_socket(address: u64, bytes: &[u8], write: bool) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut far = TcpStream::connect(listener.local_addr()?)?;
    let (near, _) = listener.accept()?;
    let (fd, address, len) = (near.as_raw_fd(), pointer(address)?, bytes.len());
    if write {
        far.write_all(bytes)?;
        // SAFETY: `plant` has seen that these bytes are in a mapping that is alive; no reference to them exists.
        let moved = unsafe { libc::recv(fd, with_exposed_provenance_mut(address), len, libc::MSG_WAITALL) };
        return all(moved, len);
    }
    // SAFETY: as above; the kernel reads.
    all(
        unsafe { libc::send(fd, with_exposed_provenance(address), len, 0) },
        len,
    )?;
    far.read_exact(&mut vec![0; len])
}

/// `read` into the memory or `write` from it.
fn by_pipe(address: u64, bytes: &[u8], write: bool) -> io::Result<()> {
    let (mut out, mut into) = io::pipe()?;
    let (address, len) = (pointer(address)?, bytes.len());
    if write {
        into.write_all(bytes)?;
        // SAFETY: `plant` has seen that these bytes are in a mapping that is alive; no reference to them exists.
        let moved = unsafe { libc::read(out.as_raw_fd(), with_exposed_provenance_mut(address), len) };
        return all(moved, len);
    }
    // SAFETY: as above; the kernel reads.
    all(
        unsafe { libc::write(into.as_raw_fd(), with_exposed_provenance(address), len) },
        len,
    )?;
    out.read_exact(&mut vec![0; len])
}

/// `process_vm_writev` or `process_vm_readv` of a child process.
fn by_child(address: u64, bytes: &[u8], write: bool) -> io::Result<()> {
    let (go, mut say_go) = io::pipe()?;
    let mut copy = bytes.to_vec();
    let near = libc::iovec {
        iov_base: copy.as_mut_ptr().cast(),
        iov_len: copy.len(),
    };
    let far = libc::iovec {
        iov_base: with_exposed_provenance_mut(pointer(address)?),
        iov_len: bytes.len(),
    };
    // SAFETY: asks for a number.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child makes system calls alone, on memory made before, and ends without running anything of this process.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        // SAFETY: as above.
        unsafe { in_child(parent, &go, &near, &far, write) };
    }
    // Where a process may look into its children alone, this one is allowed. Where there is no such rule, it is no request.
    // SAFETY: takes numbers.
    let _no_such_rule = unsafe { libc::prctl(libc::PR_SET_PTRACER, child, 0, 0, 0) };
    let said = say_go.write_all(&[1]);
    drop(say_go);
    ended(child).and(said)
}

/// Writes into the memory of another process, or reads it, as any process may that is allowed to trace it.
///
/// # Errors
/// When the kernel does not let it, or has moved less.
pub fn reach_into(process: u32, address: u64, bytes: &mut [u8], write: bool) -> io::Result<()> {
    let process = i32::try_from(process).map_err(io::Error::other)?;
    let near = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let far = libc::iovec {
        iov_base: with_exposed_provenance_mut(pointer(address)?),
        iov_len: bytes.len(),
    };
    // SAFETY: `near` is memory that is borrowed for writing; what `far` says is checked by the kernel against the memory of
    // another process.
    let moved = unsafe {
        if write {
            libc::process_vm_writev(process, &raw const near, 1, &raw const far, 1, 0)
        } else {
            libc::process_vm_readv(process, &raw const near, 1, &raw const far, 1, 0)
        }
    };
    all(moved, bytes.len())
}

/// # Safety
/// Only in the child of a fork. Never returns.
unsafe fn in_child(parent: i32, go: &PipeReader, near: &libc::iovec, far: &libc::iovec, write: bool) -> ! {
    let move_bytes = if write {
        libc::process_vm_writev
    } else {
        libc::process_vm_readv
    };
    let mut said = 0_u8;
    let fd: BorrowedFd<'_> = go.as_fd();
    // SAFETY: system calls on memory that was made before the fork. `far` is in the parent, whose kernel checks it.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent || libc::read(fd.as_raw_fd(), (&raw mut said).cast(), 1) != 1 {
            libc::_exit(libc::EPIPE);
        }
        let moved = move_bytes(parent, near, 1, far, 1, 0);
        let code = match usize::try_from(moved) {
            Ok(moved) if moved == far.iov_len => 0,
            Ok(_) => libc::EIO,
            Err(_) => *libc::__errno_location(),
        };
        libc::_exit(code)
    }
}

/// Waits for a child; its exit status is 0 or the number of an error.
fn ended(child: i32) -> io::Result<()> {
    let mut status = 0;
    loop {
        // SAFETY: a child of ours that nobody else waits for, and a number for its status.
        if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(()),
        (true, code) => Err(io::Error::from_raw_os_error(code)),
        (false, _) => Err(io::Error::other("the child was killed")),
    }
}
