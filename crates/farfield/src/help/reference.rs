//! The descriptions of keys, checks and metrics in the pages of docs, read from the pages themselves, so that
//! help and the form say nothing else.
//!
//! A key stands either in an example, `key = value   # help`, below the header of its table, or in the row of
//! a table `| key | default | help |` below the heading of its section. Of a key that is in neither, the
//! first sentence of its section that names it is taken. Checks and metrics are rows of the tables whose
//! first columns are called `check` and `metric`.

use std::collections::BTreeMap;

const SCENARIO: &str = include_str!("../../../../docs/scenario.md");
const VERDICT: &str = include_str!("../../../../docs/verdict.md");
const METRICS: &str = include_str!("../../../../docs/metrics.md");

/// A row of a table: the names in its first cell, and what the other cells say below the heads of their
/// columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceEntry {
    pub names: Vec<String>,
    pub cells: Vec<(String, String)>,
}

/// The tables of a scenario, each with its title, in the order of the page.
pub fn tables() -> Vec<(String, String)> {
    let headings = SCENARIO.lines().filter_map(|line| line.strip_prefix("## "));
    let table = |heading: &str| {
        let (name, title) = (between(heading, "`[", "]`")?, heading.split_once(": ")?.1);
        Some((name.to_owned(), plain(title)))
    };
    headings.filter_map(table).collect()
}

/// The page's description of a key; of one in an inner table, at least that of such keys, or of the table.
pub fn described(help: &BTreeMap<String, String>, key: &str) -> Option<String> {
    // A flow has what the tables of these names have.
    if let Some(rest) = key.strip_prefix("flow.")
        && rest.contains('.')
    {
        return described(help, rest);
    }
    let (outer, last) = (key.split('.').next().unwrap_or(key), key.rsplit('.').next().unwrap_or(key));
    let inner = || help.get(&format!("{outer}.{last}")).filter(|_| outer != last);
    let table = || tables().into_iter().find(|(name, _)| name == key).map(|(_, title)| title);
    let around = || {
        let (above, _) = key.rsplit_once('.')?;
        described(help, above).map(|words| format!("of {above}: {}", words.trim_start_matches("of ")))
    };
    let own = help.get(key).or_else(inner).cloned().or_else(|| sentence_of(outer, last));
    own.or_else(table).or_else(around)
}

/// The first sentence in the section of the table `table`, or row of a table in it, that has `key` as code.
fn sentence_of(table: &str, key: &str) -> Option<String> {
    let begins = format!("## `[{table}]`");
    let mut lines = lines().skip_while(|line| !line.starts_with(&begins)).skip(1);
    let (code, assigned) = (format!("`{key}`"), format!("`{key} = "));
    let mut paragraph = String::new();
    let mut in_example = false;
    loop {
        let line = lines.next().filter(|line| !line.starts_with("## "));
        let text = line.unwrap_or_default();
        in_example ^= text.starts_with("```");
        if text.is_empty() || text.starts_with(['|', '#']) || text.starts_with("```") || in_example {
            let rest = std::mem::take(&mut paragraph);
            let sentences = rest.split_inclusive(". ").chain(std::iter::once(text).filter(|_| !in_example));
            let mut naming = sentences.filter(|part| part.contains(&code) || part.contains(&assigned));
            if let Some(found) = naming.next() {
                let cells = cells_of(found).map(|cells| cells.join(": "));
                return Some(plain(&cells.unwrap_or_else(|| found.to_owned())));
            }
        } else {
            paragraph.push_str(text);
            paragraph.push(' ');
        }
        line?;
    }
}

/// The checks of the verdict.
pub fn checks() -> Vec<ReferenceEntry> {
    entries(VERDICT, "check")
}

/// The metrics of a run that other programs read.
pub fn metrics() -> Vec<ReferenceEntry> {
    let is_series = |entry: &ReferenceEntry| entry.names.iter().any(|name| name.starts_with("farfield_"));
    entries(METRICS, "metric").into_iter().filter(is_series).collect()
}

/// The metrics that conditions on a run name.
pub fn metrics_of_conditions() -> Vec<ReferenceEntry> {
    entries(METRICS, "metric").into_iter().filter(|entry| !entry.names[0].starts_with("farfield_")).collect()
}

/// The rows of all tables of `page` whose first column is called `first`.
fn entries(page: &str, first: &str) -> Vec<ReferenceEntry> {
    let (mut found, mut columns): (Vec<ReferenceEntry>, Vec<String>) = (Vec::new(), Vec::new());
    for line in page.lines() {
        let Some(cells) = cells_of(line) else {
            columns.clear();
            continue;
        };
        if cells[0] == first {
            columns = cells[1..].iter().map(|cell| plain(cell)).collect();
        } else if !columns.is_empty() && cells[0].starts_with('`') {
            let names = cells[0].split('`').skip(1).step_by(2).map(str::to_owned).collect();
            let rest = columns.iter().cloned().zip(cells[1..].iter().map(|cell| plain(cell)));
            found.push(ReferenceEntry { names, cells: rest.filter(|(_, cell)| !cell.is_empty()).collect() });
        }
    }
    found
}

/// The cells of a row of a table in Markdown.
fn cells_of(line: &str) -> Option<Vec<&str>> {
    let inside = line.trim_end().strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

/// The page's description of each key, by its path: `load.users`.
pub fn of_keys() -> BTreeMap<String, String> {
    let (mut found, mut section, mut table) = (BTreeMap::new(), String::new(), String::new());
    let mut in_example = false;
    for line in lines() {
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

/// The lines of the page without the heads of its tables.
fn lines() -> impl Iterator<Item = &'static str> {
    let following = SCENARIO.lines().skip(1).chain([""]);
    SCENARIO.lines().zip(following).filter(|(_, next)| !next.starts_with("| ---")).map(|(line, _)| line)
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
