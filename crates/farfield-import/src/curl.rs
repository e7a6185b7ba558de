//! Commands of curl, as browsers copy them and documentation has them. A request of each URL is an entry.
//!
//! Quotes are those of bash. A variable that the text does not set, `$TOKEN`, becomes `${env.TOKEN}`. What
//! curl adds by itself (`Accept: */*`, the type of a body) is written out; its `User-Agent` is not, which is
//! said.

pub mod body;
mod command;
mod options;
mod proxy;
mod request;
mod words;

use crate::draft::{Draft, DraftEntry, DraftSettings};
use crate::text::{one_line, quoted};
use crate::{ImportError, ImportSource, Wishes};
use command::{Common, Options};
use farfield_traffic::file::Load;
use std::collections::BTreeSet;
use std::rc::Rc;
use words::Command;

/// The redirects that curl follows (`--max-redirs`), and those that a session may.
const CURLS_REDIRECTS: u8 = 50;

/// Reads a text of commands.
pub fn read(source: ImportSource<'_>, wishes: &Wishes, draft: &mut Draft) -> Result<(), ImportError> {
    let unreadable = |reason: String| ImportError::Unreadable { kind: "command of curl", reason };
    let text =
        std::str::from_utf8(source.bytes).map_err(|_| unreadable("it is no text in UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.contains(words::MARK) {
        return Err(unreadable("it has a zero byte, which no command has".to_owned()));
    }
    if text.contains("^\"") || text.lines().any(|line| line.trim_end().ends_with('^')) {
        let reason = "it is written for cmd.exe; copy it as cURL for bash (POSIX)";
        return Err(unreadable(reason.to_owned()));
    }
    let commands = words::commands(text, &wishes.values).map_err(unreadable)?;
    let mut importer =
        Importer { load: source.load, draft, wishes, once: Vec::new(), entry: 0, written: BTreeSet::new() };
    for command in &commands {
        importer.command(command)?;
    }
    importer.finish()
}

/// Reads the words of one command, without `curl`.
pub fn read_words(
    words: &[String],
    load: &mut Load<'_>,
    wishes: &Wishes,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let words = words.iter().map(|word| word.replace(words::MARK, ""));
    let words = std::iter::once("curl".to_owned()).chain(words).collect();
    let mut importer = Importer { load, draft, wishes, once: Vec::new(), entry: 0, written: BTreeSet::new() };
    importer.command(&Command { line: 1, words, ..Command::default() })?;
    importer.finish()
}

struct Importer<'a, 'l> {
    load: &'a mut Load<'l>,
    draft: &'a mut Draft,
    wishes: &'a Wishes,
    /// Settings that a scenario has once, of each entry.
    once: Vec<EntryOptions>,
    /// Requests so far.
    entry: usize,
    /// Files of cookies that commands have written so far.
    written: BTreeSet<String>,
}

/// Settings that a scenario has once, as the command of an entry has them.
struct EntryOptions {
    /// The number of the entry.
    number: usize,
    /// The command's, of all its entries: a name in it may be long.
    common: Rc<Common>,
    /// The command keeps cookies; unknown of files that are not known.
    keeps_cookies: Option<bool>,
}

impl Importer<'_, '_> {
    /// Takes the files out of a command's cookies that it or an earlier command writes, and the empty name,
    /// which keeps cookies without a file. curl keeps none without them, and a session that begins keeps
    /// those of its own requests. Returns whether the command keeps cookies, if all its files are known.
    fn open_jars(&mut self, set: &mut Options) -> Option<bool> {
        self.written.extend(set.jar.clone());
        let before = set.cookies.len();
        set.cookies.retain(|cookie| !cookie.is_empty() && !self.written.contains(cookie));
        let keeps = set.jar.is_some() || set.cookies.len() < before;
        // A file that is not known leaves the command out.
        set.cookies.iter().all(|cookie| cookie.contains('=')).then_some(keeps)
    }

    fn command(&mut self, command: &Command) -> Result<(), ImportError> {
        let Some((program, words)) = command.words.split_first() else { return Ok(()) };
        if program.rsplit('/').next() != Some("curl") {
            self.draft.note(format!(
                "line {}: `{}` is no command of curl, and passed over",
                command.line,
                one_line(program)
            ));
            return Ok(());
        }
        if command.ampersand {
            self.draft.note(format!(
                "line {}: a `&` outside of quotes ends the command, as in a shell; put quotes around the URL if it is a part of it",
                command.line
            ));
        }
        let mut sets = command::read(words).map_err(|reason| ImportError::Unreadable {
            kind: "command of curl",
            reason: format!("line {}: {reason}", command.line),
        })?;
        for set in &mut sets {
            let keeps_cookies = self.open_jars(set);
            let common = Rc::new(set.common.clone());
            for url in &set.urls {
                self.entry += 1;
                let place = format!("request {}, {}", self.entry, one_line(&url.replace(words::MARK, "$")));
                match command.problem.or(set.refused) {
                    Some(why) => self.draft.reading.leave_out(why, &place),
                    None => {
                        if let Some(number) = self.request(set, url, &place) {
                            self.once.push(EntryOptions {
                                number,
                                common: Rc::clone(&common),
                                keeps_cookies,
                            });
                        }
                    }
                }
            }
            for option in &set.no_matter {
                self.draft.note(format!("`{option}` of curl is of no matter for a request"));
            }
        }
        Ok(())
    }

    /// Takes the request of `url`; the number of its entry.
    fn request(&mut self, set: &Options, url: &str, place: &str) -> Option<usize> {
        let made = match request::of(set, url, self.load) {
            Ok(made) => made,
            Err(why) => {
                self.draft.reading.leave_out(why, place);
                return None;
            }
        };
        let mut differs = Vec::new();
        differs.extend(proxy::of(&set.common).and_then(Result::err));
        differs.extend(&set.differs);
        if request::removes(set, "accept") {
            differs.push("with `Accept: */*`, which is sent where no other is written");
        }
        let entry = DraftEntry::new(place.to_owned(), made.server, made.state).with(differs);
        self.draft.take(DraftEntry { base: made.base, ..entry })
    }

    /// Settings that a scenario has once, of the first entry that is in it; others may differ from them.
    fn of_kept(&mut self) -> Option<EntryOptions> {
        let kept: BTreeSet<usize> = self.draft.kept(self.wishes).into_iter().collect();
        let mut once = std::mem::take(&mut self.once).into_iter().filter(|own| kept.contains(&own.number));
        let mut first = once.next()?;
        let mut is_left = first.keeps_cookies == Some(false);
        for other in once {
            if other.common != first.common {
                let what =
                    "with the redirects, versions, certificates, times and proxy of the first request taken";
                self.draft.differs(other.number, what);
            }
            is_left |= other.keeps_cookies == Some(false);
            first.keeps_cookies = first.keeps_cookies.max(other.keeps_cookies);
        }
        if first.keeps_cookies == Some(true) && is_left {
            self.draft.note(
                "users send the cookies that the server has set with all requests, also those of commands without `-b`",
            );
        }
        Some(first)
    }

    /// The keys that a scenario has once.
    fn finish(mut self) -> Result<(), ImportError> {
        let Some(EntryOptions { common, keeps_cookies, .. }) = self.of_kept() else { return Ok(()) };
        let mut common = Rc::unwrap_or_clone(common);
        let unreadable = |reason: String| ImportError::Unreadable { kind: "command of curl", reason };
        let draft = self.draft;
        let settings = &mut draft.settings;
        let redirects = match (common.location, &common.redirects_max) {
            (false, _) => 0,
            (true, None) => CURLS_REDIRECTS,
            (true, Some(most)) => match most.parse::<i64>() {
                Ok(most) => u8::try_from(most).unwrap_or(u8::MAX),
                Err(_) => return Err(unreadable(format!("`--max-redirs {}` is no number", one_line(most)))),
            },
        };
        DraftSettings::set(&mut settings.session, "redirects", redirects.to_string());
        if keeps_cookies != Some(true) {
            DraftSettings::set(&mut settings.session, "cookies", "false".to_owned());
        }
        settings.http = common.http;
        if common.insecure {
            settings.tls.push(("verify", "false".to_owned()));
        }
        for (key, file) in [("ca", &common.ca), ("certificate", &common.certificate), ("key", &common.key)] {
            if let Some(file) = file {
                settings.tls.push((key, quoted(&self.wishes.placed(file))));
            }
        }
        if let Some(socket) = common.unix_socket.take() {
            let is_abstract = socket.starts_with('@');
            let placed = if is_abstract { socket.clone() } else { self.wishes.placed(&socket) };
            settings.connections.push(("unix-socket", quoted(&placed)));
            draft.note(format!("connections go to a Unix socket of this machine, `{}`", one_line(&socket)));
            if common.proxy.is_some() || !common.connect_to.is_empty() || !common.resolve.is_empty() {
                draft.note("`--proxy`, `--connect-to` and `--resolve` are left out beside a Unix socket");
            }
            common.proxy = None;
            (common.connect_to, common.resolve) = (Vec::new(), Vec::new());
        }
        let settings = &mut draft.settings;
        if let Some(Ok(url)) = proxy::of(&common) {
            settings.connections.push(("proxy", quoted(&url)));
            if !common.connect_to.is_empty() || !common.resolve.is_empty() {
                draft.note("`--connect-to` and `--resolve` are left out: the proxy looks names up");
            }
            (common.connect_to, common.resolve) = (Vec::new(), Vec::new());
        }
        let settings = &mut draft.settings;
        settings.connect_to.extend(common.connect_to.iter().cloned());
        for rule in &common.resolve {
            settings.connect_to.push(resolved(rule).ok_or_else(|| {
                unreadable(format!("`--resolve {}` is not HOST:PORT:ADDRESS", one_line(rule)))
            })?);
        }
        if let Some(seconds) = &common.time_max {
            let time = seconds.parse::<f64>().ok().filter(|time| *time == 0.0 || (1e-3..1e9).contains(time));
            let time =
                time.ok_or_else(|| unreadable(format!("`--max-time {}` is no time", one_line(seconds))))?;
            // Zero is no limit.
            if time > 0.0 {
                let time = format!("{}ms", (time * 1e3).round());
                settings.connections.push(("request-timeout", quoted(&time)));
            }
        }
        draft.note("the field `User-Agent` is farfield's where the command sets none");
        Ok(())
    }
}

/// `--resolve HOST:PORT:ADDRESS[,…]` as the rule of `--connect-to` that says the same.
fn resolved(rule: &str) -> Option<String> {
    let rule = rule.trim_start_matches('+');
    let (host, rest) = rule.split_once(':')?;
    let (port, addresses) = rest.split_once(':')?;
    let address = addresses.split(',').next().filter(|address| !address.is_empty())?;
    let address = match address.contains(':') && !address.starts_with('[') {
        true => format!("[{address}]"),
        false => address.to_owned(),
    };
    let host = if host == "*" { "" } else { host };
    Some(format!("{host}:{port}:{address}:"))
}
