//! Names that are near to what was typed: those that begin with it, or else those that a slip of the hand
//! makes it of.

/// Names that are offered at most.
pub const NEAREST: usize = 5;

/// The names that begin with `typed`, as a whole or behind their last dot, in their order.
pub fn with_prefix<'n>(typed: &str, names: &[&'n str]) -> Vec<&'n str> {
    let begins = |name: &&&str| name.starts_with(typed) || last(name).starts_with(typed);
    names.iter().filter(begins).copied().collect()
}

/// The names nearest to `typed` by insertions, deletions, substitutions and transpositions of letters
/// (Damerau and Levenshtein), of whole names or of what stands behind their last dot; the nearest first.
pub fn nearest<'n>(typed: &str, names: &[&'n str]) -> Vec<&'n str> {
    let distance = |name: &str| {
        let whole = strsim::damerau_levenshtein(name, typed);
        whole
            .min(strsim::damerau_levenshtein(last(name), last(typed)) + usize::from(!same_table(name, typed)))
    };
    let mut near: Vec<(usize, &str)> = names.iter().map(|name| (distance(name), *name)).collect();
    near.sort_unstable();
    near.into_iter().take(NEAREST).map(|(_, name)| name).collect()
}

/// The part of a key behind its last dot.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// True if a key is in the table that `typed` names, if that names one.
fn same_table(name: &str, typed: &str) -> bool {
    match typed.rsplit_once('.') {
        Some((table, _)) => name.rsplit_once('.').is_some_and(|(own, _)| own == table),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["load.users", "load.users-max", "run.duration", "run.duration-max", "seed"];

    #[test]
    fn a_prefix_has_all_that_begin_with_it() {
        assert_eq!(with_prefix("run.d", &NAMES), ["run.duration", "run.duration-max"]);
        assert_eq!(with_prefix("users", &NAMES), ["load.users", "load.users-max"]);
        assert!(with_prefix("usres", &NAMES).is_empty());
    }

    #[test]
    fn the_right_name_is_nearest() {
        for (typed, meant) in [
            ("usres", "load.users"),
            ("load.usres", "load.users"),
            ("run.duratoin", "run.duration"),
            ("sed", "seed"),
        ] {
            assert_eq!(nearest(typed, &NAMES)[0], meant, "{typed}");
        }
    }
}
