//! Numbers with their units: a count of tokens is no count of layers.

use std::fmt;

/// A number of one unit.
pub trait Unit: Copy {
    /// How the unit is written behind the number.
    const WORD: &'static str;
    /// The bare number.
    fn number(self) -> u128;
}

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident($inner:ty) $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl Unit for $name {
            const WORD: &'static str = $word;
            fn number(self) -> u128 {
                u128::from(self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

units! {
    /// Layers that keep a cache.
    Layers(u64) "layers";
    /// Heads of keys and values, or of queries.
    Heads(u64) "heads";
    /// Numbers in a vector: a head's, or a latent's.
    Elements(u64) "elements";
    /// Bytes of one number in the cache.
    ElementBytes(u64) "B/element";
    /// Tokens of a request, a page or a chunk.
    Tokens(u64) "tokens";
    /// Requests at once.
    Requests(u64) "requests";
    /// Ranks of tensor parallelism.
    Ranks(u64) "ranks";
    /// Copies of the same bytes in the store.
    Replicas(u64) "replicas";
    /// Pages of a paged cache.
    Pages(u128) "pages";
    /// Chunks of a store.
    Chunks(u128) "chunks";
    /// Bytes.
    Bytes(u128) "B";
    /// Bytes that travel in a second.
    BytesPerSecond(u128) "B/s";
    /// Time, rounded up.
    Nanoseconds(u128) "ns";
}

/// Bytes as people read them, never rounded: the largest binary unit in which at most three decimals are exact.
pub fn readable_bytes(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["EiB", "PiB", "TiB", "GiB", "MiB", "KiB"];
    for (index, unit) in UNITS.iter().enumerate() {
        let size = 1_u128 << (10 * (UNITS.len() - index));
        let (whole, rest) = (bytes / size, bytes % size);
        if whole > 0 && (rest * 1_000).is_multiple_of(size) {
            let decimals = format!(".{:03}", rest * 1_000 / size);
            let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
            return format!("{whole}{decimals} {unit}");
        }
    }
    format!("{bytes} B")
}

/// Nanoseconds as people read them: the largest unit that needs no rounding.
pub fn readable_time(ns: u128) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    for (size, unit) in units {
        if ns >= size {
            let rest = ns % size;
            if rest == 0 {
                return format!("{} {unit}", ns / size);
            }
            let digits = size.ilog10() as usize;
            let decimals = format!("{rest:0digits$}");
            return format!("{}.{} {unit}", ns / size, decimals.trim_end_matches('0'));
        }
    }
    format!("{ns} ns")
}
