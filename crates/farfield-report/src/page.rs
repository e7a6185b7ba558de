//! A run as a page of HTML that can be sent: one file, with nothing from elsewhere.
//!
//! It is made of the run directory alone. A file that is missing or damaged costs its own section, which says
//! so. Charts are complete without a script.

mod about;
pub(crate) mod distributions;
mod errors;
mod headline;
mod over_time;
mod samples;
mod tables;
#[cfg(test)]
mod tests;
mod thin;
mod topology;
mod users;
mod utilisation;

use crate::directory::{RunDirectory, open_regular};
use crate::html::{self, escaped, sentence, table};
use std::fmt::Write;
use std::fs::File;

/// The place of the contents, until all sections are known; no text of a run can be that.
const CONTENTS: &str = "<!--contents-->\n";

/// Names of a table before the others are one row.
const NAMES: usize = 20;

/// The page of the run.
pub fn render(run: &RunDirectory) -> String {
    render_within(run, u64::MAX)
}

/// The page of the run, in a time and a memory that do not grow with it: of more samples than these it has
/// not what only samples show, and says so.
pub fn render_within(run: &RunDirectory, samples_max: u64) -> String {
    let summary = run.summary();
    let title = format!("{} · farfield", escaped(&summary.heading.scenario));
    let mut page = html::begin_family(&title, "");
    tables::heading(&mut page, summary);
    tables::verdict(&mut page, summary);
    page.push_str(CONTENTS);
    tables::thresholds(&mut page, summary);
    tables::figures(&mut page, summary);
    tables::flows(&mut page, summary);
    tables::hosts(&mut page, summary);
    tables::stages(&mut page, summary);
    tables::conditions(&mut page, summary);
    let passed = samples::pass(run, samples_max);
    // Wide charts move sideways together where the page is narrow.
    page.push_str("<div class=\"scroll bands\">\n");
    over_time::charts(&mut page, run, &passed.users);
    page.push_str("</div>\n");
    distributions::charts(&mut page, run);
    tables::classes(&mut page, summary);
    tables::states(&mut page, summary);
    tables::outcomes(&mut page, summary);
    tables::failures(&mut page, summary);
    samples::sections(&mut page, run, passed);
    tables::network(&mut page, summary);
    topology::section(&mut page, summary);
    tables::programs(&mut page, summary);
    about::verification(&mut page, run);
    about::environment(&mut page, run);
    about::again(&mut page, run);
    let mut page = headline::contents(&page, CONTENTS);
    html::end_family(&mut page);
    page
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
