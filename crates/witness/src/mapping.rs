//! Memory that witnesses of pages can watch: whole pages, which stay where they are as long as anybody watches them.
#![allow(
    unsafe_code,
    reason = "mapped memory that others reach as well; each block says why it is sound"
)]

use crate::WitnessError;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};

/// Whole pages of memory, all zero at first and all of them there.
///
/// Others may read and write it at any time: the kernel, another process that has the file, a network card. So it is reached
/// byte by byte through atomics and never through a reference.
#[derive(Debug)]
pub struct Mapping {
    address: usize,
    len: usize,
    file: Option<OwnedFd>,
}

/// The size of a page in bytes.
pub fn page_size() -> u64 {
    // SAFETY: asks for a number and has no conditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

pub(crate) fn refused(what: &'static str) -> WitnessError {
    WitnessError::Refused {
        what,
        error: std::io::Error::last_os_error(),
    }
}

impl Mapping {
    /// Memory of this process alone: at least `len` bytes, in whole pages.
    ///
    /// # Errors
    /// When the kernel has none.
    pub fn anonymous(len: u64) -> Result<Mapping, WitnessError> {
        Mapping::new(len, None)
    }

    /// Memory that other processes can map as well, through the file of [`Mapping::file`]. The file has no name, so nothing
    /// is left behind.
    ///
    /// # Errors
    /// When the kernel has none.
    pub fn shared(len: u64) -> Result<Mapping, WitnessError> {
        // SAFETY: a valid C string; the result is checked before use.
        let raw = unsafe { libc::memfd_create(c"moonquake-watched".as_ptr(), libc::MFD_CLOEXEC) };
        if raw < 0 {
            return Err(refused("create shared memory"));
        }
        // SAFETY: a fresh descriptor that nothing else owns.
        let file = unsafe { OwnedFd::from_raw_fd(raw) };
        Mapping::new(len, Some(file))
    }

    fn new(len: u64, file: Option<OwnedFd>) -> Result<Mapping, WitnessError> {
        let page = page_size();
        let wrong = || WitnessError::Nonsense(format!("there is no memory of {len} bytes"));
        let whole = len
            .div_ceil(page)
            .checked_mul(page)
            .filter(|whole| *whole > 0)
            .ok_or_else(wrong)?;
        let len = usize::try_from(whole)
            .ok()
            .filter(|len| isize::try_from(*len).is_ok())
            .ok_or_else(wrong)?;
        let file = match file {
            Some(file) => {
                let file = File::from(file);
                let sized = file.set_len(whole);
                sized.map_err(|error| WitnessError::Refused {
                    what: "size shared memory",
                    error,
                })?;
                Some(OwnedFd::from(file))
            }
            None => None,
        };
        let (kind, descriptor) = match &file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that is as long as the mapping, if of one.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                protection,
                kind | libc::MAP_POPULATE,
                descriptor,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(refused("map memory"));
        }
        let mapping = Mapping {
            address: mapped.expose_provenance(),
            len,
            file,
        };
        // A page that is not there yet is made without a word to a witness of faults.
        let zero = vec![0; len];
        mapping.write(0, &zero)?;
        Ok(mapping)
    }

    /// The address of the first byte.
    pub fn address(&self) -> u64 {
        self.address as u64
    }

    /// The number of bytes: whole pages.
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Never: memory of no bytes cannot be made.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The file behind it, if it is shared.
    pub fn file(&self) -> Option<&OwnedFd> {
        self.file.as_ref()
    }

    fn check(&self, from: u64, len: usize) -> Result<usize, WitnessError> {
        let to = from.saturating_add(len as u64);
        let first = usize::try_from(from).ok().filter(|_| to <= self.len());
        first.ok_or(WitnessError::Outside {
            from,
            to,
            size: self.len(),
        })
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        debug_assert!(at < self.len, "checked by whoever calls");
        let pointer = std::ptr::with_exposed_provenance_mut::<u8>(self.address + at);
        // SAFETY: inside the mapping, which lives as long as `self`; this process reaches it through atomics alone, and
        // what others do to it no reference of ours rests on.
        unsafe { AtomicU8::from_ptr(pointer) }
    }

    /// Reads bytes, as an instruction of this process does.
    ///
    /// # Errors
    /// When they do not all lie inside.
    pub fn read(&self, from: u64, bytes: &mut [u8]) -> Result<(), WitnessError> {
        let first = self.check(from, bytes.len())?;
        for (at, byte) in (first..).zip(bytes) {
            *byte = self.byte(at).load(Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes bytes, as an instruction of this process does.
    ///
    /// # Errors
    /// When they do not all lie inside.
    pub fn write(&self, from: u64, bytes: &[u8]) -> Result<(), WitnessError> {
        let first = self.check(from, bytes.len())?;
        for (at, byte) in (first..).zip(bytes) {
            self.byte(at).store(*byte, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let pointer = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: the mapping made in `new`, which nobody can reach through this value any more.
        let _nothing_to_do = unsafe { libc::munmap(pointer, self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_whole_pages_and_outside_is_refused() {
        for make in [Mapping::anonymous, Mapping::shared] {
            let memory = make(page_size() + 1).unwrap();
            assert_eq!(memory.len(), 2 * page_size());
            memory.write(memory.len() - 2, b"ab").unwrap();
            let mut read = [9; 3];
            memory.read(memory.len() - 3, &mut read).unwrap();
            assert_eq!(&read, b"\0ab");
            assert!(memory.write(memory.len() - 1, b"ab").is_err());
            assert!(memory.read(u64::MAX, &mut read).is_err());
        }
        assert!(Mapping::anonymous(0).is_err() && Mapping::shared(u64::MAX).is_err());
    }
}
