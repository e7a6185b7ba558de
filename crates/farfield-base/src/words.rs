//! Words of a text that is broken into lines: a number and its unit are one.

/// Units that stand behind a number and a blank.
const UNITS: [&str; 33] = [
    "%", "s", "ms", "µs", "us", "ns", "min", "h", "d", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB",
    "TiB", "bit", "kbit", "Mbit", "Gbit", "B/s", "kB/s", "MB/s", "GB/s", "kbit/s", "Mbit/s", "Gbit/s", "/s",
    "ppm", "pp", "Hz",
];

/// The words of `text`, between which a line may end. A number and its unit with one blank between them, as
/// `80 %`, are one word.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let mut end = word_end(rest)?;
        if let Some(behind) = rest[end..].strip_prefix([' ', '\u{a0}'])
            && ends_in_number(&rest[..end])
            && let Some(unit) = word_end(behind)
            && is_unit(&behind[..unit])
        {
            end = rest.len() - behind.len() + unit;
        }
        let (word, behind) = rest.split_at(end);
        rest = behind.trim_start();
        Some(word)
    })
}

/// The length of the word that a text begins with; `None` where there is none.
fn word_end(text: &str) -> Option<usize> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then_some(end)
}

fn ends_in_number(word: &str) -> bool {
    word.ends_with(|letter: char| letter.is_ascii_digit())
}

/// True if a word is a unit, with or without marks behind it.
fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches(['.', ',', ';', ':', ')', ']', '?', '!']);
    UNITS.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<&str> {
        words(text).collect()
    }

    #[test]
    fn a_number_and_its_unit_are_one_word() {
        assert_eq!(of("held for 80 % of it"), ["held", "for", "80 %", "of", "it"]);
        assert_eq!(of("(of 1.5 s), ±0.3 ms."), ["(of", "1.5 s),", "±0.3 ms."]);
        assert_eq!(of("12,345 kB/s; 7\u{a0}µs"), ["12,345 kB/s;", "7\u{a0}µs"]);
        assert_eq!(of("at 3 % 4 %"), ["at", "3 %", "4 %"]);
    }

    #[test]
    fn other_words_are_those_between_blanks() {
        assert_eq!(of("  a  b\tc\n d "), ["a", "b", "c", "d"]);
        assert_eq!(of("20 users, p99 s, x % of 5"), ["20", "users,", "p99 s,", "x", "%", "of", "5"]);
        // More than one blank, or the end of a line, is no blank between a number and its unit.
        assert_eq!(of("80  % and 80\n%"), ["80", "%", "and", "80", "%"]);
        assert_eq!((of(""), of(" \n"), of("9")), (vec![], vec![], vec!["9"]));
    }

    /// Nothing but blanks is lost, whatever the text.
    #[test]
    fn all_letters_are_in_a_word() {
        for text in ["é 5 µs \u{2003}漢 %", "%", "5 %5 % 5", "\u{feff}1 s"] {
            let joined: String = of(text).concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
    }
}
