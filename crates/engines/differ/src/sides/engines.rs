//! The random engines inside the real process. They are found once, by their content, which the Rust master predicts, and set
//! back at each reset, so that every history starts with the draws of a fresh process.

use crate::error::DifferError;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// Bytes that are read at once, a multiple of a page.
const PIECE_BYTES: usize = 1 << 20;

/// Where the engines of the request thread and of the eviction thread lie, as far as known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Engines {
    addresses: [Option<u64>; 2],
}

fn failed(what: impl std::fmt::Display) -> DifferError {
    DifferError::Engines {
        what: what.to_string(),
    }
}

impl Engines {
    /// Sets each engine that shows `present` to `fresh`; false if one shows something else. One whose image is fresh already has
    /// not drawn, so it is left alone.
    pub(crate) fn rewind(
        &mut self,
        pid: u32,
        present: &[Vec<u8>; 2],
        fresh: &[Vec<u8>; 2],
    ) -> Result<bool, DifferError> {
        for index in 0..2 {
            if present[index] == fresh[index] {
                continue;
            }
            let memory = open(pid)?;
            let address = match self.addresses[index] {
                Some(address) => address,
                None => find(pid, &memory, &present[index])?,
            };
            let mut there = vec![0; present[index].len()];
            memory.read_exact_at(&mut there, address).map_err(failed)?;
            if there != present[index] {
                return Ok(false);
            }
            self.addresses[index] = Some(address);
            memory.write_all_at(&fresh[index], address).map_err(failed)?;
        }
        Ok(true)
    }

    /// Sets each engine to `fresh`, whatever it shows. False if one of them has not been found yet.
    pub(crate) fn force(&self, pid: u32, fresh: &[Vec<u8>; 2]) -> Result<bool, DifferError> {
        let memory = open(pid)?;
        for (address, fresh) in self.addresses.iter().zip(fresh) {
            let Some(address) = address else {
                return Ok(false);
            };
            memory.write_all_at(fresh, *address).map_err(failed)?;
        }
        Ok(true)
    }
}

fn open(pid: u32) -> Result<File, DifferError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .map_err(failed)
}

/// The one place in the writable memory of a process with this content.
fn find(pid: u32, memory: &File, content: &[u8]) -> Result<u64, DifferError> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(failed)?;
    // Bits of the first word are as good as unique; the rest is compared only where they are found.
    let (first, _) = content.split_at(8);
    let mut found = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    for line in maps.lines() {
        let Some((start, end)) = writable(line) else {
            continue;
        };
        // Pieces overlap by the length of an engine, so that none is cut.
        let mut at = start;
        while at < end {
            let length = (end - at).min(PIECE_BYTES as u64) as usize;
            if memory.read_exact_at(&mut piece[..length], at).is_err() {
                break;
            }
            // An engine is aligned like its words.
            for (index, word) in piece[..length].chunks_exact(8).enumerate() {
                let offset = index * 8;
                if word == first && piece[offset..length].starts_with(content) {
                    found.push(at + offset as u64);
                }
            }
            at += if length == PIECE_BYTES {
                (PIECE_BYTES - content.len() + 8) as u64
            } else {
                length as u64
            };
        }
    }
    found.dedup();
    match found.as_slice() {
        [address] => Ok(*address),
        [] => Err(failed("no engine in memory is where the Rust master's is")),
        _ => Err(failed(format!("the engine is there {} times", found.len()))),
    }
}

/// Bounds of a mapping that is private, can be read and written, and is no file or device.
fn writable(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    if !words.next()?.starts_with("rw-p") {
        return None;
    }
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    Some((start, end))
}
