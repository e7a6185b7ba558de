//! A run as a page of HTML that can be sent: one file, with nothing from elsewhere.
//!
//! It is made of the run directory alone. A file that is missing or damaged costs its own section, which says
//! so. Charts are complete without a script; the script, ours, adds a cursor and is the only one that the
//! page's policy lets run, by its digest (Content Security Policy Level 3, section 2.3).

mod about;
mod distributions;
mod over_time;
mod samples;
mod tables;
#[cfg(test)]
mod tests;
mod thin;

use crate::directory::{RunDirectory, open_regular};
use crate::{chart, html};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_base::printable;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Names of a table before the others are one row.
const NAMES: usize = 20;

/// The page of the run.
pub fn render(run: &RunDirectory) -> String {
    let summary = run.summary();
    let title = format!("{} · farfield", escaped(&summary.heading.scenario));
    let digest = STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'\">"
    );
    let mut page = html::begin(&title, STYLE).replacen("<title>", &format!("{policy}<title>"), 1);
    tables::heading(&mut page, summary);
    tables::verdict(&mut page, summary);
    tables::thresholds(&mut page, summary);
    tables::figures(&mut page, summary);
    let passed = samples::pass(run);
    over_time::charts(&mut page, run);
    distributions::charts(&mut page, run);
    tables::classes(&mut page, summary);
    tables::states(&mut page, summary);
    tables::outcomes(&mut page, summary);
    samples::sections(&mut page, run, passed);
    tables::network(&mut page, summary);
    about::verification(&mut page, run);
    about::environment(&mut page, run);
    about::again(&mut page, run);
    let _ = writeln!(page, "<script>{SCRIPT}</script>");
    page.push_str(html::END);
    page
}

/// Text from elsewhere: neither markup nor control characters of it are in the page.
fn escaped(text: &str) -> String {
    chart::escaped(&printable(text, &[]))
}

/// A file of the run; an error as a sentence.
fn opened(run: &RunDirectory, name: &str) -> Result<File, String> {
    match open_regular(&run.path().join(name)) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(format!("{name} is no regular file")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// The text of a file of the run, up to a length; `None` where it is absent or no text.
fn text_of(run: &RunDirectory, name: &str, bytes_max: u64) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    opened(run, name).ok()?.take(bytes_max).read_to_string(&mut text).ok()?;
    Some(text)
}

/// A sentence in place of what cannot be shown.
fn missing(page: &mut String, why: &str) {
    let _ = writeln!(page, "<p class=\"none\">Not shown: {}.</p>", escaped(why));
}

/// A table; cells are HTML.
fn table(page: &mut String, head: &[&str], rows: &[Vec<String>]) {
    page.push_str("<div class=\"scroll\"><table><tr>");
    for name in head {
        let _ = write!(page, "<th scope=\"col\">{name}</th>");
    }
    page.push_str("</tr>\n");
    for row in rows {
        page.push_str("<tr>");
        for cell in row {
            let _ = write!(page, "<td>{cell}</td>");
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}
