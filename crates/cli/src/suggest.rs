//! The nearest known name to a misspelt one.

/// How alike two names must be for one to be meant by the other, from 0 to 1.
const LIKENESS: f64 = 0.5;

/// `; did you mean NAME?` for the nearest of the names, or nothing if none is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("; did you mean {near}?"),
        None => String::new(),
    }
}

/// The nearest of the names that is near enough; of two that are as near, the first.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for one in known {
        let likeness = strsim::normalized_damerau_levenshtein(&name.to_lowercase(), one);
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
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["model", "master", "native"];
        assert_eq!(did_you_mean("modle", known), "; did you mean model?");
        assert_eq!(did_you_mean("MASTER", known), "; did you mean master?");
        assert_eq!(did_you_mean("zzz", known), "");
        assert_eq!(did_you_mean("", known), "");
    }
}
