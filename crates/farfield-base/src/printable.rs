//! Text of strangers as a terminal may have it: names, paths and servers' last words may hold control
//! characters, which could colour, move, overwrite or type, and others by which a name can look like
//! another.

use std::borrow::Cow;

/// `text` with its control characters, and those that turn the direction of writing (Unicode Technical
/// Report 36, section 2.4), written as `\u001B`, in the way of JSON and TOML, so that these stay what they
/// are. Those in `kept` stay.
pub fn printable<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_hostile = |letter: char| is_hostile(letter) && !kept.contains(&letter);
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hostile(letter) {
            cleaned.push_str(&format!("\\u{:04X}", u32::from(letter)));
        } else {
            cleaned.push(letter);
        }
    }
    Cow::Owned(cleaned)
}

fn is_hostile(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || letter.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(
            printable("a\x1b[31mred\x07\x7f\u{9b}1m\r\u{202e}", &['\n']),
            "a\\u001B[31mred\\u0007\\u007F\\u009B1m\\u000D\\u202E"
        );
        assert_eq!(printable("two\nlines\tof é 漢 text\n", &['\n', '\t']), "two\nlines\tof é 漢 text\n");
        assert_eq!(printable("two\nlines", &[]), "two\\u000Alines");
        for letter in (0..=0x2fff).filter_map(char::from_u32) {
            let cleaned = printable(&format!("<{letter}>"), &[]).into_owned();
            assert!(!cleaned.chars().any(char::is_control), "{:x}", u32::from(letter));
        }
    }
}
