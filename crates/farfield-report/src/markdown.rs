//! Common parts of Markdown texts: names and sentences from elsewhere that stay text.

use farfield_base::printable;

/// A name as code on one line: fenced by more backticks than it has, with nothing that ends a table or a
/// line.
pub(crate) fn code(name: &str) -> String {
    let name = printable(name, &[]).replace('|', "\\|");
    let longest = name.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("`{name}`"),
        _ => format!("{fence} {name} {fence}"),
    }
}

/// A sentence with names in it: no markup of theirs is markup here.
pub(crate) fn plain(sentence: &str) -> String {
    let mut text = String::new();
    for c in printable(sentence, &[]).chars() {
        if "\\`*_[]<>#|&!~@".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_elsewhere_stay_names() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
        assert_eq!(plain("<b>[x](y) @all"), "\\<b\\>\\[x\\](y) \\@all");
        assert!(!code("a\nb").contains('\n'));
    }
}
