//! Memory for what every request looks into. A large stretch of it lies in huge pages where the kernel gives them: who looks
//! at scattered places waits as long for the translation of an address as for the data.

use memmap2::{Advice, MmapMut};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// From so many bytes on a stretch is mapped by itself. A huge page of x86-64 has as many.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

/// Values that are numbers and nothing else.
pub(crate) trait Plain: Copy + FromBytes + IntoBytes + Immutable + KnownLayout {}

impl<T: Copy + FromBytes + IntoBytes + Immutable + KnownLayout> Plain for T {}

/// Plain values, as many as were asked for, all zero at first.
#[derive(Debug)]
pub(crate) enum Pages<T> {
    /// Few of them, or many that the system had no mapping for.
    Few(Vec<T>),
    /// Many.
    Many(MmapMut),
}

impl<T: Plain> Pages<T> {
    /// So many zeros. The size of a value divides that of a huge page.
    pub(crate) fn zeroed(length: usize) -> Pages<T> {
        let bytes = length * size_of::<T>();
        if bytes < HUGE_BYTES {
            return Pages::Few(vec![T::new_zeroed(); length]);
        }
        match MmapMut::map_anon(bytes) {
            Ok(memory) => {
                #[cfg(target_os = "linux")]
                // A kernel without huge pages says no, and small ones do as well.
                let _ = memory.advise(Advice::HugePage);
                Pages::Many(memory)
            }
            Err(_) => Pages::Few(vec![T::new_zeroed(); length]),
        }
    }

    /// The values.
    pub(crate) fn values(&self) -> &[T] {
        match self {
            Pages::Few(values) => values,
            Pages::Many(memory) => <[T]>::ref_from_bytes(memory).unwrap_or_default(),
        }
    }

    /// The values, to change them.
    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        match self {
            Pages::Few(values) => values,
            Pages::Many(memory) => <[T]>::mut_from_bytes(memory).unwrap_or_default(),
        }
    }
}

impl<T: Plain> Default for Pages<T> {
    fn default() -> Self {
        Pages::Few(Vec::new())
    }
}

impl<T: Plain> Clone for Pages<T> {
    fn clone(&self) -> Self {
        let values = self.values();
        let mut copy = Pages::zeroed(values.len());
        copy.values_mut().copy_from_slice(values);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::{HUGE_BYTES, Pages};

    #[test]
    fn few_and_many_values_are_kept_alike() {
        for length in [0, 1, 1_000, HUGE_BYTES / 8, HUGE_BYTES / 2] {
            let mut pages = Pages::<u64>::zeroed(length);
            assert_eq!(matches!(pages, Pages::Many(_)), length * 8 >= HUGE_BYTES);
            assert_eq!(pages.values(), vec![0; length]);
            for (place, value) in pages.values_mut().iter_mut().enumerate() {
                *value = !(place as u64);
            }
            let copy = pages.clone();
            pages.values_mut().fill(7);
            let mut values = copy.values().iter().enumerate();
            assert!(values.all(|(place, value)| *value == !(place as u64)));
            assert_eq!(copy.values().len(), length);
        }
    }
}
