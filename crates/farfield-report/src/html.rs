//! Common parts of HTML pages: one file with nothing from elsewhere.
//!
//! Pages of one family have a style for light and dark, and a script, ours, that is the only one which
//! their policy lets run, by its digest (Content Security Policy Level 3, section 2.3). They are complete
//! without it.

use crate::chart;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_base::printable;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The style of text and tables, before a page's own.
const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}\
    h2{margin-top:2em;border-bottom:1px solid #ccc}table{border-collapse:collapse;margin:.6em 0}\
    td,th{padding:.15em .8em .15em 0;text-align:right;font-variant-numeric:tabular-nums}\
    td:first-child,th:first-child,.text{text-align:left}td{white-space:nowrap}td:first-child,td.text{white-space:normal}td.text{min-width:8em}td.long{min-width:18em}th{border-bottom:1px solid #999}svg{width:100%;height:auto}";

/// The style of the family.
pub(crate) const FAMILY_STYLE: &str = include_str!("html/style.css");
/// The script of the family.
pub(crate) const SCRIPT: &str = include_str!("html/script.js");

/// Bytes from which on a text in a table is long.
const LONG: usize = 30;

/// The end of a page without a script.
pub(crate) const END: &str = "</body></html>\n";

/// The beginning of a page with this title, which is HTML, and with a style of its own after the common one.
pub(crate) fn begin(title: &str, style: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}{style}</style></head><body>\n\
         <h1>{title}</h1>\n"
    )
}

/// The beginning of a page of the family.
pub(crate) fn begin_family(title: &str, style: &str) -> String {
    let digest = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'\">"
    );
    begin(title, &format!("{FAMILY_STYLE}{style}")).replacen("<title>", &format!("{policy}<title>"), 1)
}

/// The end of a page of the family.
pub(crate) fn end_family(page: &mut String) {
    let _ = writeln!(page, "<script>{SCRIPT}</script>");
    page.push_str(END);
}

/// Text from elsewhere: neither markup nor control characters of it are in the page.
pub(crate) fn escaped(text: &str) -> String {
    chart::escaped(&printable(text, &[]))
}

/// A sentence of farfield's: what stands between backticks is code.
pub(crate) fn sentence(text: &str) -> String {
    let text = escaped(text);
    if !text.matches('`').count().is_multiple_of(2) {
        return text;
    }
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 0 { part.to_owned() } else { format!("<code>{part}</code>") })
        .collect()
}

/// A table; cells are HTML. A column whose name begins with `<` is text, and its cells begin at the left, as
/// those of the first column do; a long one has room for several words a line. Without any name there is no
/// head.
pub(crate) fn table(page: &mut String, head: &[&str], rows: &[Vec<String>]) {
    let rows: Vec<(&str, &[String])> = rows.iter().map(|row| ("", row.as_slice())).collect();
    table_of(page, head, &rows);
}

/// A table whose rows have classes.
pub(crate) fn table_of(page: &mut String, head: &[&str], rows: &[(&str, &[String])]) {
    page.push_str("<div class=\"scroll\"><table>");
    let is_text = |at: usize| head.get(at).is_some_and(|name| name.starts_with('<'));
    if head.iter().any(|name| !name.is_empty()) {
        page.push_str("<tr>");
        for (at, name) in head.iter().enumerate() {
            let class = if is_text(at) { " class=\"text\"" } else { "" };
            let _ = write!(page, "<th scope=\"col\"{class}>{}</th>", name.trim_start_matches('<'));
        }
        page.push_str("</tr>");
    }
    page.push('\n');
    for (class, row) in rows {
        match *class {
            "" => page.push_str("<tr>"),
            class => {
                let _ = write!(page, "<tr class=\"{class}\">");
            }
        }
        for (at, cell) in row.iter().enumerate() {
            let class = match is_text(at) {
                true if cell.len() > LONG => " class=\"text long\"",
                true => " class=\"text\"",
                false => "",
            };
            let _ = write!(page, "<td{class}>{cell}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_head_where_columns_have_names_and_text_begins_at_the_left() {
        let (mut named, mut plain) = (String::new(), String::new());
        let rows = [vec!["1".to_owned(), "a".to_owned()]];
        table(&mut named, &["number", "<words"], &rows);
        assert!(
            named.contains("<th scope=\"col\">number</th><th scope=\"col\" class=\"text\">words</th>"),
            "{named}"
        );
        assert!(named.contains("<td>1</td><td class=\"text\">a</td>"), "{named}");
        table(&mut plain, &["", ""], &rows);
        assert!(!plain.contains("<th") && plain.contains("<table>\n<tr><td>1</td>"), "{plain}");
    }

    #[test]
    fn code_in_sentences_is_marked_and_nothing_else() {
        assert_eq!(
            sentence("run `a <b>` and `c` again"),
            "run <code>a &lt;b&gt;</code> and <code>c</code> again"
        );
        assert_eq!(sentence("a lone ` stays"), "a lone ` stays");
    }
}
