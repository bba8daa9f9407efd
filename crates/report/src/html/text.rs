//! Text of a page: times and sizes for people, strange characters made visible, citations as links.

use crate::escape::{EVENT_CHARS, PROSE_CHARS, is_invisible, shorten};
use crate::{Cites, Claim};
use maud::{Markup, html};
use moonquake_evidence::EventId;

/// The most links of one citation; the JSON form has all of them.
const MAX_IDS: usize = 12;

/// Text on one line: line breaks and invisible characters are made visible. Escaping is maud's.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push('⏎'),
            '\t' => out.push('⇥'),
            c if is_invisible(c) => out += &format!("\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}

/// Text of an event or a name, cut where it is very long.
pub(crate) fn inline(text: &str) -> String {
    plain(&shorten(text, EVENT_CHARS))
}

/// Text that people wrote for people; runs of blanks and line breaks become one blank.
pub(crate) fn prose(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    plain(&shorten(&flat.join(" "), PROSE_CHARS))
}

/// A sentence of the judge or an event: cut where it is very long, with times and ranges for people.
pub(crate) fn sentence(text: &str) -> String {
    plain(&readable(&shorten(text, crate::escape::CLAIM_CHARS)))
}

/// A time or a length of time, exact: `30 s`, `30 s + 1 ns`, `61.44 s`, `300 ms`.
pub fn time(ns: u64) -> String {
    const MS: u64 = 1_000_000;
    if ns == 0 {
        return "0 s".to_owned();
    }
    if ns < MS {
        return match ns {
            _ if ns.is_multiple_of(1_000) => format!("{} µs", ns / 1_000),
            _ => format!("{ns} ns"),
        };
    }
    let rest = ns % MS;
    let near = if rest > MS / 2 { ns - rest + MS } else { ns - rest };
    let off = near.abs_diff(ns);
    let sign = if near > ns { '−' } else { '+' };
    match off {
        0 => decimal(ns / MS, 3),
        1..=99_999 => format!("{} {sign} {}", decimal(near / MS, 3), time(off)),
        _ => decimal(ns, 9),
    }
}

/// Seconds with as many digits as they need; below one second the next smaller unit.
fn decimal(count: u64, digits: u32) -> String {
    let second = 10_u64.pow(digits);
    if count < second && digits == 3 {
        return format!("{count} ms");
    }
    let (whole, part) = (count / second, count % second);
    if part == 0 {
        return format!("{whole} s");
    }
    let width = digits as usize;
    let fraction = format!("{part:0width$}");
    format!("{whole}.{} s", fraction.trim_end_matches('0'))
}

/// Bytes with the largest unit that keeps them exact.
pub fn bytes(count: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let fits = |size: &u64| count > 0 && count.is_multiple_of(*size);
    match units.iter().find(|(_, size)| fits(size)) {
        Some((unit, size)) => format!("{} {unit}", count / size),
        None => format!("{count} B"),
    }
}

/// A range of bytes, the end excluded: `0 – 4 MiB`.
pub(crate) fn range(from: u64, to: u64) -> String {
    if from == 0 {
        return format!("0 – {}", bytes(to));
    }
    format!("{} – {}", bytes(from), bytes(to))
}

/// The words after which a number with a unit is a time of ours and not a part of somebody's key.
const BEFORE_TIMES: [&str; 12] = [
    "at", "within", "after", "for", "to", "by", "than", "limit", "+", "-", "until", "ends",
];

/// Times such as `61440ms` or `60s + 1ns` and ranges such as `[5242880, 8388608)` become readable; nothing else changes.
pub(crate) fn readable(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let words: Vec<&str> = text.split(' ').collect();
    let mut index = 0;
    while index < words.len() {
        let before = index.checked_sub(1).map_or("", |before| words[before]);
        if let (Ok(rate), Some(unit)) = (words[index].parse(), words.get(index + 1))
            && let Some(rest) = unit.strip_prefix("B/s")
        {
            out.push(format!("{}/s{rest}", bytes(rate)));
            index += 2;
            continue;
        }
        let two = words
            .get(index + 1)
            .map(|next| format!("{} {next}", words[index]));
        if let Some(range) = two.as_deref().and_then(range_word) {
            out.push(range);
            index += 2;
            continue;
        }
        if BEFORE_TIMES.contains(&before)
            && let Some((time, taken)) = sum_of_times(&words[index..])
        {
            out.push(time);
            index += taken;
            continue;
        }
        out.push(words[index].to_owned());
        index += 1;
    }
    out.join(" ")
}

/// `61440ms,` becomes `61.44 s,` and `30s - 1ns` becomes `30 s − 1 ns`; with the number of words that it took.
fn sum_of_times(words: &[&str]) -> Option<(String, usize)> {
    let (mut ns, mut rest) = time_word(words.first()?)?;
    let mut taken = 1;
    while rest.is_empty()
        && let [sign @ ("+" | "-"), next, ..] = words[taken..]
        && let Some((more, after)) = time_word(next)
    {
        ns = match sign {
            "+" => ns.checked_add(more)?,
            _ => ns.checked_sub(more)?,
        };
        rest = after;
        taken += 2;
    }
    Some((format!("{}{rest}", time(ns)), taken))
}

/// The nanoseconds of `61440ms,` and what follows the unit.
fn time_word(word: &str) -> Option<(u64, &str)> {
    let end = word.trim_end_matches([',', '.', ';', ':', ')']);
    let span = moonquake_clock::Span::parse(end).ok()?;
    Some((span.ns, &word[end.len()..]))
}

/// `n1[0, 4194304),` becomes `n1[0, 4 MiB),`.
fn range_word(text: &str) -> Option<String> {
    let (head, rest) = text.split_once('[')?;
    let (inner, tail) = rest.split_once(')')?;
    let (from, to) = inner.split_once(", ")?;
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    if tail.len() > 2 || (from < 1024 && to < 1024) {
        return None;
    }
    let from = if from == 0 { "0".to_owned() } else { bytes(from) };
    Some(format!("{head}[{from}, {}){tail}", bytes(to)))
}

/// A link to an event.
pub(crate) fn link(id: EventId) -> Markup {
    html! { a href={ "#" (id) } { (id) } }
}

/// Links to events; neighbours become a range.
pub(crate) fn links(cites: &Cites) -> Markup {
    id_links(cites.ids())
}

pub(crate) fn id_links(ids: &[EventId]) -> Markup {
    let mut runs: Vec<(EventId, EventId)> = Vec::new();
    for id in ids {
        match runs.last_mut() {
            Some((_, last)) if id.0 == last.0.saturating_add(1) => *last = *id,
            _ => runs.push((*id, *id)),
        }
    }
    let rest: u32 = runs
        .iter()
        .skip(MAX_IDS)
        .map(|(first, last)| last.0 - first.0 + 1)
        .sum();
    html! {
        span class="ids" {
            @for (index, (first, last)) in runs.iter().take(MAX_IDS).enumerate() {
                @if index > 0 { " " }
                (link(*first))
                @if first != last { "–" (link(*last)) }
            }
            @if rest > 0 { " and " (rest) " more" }
        }
    }
}

/// A claim with the events that it rests on.
pub(crate) fn claim(claim: &Claim) -> Markup {
    html! { (sentence(claim.text())) " " (links(claim.events())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_for_people() {
        for (ns, shown) in [
            (0, "0 s"),
            (1, "1 ns"),
            (1_000, "1 µs"),
            (30_000_000_000, "30 s"),
            (30_000_000_001, "30 s + 1 ns"),
            (29_999_999_999, "30 s − 1 ns"),
            (300_000_000, "300 ms"),
            (61_440_000_000, "61.44 s"),
            (21_919_999_999, "21.92 s − 1 ns"),
            (1_200_000_000_002, "1200 s + 2 ns"),
            (1_234_567_891, "1.234567891 s"),
            (1_000_001, "1 ms + 1 ns"),
        ] {
            assert_eq!(time(ns), shown);
        }
    }

    #[test]
    fn bytes_are_exact_and_for_people() {
        assert_eq!(bytes(4 << 20), "4 MiB");
        assert_eq!(bytes(1025), "1025 B");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(range(0, 4096), "0 – 4 KiB");
    }

    #[test]
    fn sentences_become_readable_and_keys_stay() {
        assert_eq!(
            readable("w1 at 61440ms: reads src[5242880, 6291456)"),
            "w1 at 61.44 s: reads src[5 MiB, 6 MiB)"
        );
        assert_eq!(
            readable("failure at 60s + 1ns, and at 30s - 1ns"),
            "failure at 60 s + 1 ns, and at 30 s − 1 ns"
        );
        assert_eq!(readable("r1 get 30s"), "r1 get 30s");
        assert_eq!(readable("landed at 102400 B/s, too"), "landed at 100 KiB/s, too");
        assert_eq!(readable("after 21s + 919999999ns"), "after 21.92 s − 1 ns");
        assert_eq!(readable("x [1, 2) y  z"), "x [1, 2) y  z");
        assert_eq!(
            readable("got w1 at [5242880, 8388608), which"),
            "got w1 at [5 MiB, 8 MiB), which"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(plain("a\nb\u{202e}\0"), "a⏎b\\u{202e}\\u{0}");
    }
}
