//! The help of keys: what docs/scenario.md says of each, read from the page itself, so that the form says
//! nothing else.
//!
//! A key stands either in an example, `key = value   # help`, below the header of its table, or in the row of
//! a table `| key | default | help |` below the heading of its section.

use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../docs/scenario.md");

/// What the page says of each key, by its path: `load.users`.
pub fn of_keys() -> BTreeMap<String, String> {
    let (mut found, mut section, mut table) = (BTreeMap::new(), String::new(), String::new());
    let mut in_example = false;
    for line in PAGE.lines() {
        if line.starts_with("```") {
            in_example = line.starts_with("```toml");
            table.clear();
        } else if let Some(heading) = line.strip_prefix("## ") {
            section = between(heading, "`[", "]`").unwrap_or_default().to_owned();
        } else if in_example {
            if let Some(name) = between(line, "[", "]").filter(|_| line.starts_with('[')) {
                name.trim_start_matches('[').clone_into(&mut table);
            } else if let (Some((key, _)), Some((_, help))) =
                (line.split_once(" = "), line.rsplit_once(" # "))
            {
                note(&mut found, &table, key.trim(), help);
            }
        } else if let Some(row) = line.strip_prefix("| `") {
            let cells: Vec<&str> = row.trim_end_matches('|').split(" | ").collect();
            let (Some(keys), Some(help)) = (cells.first(), cells.last()) else { continue };
            for key in keys.split(", ") {
                note(&mut found, &section, key.trim_matches(['`', ' ']), help);
            }
        }
    }
    found
}

/// The first help of a key counts.
fn note(found: &mut BTreeMap<String, String>, table: &str, key: &str, help: &str) {
    let path = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    found.entry(path).or_insert_with(|| plain(help));
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    text.split_once(from)?.1.split_once(to).map(|(inside, _)| inside)
}

/// Markdown as text: links are their words, and code has no marks.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown.trim();
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        match link.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1))) {
            Some((words, after)) if !words.contains(']') => {
                text.push_str(words);
                rest = after;
            }
            _ => {
                text.push('[');
                rest = link;
            }
        }
    }
    text.push_str(rest);
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_and_tables_are_read() {
        let help = of_keys();
        let of = |key: &str| help.get(key).map_or("", String::as_str);
        assert!(of("run.duration").starts_with("length of the measured part"), "{}", of("run.duration"));
        assert!(
            of("connections.parallel").starts_with("the most connections that a user has open"),
            "{help:?}"
        );
        assert!(of("http").contains("HTTP/2"), "{}", of("http"));
        assert!(of("network.rtt").contains("round-trip"), "{}", of("network.rtt"));
    }

    #[test]
    fn marks_of_markdown_are_left_out() {
        assert_eq!(plain("see [HTTP/2](#http2) and `x`, [network]"), "see HTTP/2 and x, [network]");
    }
}
