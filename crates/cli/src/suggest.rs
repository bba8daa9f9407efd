//! What to say to a misspelt name, and lists of names that fit a line.

use moonquake_faults::nearest;

/// `; did you mean NAME?` for the nearest of the names, or nothing if none is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("; did you mean {near}?"),
        None => String::new(),
    }
}

/// How many of many names are shown.
const SHOWN: usize = 5;

/// The first of the names, and how many more there are.
pub(crate) fn some(names: &[String]) -> String {
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["model", "master", "native"];
        assert_eq!(did_you_mean("modle", known), "; did you mean model?");
        assert_eq!(did_you_mean("zzz", known), "");
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).to_vec();
        assert_eq!(some(&names[..5]), "a, b, c, d, e");
        assert_eq!(some(&names), "a, b, c, d, e and 2 more");
    }
}
