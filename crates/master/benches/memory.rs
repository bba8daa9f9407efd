//! What a million objects with keys of 32 bytes cost. Run with `cargo bench -p moonquake-master --bench memory`.

mod rig;

use std::fs;

/// Resident bytes of this process, by the kernel's count.
fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4_096
}

fn main() {
    println!("objects, bytes resident for each");
    for objects in [100_000_u64, 1_000_000, 1_100_000, 2_000_000] {
        let before = resident_bytes();
        let master = rig::filled(objects as usize);
        let bytes = resident_bytes().saturating_sub(before);
        println!("{objects:>9}, {}", bytes / objects);
        // The next one must not live in what this one gives back.
        std::mem::forget(master);
    }
}
