//! Words that choose one of several: which one is meant, and which may have been; and the machine's own name.
#![forbid(unsafe_code)]

mod machine;

pub use machine::of_this_machine;

/// The value that `word` names among `all`.
///
/// # Errors
/// There is no such one: which there are, and the nearest.
pub fn one_of<T: Copy>(what: &str, word: &str, all: &[(&str, T)]) -> Result<T, String> {
    all.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        let near = did_you_mean(word, names.iter().copied());
        format!("there is no {what} '{word}', only {}{near}", names.join(", "))
    })
}

/// The name of `value` among `all`.
pub fn name_of<T: Copy + PartialEq>(value: T, all: &[(&'static str, T)]) -> &'static str {
    all.iter().find(|(_, v)| *v == value).map_or("", |(name, _)| name)
}

/// `; did you mean 'name'?` for the nearest of `names`; empty where none is near.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 2)
        .min()
        .map_or_else(String::new, |(_, name)| format!("; did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_near_nothing_gets_no_suggestion() {
        assert_eq!(did_you_mean("colour", ["port", "baud"]), "");
        assert_eq!(did_you_mean("smother", ["smoother"]), "; did you mean 'smoother'?");
    }

    #[test]
    fn half_of_a_name_may_be_wrong_and_one_letter_of_a_short_one_and_the_nearest_is_meant() {
        assert_eq!(did_you_mean("smoth", ["smoother"]), "; did you mean 'smoother'?");
        assert_eq!(did_you_mean("sm", ["smoother"]), "");
        assert_eq!(did_you_mean("fp", ["fps"]), "; did you mean 'fps'?");
        assert_eq!(did_you_mean("f", ["fps"]), "");
        assert_eq!(
            did_you_mean("bade", ["base", "baud", "bake"]),
            "; did you mean 'bake'?",
            "the first of the nearest"
        );
    }

    #[test]
    fn a_word_means_its_value_and_a_value_has_its_word() {
        const ALL: [(&str, u32); 3] = [("small", 1), ("base", 2), ("large", 3)];
        for (name, value) in ALL {
            assert_eq!(one_of("model", name, &ALL), Ok(value));
            assert_eq!(name_of(value, &ALL), name);
        }
        assert_eq!(name_of(4, &ALL), "");
        let error = one_of("model", "lage", &ALL).unwrap_err();
        assert_eq!(error, "there is no model 'lage', only small, base, large; did you mean 'large'?");
    }
}
