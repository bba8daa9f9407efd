//! Keys of batches: `{1..15}` expands.

use super::names::{MOST, MOST_KEY_BYTES};

/// A range `{1..15}` inside a key: the text before, first, last, the text after.
fn find_range(text: &str) -> Option<(&str, &str, &str, &str)> {
    let mut from = 0;
    while let Some(open) = text[from..].find('{').map(|at| from + at) {
        let inside = &text[open + 1..];
        if let Some(close) = inside.find('}')
            && let Some((first, last)) = inside[..close].split_once("..")
        {
            return Some((&text[..open], first, last, &inside[close + 1..]));
        }
        from = open + 1;
    }
    None
}

/// Whether the text holds a range.
pub(super) fn has_range(text: &str) -> bool {
    find_range(text).is_some()
}

/// Expands every range of the text and adds the keys, the last range counting fastest.
///
/// # Errors
/// A message and a mend, when a range is malformed or there are too many keys.
pub(super) fn expand(text: &str, keys: &mut Vec<String>) -> Result<(), (String, &'static str)> {
    let mut left = vec![text.to_owned()];
    let too_many = || {
        (
            format!("the batch comes to more than {MOST} keys or 16 MiB"),
            "name fewer keys",
        )
    };
    while left.first().is_some_and(|text| has_range(text)) {
        let mut next = Vec::new();
        let mut bytes = 0_usize;
        for text in &left {
            let Some((before, first, last, after)) = find_range(text) else {
                continue;
            };
            let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
                return Err((
                    "a range in a key counts in whole numbers".to_owned(),
                    "write it as `{1..15}`",
                ));
            };
            if first > last {
                return Err((
                    format!("the range counts from {first} down to {last}"),
                    "write the smaller number first",
                ));
            }
            for number in first..=last {
                let key = format!("{before}{number}{after}");
                bytes += key.len();
                next.push(key);
                if next.len() + keys.len() > MOST as usize || bytes > MOST_KEY_BYTES {
                    return Err(too_many());
                }
            }
        }
        left = next;
    }
    keys.extend(left);
    if keys.len() > MOST as usize {
        return Err(too_many());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Vec<String> {
        let mut keys = Vec::new();
        expand(text, &mut keys).expect(text);
        keys
    }

    #[test]
    fn ranges_expand_in_order_and_the_rest_stays() {
        assert_eq!(expanded("k{8..11}"), ["k8", "k9", "k10", "k11"]);
        assert_eq!(
            expanded("{1..2}/{i}/{3..4}"),
            ["1/{i}/3", "1/{i}/4", "2/{i}/3", "2/{i}/4"]
        );
        assert_eq!(expanded("{a}{"), ["{a}{"]);
        assert!(!has_range("c{i}"));
    }

    #[test]
    fn ranges_are_bounded() {
        for bad in [
            "{2..1}",
            "{1..x}",
            "{1..100001}",
            "{1..1000}{1..1000}",
            "{..}",
            "{1..99999999999}",
        ] {
            assert!(expand(bad, &mut Vec::new()).is_err(), "{bad}");
        }
        let long = format!("{}{{1..100000}}", "x".repeat(1 << 19));
        assert!(expand(&long, &mut Vec::new()).is_err());
    }
}
