//! The nearest known name to a misspelt one.

/// How alike two names must be for one to be meant by the other, from 0 to 1.
const LIKENESS: f64 = 0.5;

/// The nearest of the names that is near enough; of two that are as near, the first. Case does not matter.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let mut best: Option<(f64, &str)> = None;
    for one in known {
        let likeness = strsim::normalized_damerau_levenshtein(&name, &one.to_lowercase());
        if likeness >= LIKENESS && best.is_none_or(|(found, _)| likeness > found) {
            best = Some((likeness, one));
        }
    }
    best.map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        let known = ["model", "master", "native"];
        assert_eq!(nearest("modle", known), Some("model"));
        assert_eq!(nearest("MASTER", known), Some("master"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest("", known), None);
    }
}
