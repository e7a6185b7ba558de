//! A real application of several tiers, as Debian packages it, driven through sessions whose requests depend
//! on the replies before: MediaWiki in Apache with MariaDB behind it. The samples are compared with the
//! database.

mod books;
mod recorded;
mod wiki;

use crate::common::{self, Ended, alone};
use books::Reader;
use farfield_base::{Outcome, Sample};
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex};
use wiki::{Original, Wiki};

/// The example that users are given: readers who log in, search, read and write.
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/application.toml");
const READERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/application-users.csv");

/// The states of its sessions, by number.
const STATES: [&str; 7] = ["login-form", "login", "search", "read", "edit", "save", "history"];

/// A wiki and its readers, alone on the machine.
struct Library {
    // Fields are dropped in their order: nothing runs any more once others may begin.
    wiki: Wiki,
    readers: Vec<Reader>,
    _original: Arc<Mutex<Option<Original>>>,
    _alone: File,
}

impl Library {
    /// `None`, and `test` is skipped, where a part of it is not installed.
    fn new(test: &str) -> Option<Library> {
        // Held while others are waited for, so that they leave it.
        let original = Original::shared();
        let alone = alone();
        let wiki = Wiki::new(test, &original, Path::new(READERS))?;
        let readers = fs::read_to_string(READERS).expect("the example's readers");
        wiki.place.write("application-users.csv", &readers);
        Some(Library { wiki, readers: books::readers(&readers), _original: original, _alone: alone })
    }

    /// The example, with each of `changes` made to it, which must find its place, and `more` behind it.
    fn scenario(&self, changes: &[(&str, &str)], more: &str) -> String {
        let mut text = fs::read_to_string(SCENARIO).expect("the example");
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "`{from}` in the example");
            text = text.replace(from, to);
        }
        let path = self.wiki.place.write("changed.toml", format!("{text}\n{more}"));
        path.to_str().expect("a plain path").to_owned()
    }
}

/// Counts from the samples of each state: the pages that went well, and all.
#[derive(Debug)]
struct Reported {
    well: [usize; STATES.len()],
    pages: [usize; STATES.len()],
    /// Requests that the application answered with a redirect to what it had stored.
    stored: usize,
    /// Users that saved something.
    savers: usize,
}

fn state(name: &str) -> usize {
    STATES.iter().position(|state| *state == name).expect("a state's name")
}

impl Reported {
    fn of(samples: &[Sample]) -> Reported {
        let mut reported = Reported { well: [0; _], pages: [0; _], stored: 0, savers: 0 };
        let mut savers = Vec::new();
        for sample in samples {
            // No page has embedded objects here: a request is a state's, or one that a redirect of it led to.
            let state = sample.request as usize;
            let is_redirect = sample.status == 302;
            reported.pages[state] += usize::from(!is_redirect);
            reported.well[state] += usize::from(!is_redirect && sample.outcome == Outcome::Ok);
            if STATES[state] == "save" && is_redirect {
                reported.stored += 1;
                savers.push(sample.user);
            }
        }
        savers.sort_unstable();
        savers.dedup();
        reported.savers = savers.len();
        reported
    }
}

/// Twenty-four readers who are all at it, a session each, in no hurry where there is none.
const AT_ONCE: &str =
    "-c 24 --think 200ms --warm-up 0s --set load.ramp=2s --sessions 24 -d 3m --set run.drain=60s";

/// Limits under which this machine's slowness makes no emulated run invalid either.
const CALM_PACKETS: &str = "--set verdict.departure-lateness-p99=1m --set verdict.arrival-lateness-p99=1m \
                            --set verdict.delivery-lateness-p99=1m --set verdict.pickup-lateness-p99=1m";

/// Holds a run in which all dependencies were honoured against what the database has.
#[track_caller]
fn all_is_stored(library: &Library, ended: &Ended) {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Ok, "{}: {sample:?}", STATES[sample.request as usize]);
    }
    let reported = Reported::of(&samples);
    let written = books::written(&library.wiki, &library.readers);
    println!("{} pages, {:?}; {} saved", samples.len(), reported.pages, reported.stored);
    assert_eq!(reported.well, reported.pages);
    assert_eq!(reported.well[state("save")], reported.stored);
    assert_eq!(written.iter().sum::<usize>(), reported.stored);
    assert_eq!(written.iter().filter(|times| **times > 0).count(), reported.savers);
    assert!(reported.savers >= 20, "only {} readers wrote", reported.savers);
    assert!(reported.well[state("history")] >= 20, "{:?}", reported.well);
}

#[test]
fn readers_log_in_search_read_and_write() {
    let Some(library) = Library::new("readers_log_in_search_read_and_write") else { return };
    let served = library.wiki.serve();
    let ended = library.wiki.place.run(&format!("{SCENARIO} --target {} {AT_ONCE}", served.url)).exits(0);
    all_is_stored(&library, &ended);
    // Apache logs a request when it has answered.
    let asked = common::poll("Apache to log", || {
        let asked = library.wiki.log();
        (asked.len() >= ended.samples().len()).then_some(asked)
    });
    assert_eq!(asked.len(), ended.samples().len());
}

#[test]
fn readers_far_away_do_the_same() {
    let test = "readers_far_away_do_the_same";
    if !common::wan::may_build(test) {
        return;
    }
    let Some(library) = Library::new(test) else { return };
    let scenario = library.scenario(&[], &library.wiki.emulated_server());
    let words = format!(
        "{scenario} --plane emulated --target http://library.example/ --access dsl {AT_ONCE} {CALM_PACKETS}"
    );
    let ended = library.wiki.place.run(&words).exits(0);
    all_is_stored(&library, &ended);
}

/// As many readers, in a hurry.
const BRIEFLY: &str = "-c 24 --think 50ms --warm-up 0s --set load.ramp=500ms -d 3m --set run.drain=60s";

impl Library {
    /// Counts of a run of the example with `changes`, whose only failures may be failed checks.
    fn failing(&self, url: &str, changes: &[(&str, &str)], words: &str) -> Reported {
        let scenario = self.scenario(changes, "");
        let ended = self.wiki.place.run(&format!("{scenario} --target {url} {BRIEFLY} {words}")).exits(0);
        let samples = ended.samples();
        for sample in &samples {
            let fits = matches!(sample.outcome, Outcome::Ok | Outcome::CheckFailed);
            assert!(fits, "{}: {sample:?}", STATES[sample.request as usize]);
        }
        Reported::of(&samples)
    }

    /// Holds all to have failed in the state `name`, none before it, and nothing to be stored.
    #[track_caller]
    fn nothing_is_stored(&self, reported: &Reported, name: &str) {
        let stored = books::written(&self.wiki, &self.readers).iter().sum::<usize>();
        assert_eq!((reported.stored, stored), (0, 0));
        let place = state(name);
        assert_eq!(reported.well[..place], reported.pages[..place]);
        assert!(reported.pages[place] >= 20, "{:?}", reported.pages);
        assert!(reported.well[place..].iter().all(|pages| *pages == 0), "{:?}", reported.well);
        assert!(reported.pages[place + 1..].iter().all(|pages| *pages == 0), "{:?}", reported.pages);
    }
}

/// Each way of not honouring a dependency fails where it was not honoured, and nothing is stored.
#[test]
fn dependencies_that_are_not_honoured_fail() {
    let Some(library) = Library::new("dependencies_that_are_not_honoured_fail") else { return };
    let served = library.wiki.serve();

    // Without cookies, the form's token belongs to no session.
    let reported = library.failing(&served.url, &[], "-n 60 --set session.cookies=false");
    library.nothing_is_stored(&reported, "login");

    // A password that is the same for all.
    let password = ("wpPassword = \"${password}\"", "wpPassword = \"open sesame\"");
    let reported = library.failing(&served.url, &[password], "-n 60");
    library.nothing_is_stored(&reported, "login");

    // A token that was recorded once, in the place of the one that came with the form.
    let recorded = "fields.wpEditToken = \"5f1d3c5a0d8e2b7a9c4e6f8012345678+\\\\\"";
    let token = ("fields.wpSummary", &*format!("{recorded}\nfields.wpSummary"));
    let reported = library.failing(&served.url, &[token], "-n 200");
    library.nothing_is_stored(&reported, "save");

    // All in one book: a user who was overtaken gets a message, and what the others wrote stands. MediaWiki
    // knows by whole seconds who wrote in between: who thinks for less before saving could undo what another
    // wrote.
    let book = &library.readers[0];
    let rows = fs::read_to_string(READERS).expect("the example's readers");
    let rows = library.readers.iter().fold(rows, |rows, own| {
        rows.replace(&format!("{},{}", own.book, own.word), &format!("{},{}", book.book, book.word))
    });
    library.wiki.place.write("one-book.csv", rows);
    let data = ("application-users.csv", "one-book.csv");
    let reported = library.failing(&served.url, &[data], "-n 240 --set load.think=1s");
    let save = state("save");
    println!("{} saved, {} overtaken", reported.stored, reported.pages[save] - reported.well[save]);
    assert_eq!(books::lines_of(&library.wiki, book).len(), reported.stored);
    assert_eq!(reported.well[save], reported.stored, "{reported:?}");
    assert!(reported.stored >= 1 && reported.stored < reported.pages[save], "{reported:?}");
}
