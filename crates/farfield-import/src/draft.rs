//! The scenario that is being made of a document: entries first, of which those of one server are taken; then
//! the text.

use crate::kind::DocumentKind;
use crate::pause::Pause;
use crate::state::{Body, DraftState};
use crate::text::{Names, brief, key, one_line, quoted, quoted_list, shown, state_name};
use crate::{ImportError, Imported, Wishes};
use farfield_base::credentials::is_credential;
use farfield_traffic::session::replay::reading::ReplayAccount;
use farfield_traffic::session::replay::server::{ReplayServer, server_of_most};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use url::{Position, Url};

/// States of a scenario at most.
const STATES_MAX: usize = 5_000;
/// Entries that are kept at most, of which those of one server are taken.
const ENTRIES_MAX: usize = 20_000;
/// Bytes of all entries' texts at most: one text of a document may stand in each.
const TEXT_MAX: usize = 64 << 20;
/// Sentences about a document at most.
const NOTES_MAX: usize = 30;
/// Characters of a sentence about a document, and of the name of a credential, at most.
const NOTE_CHARS: usize = 500;
const NAME_CHARS: usize = 100;
/// Names of credentials that are listed at most.
const SECRETS_MAX: usize = 30;
/// Steps of a path at most.
pub const STEPS_MAX: usize = 20_000;

/// An entry of a document that can be asked for.
#[derive(Debug, Clone)]
pub struct DraftEntry {
    /// Place in the document: "request 3, Log in".
    pub place: String,
    /// The entry's server; `None` for the one of the others, or of `base`.
    pub server: Option<Url>,
    /// The variable without a value that names its server.
    pub base: Option<String>,
    /// State that the request becomes.
    pub state: DraftState,
    /// Place in a session.
    pub role: StateRole,
    /// Entries of the document that it is: more than one with embedded objects.
    pub entries: u64,
    /// Differences from what is written, if it is taken.
    pub remarks: ReplayAccount,
    /// The time before it, taken or not.
    pub pause: Pause,
}

impl DraftEntry {
    /// An entry on the path, of this place in the document.
    pub fn new(place: String, server: Option<Url>, state: DraftState) -> DraftEntry {
        let (remarks, pause) = (ReplayAccount::default(), Pause::default());
        DraftEntry { place, server, base: None, state, role: StateRole::Path, entries: 1, remarks, pause }
    }

    /// Is asked for otherwise than it is written; counted once, however often it is written so.
    fn differs(&mut self, what: &'static str) {
        if self.remarks.differing.iter().all(|known| known.what != what) {
            self.remarks.differs(what, &self.place);
        }
    }

    /// With remarks of what is otherwise than it is written.
    pub fn with(mut self, remarks: impl IntoIterator<Item = &'static str>) -> DraftEntry {
        remarks.into_iter().for_each(|what| self.differs(what));
        self
    }
}

/// Place of a state in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateRole {
    /// On the path.
    Path,
    /// Once before the load.
    SetUp,
    /// Once behind it.
    TearDown,
    /// Written, and on no path; the reason for which it is left out.
    Off(&'static str),
}

/// Variables that have a value.
#[derive(Default)]
struct KnownVariables {
    columns: BTreeSet<String>,
    set_up: BTreeSet<String>,
    path: BTreeSet<String>,
    tear_down: BTreeSet<String>,
}

impl KnownVariables {
    /// The variable that an entry needs and does not have.
    fn lacks(&self, entry: &DraftEntry) -> Option<String> {
        let lists = match entry.role {
            StateRole::SetUp => vec![&self.set_up],
            StateRole::TearDown => vec![&self.set_up, &self.tear_down],
            StateRole::Path | StateRole::Off(_) => vec![&self.set_up, &self.columns, &self.path],
        };
        let is_own = |name: &String| entry.state.extract.iter().any(|(own, _)| own == name);
        entry
            .state
            .needs()
            .into_iter()
            .find(|name| !is_own(name) && !lists.iter().any(|list| list.contains(name)))
    }

    fn add(&mut self, entry: &DraftEntry) {
        let names = entry.state.extract.iter().map(|(name, _)| name.clone());
        match entry.role {
            StateRole::SetUp => self.set_up.extend(names),
            StateRole::TearDown => self.tear_down.extend(names),
            StateRole::Path => self.path.extend(names),
            // Entries on no path give nothing to those that are on one.
            StateRole::Off(_) => {}
        }
    }
}

/// A scenario that is being made.
#[derive(Debug)]
pub struct Draft {
    kind: DocumentKind,
    source: String,
    name: String,
    entries: Vec<DraftEntry>,
    /// Bytes of their texts that are left.
    room: usize,
    /// Entries that were left out, and those that differ.
    pub reading: ReplayAccount,
    /// Sentences for the account beside the entries.
    pub notes: Vec<String>,
    /// All but the requests.
    pub settings: DraftSettings,
}

/// The keys of a scenario beside its requests; texts are TOML.
#[derive(Debug, Default)]
pub struct DraftSettings {
    /// `http`
    pub http: Option<&'static str>,
    /// `load`, beside the model: `users` first.
    pub load: Vec<(&'static str, String)>,
    /// `run`
    pub run: Vec<(&'static str, String)>,
    /// `session`, beside the path.
    pub session: Vec<(&'static str, String)>,
    /// `[[session.data]]`, each a list of lines.
    pub data: Vec<Vec<(&'static str, String)>>,
    /// Columns of the data.
    pub columns: Vec<String>,
    /// `tls`
    pub tls: Vec<(&'static str, String)>,
    /// `connections`
    pub connections: Vec<(&'static str, String)>,
    /// `sockets.connect-to`
    pub connect_to: Vec<String>,
    /// Steps of the path, by number of the entry; all in order if empty.
    pub path: Vec<usize>,
    /// Each request of the path has a think time, also where it is none.
    pub thinks: bool,
}

impl DraftSettings {
    /// Sets a key of a table, instead of what it has.
    pub fn set(table: &mut Vec<(&'static str, String)>, key: &'static str, value: String) {
        table.retain(|(own, _)| *own != key);
        table.push((key, value));
    }
}

impl Draft {
    /// The draft of the document of this name.
    pub fn new(source: &str, kind: DocumentKind) -> Draft {
        let file = source.rsplit('/').next().unwrap_or(source);
        let stem = file.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or(file);
        Draft {
            kind,
            source: one_line(file),
            name: state_name(stem),
            entries: Vec::new(),
            room: TEXT_MAX,
            reading: ReplayAccount::default(),
            notes: Vec::new(),
            settings: DraftSettings::default(),
        }
    }

    /// Takes an entry; its number. Beyond the bounds it is left out.
    pub fn take(&mut self, entry: DraftEntry) -> Option<usize> {
        let room = self.room.checked_sub(entry.state.bytes() + entry.place.len());
        match room.filter(|_| self.entries.len() < ENTRIES_MAX) {
            Some(room) => {
                self.room = room;
                self.entries.push(entry);
                Some(self.entries.len() - 1)
            }
            None => {
                let why = "behind the 20,000 entries or 64 MiB of text that are read";
                self.reading.leave_out_all(why, entry.entries, entry.place);
                None
            }
        }
    }

    /// Counts an entry, if it is taken, as one that is asked for otherwise than it is written.
    pub fn differs(&mut self, number: usize, what: &'static str) {
        self.entries[number].differs(what);
    }

    /// Takes entries into others, which are asked for together with these, as `how` says. Those behind them
    /// get lower numbers.
    pub fn fold(&mut self, heads: &BTreeMap<usize, usize>, how: &'static str) {
        for (number, head) in heads {
            let folded = &mut self.entries[*number];
            let embedded = std::mem::take(&mut folded.state.embedded);
            let (entries, remarks) = (folded.entries, std::mem::take(&mut folded.remarks));
            let place = folded.place.clone();
            let head = &mut self.entries[*head];
            head.state.embedded.extend(embedded);
            head.entries += entries;
            head.remarks.differs_as(&remarks);
            head.remarks.differs(how, place);
        }
        let mut number = 0;
        self.entries.retain(|_| {
            number += 1;
            !heads.contains_key(&(number - 1))
        });
    }

    /// Entries by their numbers, taken or not.
    pub fn entries(&self) -> &[DraftEntry] {
        &self.entries
    }

    /// An entry by its number.
    pub fn entry(&mut self, number: usize) -> &mut DraftEntry {
        &mut self.entries[number]
    }

    /// Entries on the path in the order in which they are asked for, taken or not.
    pub fn steps(&self) -> Vec<usize> {
        match self.settings.path.is_empty() {
            true => {
                (0..self.entries.len()).filter(|own| self.entries[*own].role == StateRole::Path).collect()
            }
            false => self.settings.path.clone(),
        }
    }

    /// Says something once; beyond a number only that there is more.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = brief(&note.into(), NOTE_CHARS);
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
            if self.notes.len() == NOTES_MAX {
                self.notes.push("there is more of this kind, which is not said".to_owned());
            }
        }
    }

    /// The scenario, for the target if the user names one; `files` were read.
    pub fn finish(mut self, wishes: &Wishes, files: Vec<String>) -> Result<Imported, ImportError> {
        let target = wishes.target.as_ref();
        let (of_most, base) = self.chosen(wishes);
        let taken = self.sift(of_most.as_ref(), base.as_deref(), &wishes.hosts);
        if !taken.iter().any(|number| self.entries[*number].role == StateRole::Path) {
            for remark in &mut self.reading.left_out {
                remark.first = shown(&remark.first);
            }
            return Err(ImportError::nothing(self.reading.warnings()));
        }
        let target = match (target, &of_most) {
            (Some(target), _) => target.clone(),
            (None, Some((url, _))) => url.clone(),
            (None, None) => return Err(ImportError::NoServer),
        };
        for (is_wished, flag, of) in [
            (wishes.binds, "--bind", DocumentKind::Har),
            (wishes.all_methods, "--all-methods", DocumentKind::OpenApi),
        ] {
            if is_wished && self.kind != of {
                self.note(format!("`{flag}` does nothing here: it is for {of}"));
            }
        }
        self.spread_pauses(&taken);
        self.name_states(&taken);
        let hosts = self.lead_to_hosts(wishes, &target, &taken);
        for entry in &mut self.entries {
            if let Some(Body::File(file)) = &mut entry.state.body {
                *file = wishes.placed(file);
            }
        }
        if target.scheme() == "http" && !self.settings.tls.is_empty() {
            self.settings.tls.clear();
            self.note(
                "options about certificates are of no matter for a server that speaks http, and left out",
            );
        }
        let target = format!("{}://{}/", target.scheme(), &target[Position::BeforeHost..Position::AfterPort]);
        let scenario = self.text(&target, &hosts, &taken);
        let secrets = self.secrets(wishes, &scenario, &taken);
        for remark in self.reading.left_out.iter_mut().chain(&mut self.reading.differing) {
            remark.first = shown(&remark.first);
        }
        let environment = environment_of(&scenario);
        let Draft { reading, notes, .. } = self;
        Ok(Imported { scenario, target, reading, notes, secrets, environment, files })
    }

    /// Names of credentials in the scenario, each with its first place.
    fn secrets(&self, wishes: &Wishes, scenario: &str, taken: &[usize]) -> Vec<(String, String)> {
        let mut secrets: Vec<(String, String)> = Vec::new();
        let mut add = |name: String, place: &str| {
            let name = brief(&name, NAME_CHARS);
            if secrets.len() < SECRETS_MAX && !secrets.iter().any(|(known, _)| *known == name) {
                secrets.push((name, shown(place)));
            }
        };
        for entry in taken.iter().map(|number| &self.entries[*number]) {
            for name in entry.state.secrets() {
                add(name, &entry.place);
            }
        }
        // The user's own, wherever the document puts them.
        for (name, value) in wishes.values.iter().filter(|(name, _)| is_credential(name)) {
            if value.len() >= 4 && crate::environment(value).is_none() && scenario.contains(value.as_str()) {
                add(one_line(name), "--value");
            }
        }
        secrets
    }

    /// The server whose entries are taken, and the variable that stands for it.
    fn chosen(&self, wishes: &Wishes) -> (Option<(Url, ReplayServer)>, Option<String>) {
        let target = wishes.target.as_ref();
        let of_most = self.choose_server(target, &wishes.hosts);
        let base = self.base_of_most().filter(|_| target.is_some() || of_most.is_none());
        (of_most, base)
    }

    /// The numbers of the entries that will be in the scenario, in their order.
    pub fn kept(&self, wishes: &Wishes) -> Vec<usize> {
        let (of_most, base) = self.chosen(wishes);
        let judged = self.judged(of_most.as_ref(), base.as_deref(), &wishes.hosts).into_iter();
        let mut kept: Vec<usize> =
            judged.filter(|(_, left_out)| left_out.is_none()).map(|(number, _)| number).collect();
        kept.sort_unstable();
        kept
    }

    /// The variable of most entries, among those without a value that name servers.
    fn base_of_most(&self) -> Option<String> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        let bases = || self.entries.iter().filter_map(|entry| entry.base.as_deref());
        bases().for_each(|base| *counts.entry(base).or_default() += 1);
        let most = counts.values().copied().max()?;
        bases().find(|base| counts.get(base) == Some(&most)).map(str::to_owned)
    }

    /// The URL of the server whose entries are taken, and the server; none if no entry names one.
    fn choose_server(&self, target: Option<&Url>, hosts: &[Url]) -> Option<(Url, ReplayServer)> {
        let named: Vec<(Url, ReplayServer)> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let url = entry.server.as_ref().filter(|url| !is_among(hosts, url))?;
                Some((url.clone(), ReplayServer::of(url)?))
            })
            .collect();
        let wanted = target.map(|url| url[Position::BeforeHost..Position::AfterPort].to_owned());
        let own =
            target.and_then(ReplayServer::of).filter(|own| named.iter().any(|(_, server)| server == own));
        let of_most = || server_of_most(named.iter().map(|(_, server)| server), wanted.as_deref()).cloned();
        let chosen = own.or_else(of_most)?;
        let chosen = named.into_iter().find(|(_, server)| *server == chosen)?;
        // Requests of the server that a variable names go to the target, and those of another server do not
        // go with it.
        let has_bases = self.entries.iter().any(|entry| entry.base.is_some());
        let is_targets = target.is_none_or(|target| ReplayServer::of(target).as_ref() == Some(&chosen.1));
        (is_targets || !has_bases).then_some(chosen)
    }

    /// The numbers of entries that are in the scenario. The others are counted.
    fn sift(
        &mut self,
        of_most: Option<&(Url, ReplayServer)>,
        base: Option<&str>,
        hosts: &[Url],
    ) -> Vec<usize> {
        let mut taken = Vec::new();
        for (number, left_out) in self.judged(of_most, base, hosts) {
            let entry = &self.entries[number];
            match (left_out, entry.role) {
                (Some((why, place)), _) => {
                    self.reading.leave_out_all(why, entry.entries, place);
                    continue;
                }
                (None, StateRole::Off(why)) => self.reading.leave_out_all(why, entry.entries, &entry.place),
                (None, _) => {
                    self.reading.taken += entry.entries;
                    self.reading.differs_as(&entry.remarks);
                }
            }
            taken.push(number);
        }
        taken.sort_unstable();
        taken
    }

    /// Each entry by its number, and why it is not in the scenario: the reason, and its place.
    fn judged(
        &self,
        of_most: Option<&(Url, ReplayServer)>,
        base: Option<&str>,
        hosts: &[Url],
    ) -> Vec<(usize, Option<(&'static str, String)>)> {
        let mut count = 0;
        let mut known = KnownVariables {
            columns: self.settings.columns.iter().cloned().collect(),
            ..KnownVariables::default()
        };
        let is_first = |number: &usize| self.entries[*number].role == StateRole::SetUp;
        let (first, others): (Vec<usize>, Vec<usize>) = (0..self.entries.len()).partition(is_first);
        let judge = |number: usize| {
            let entry = &self.entries[number];
            let server = entry.server.as_ref().and_then(ReplayServer::of);
            let is_beside = entry.server.as_ref().is_some_and(|url| is_among(hosts, url));
            let elsewhere =
                !is_beside && server.is_some() && server.as_ref() != of_most.map(|(_, server)| server);
            let left_out = if elsewhere {
                Some(("of another server", entry.place.clone()))
            } else if entry.base.is_some() && entry.base.as_deref() != base {
                let why =
                    "of a server that a variable without a value names; `--value NAME=VALUE` gives it one";
                Some((why, entry.place.clone()))
            } else if count == STATES_MAX {
                Some(("behind the 5000 that a scenario has", entry.place.clone()))
            } else if let Some(name) = known.lacks(entry) {
                let why = "that needs a value which nothing before it on the path gives";
                Some((why, format!("{}, `{name}`", entry.place)))
            } else {
                let problem = entry.state.problem();
                problem.map(|why| ("that cannot be sent", format!("{}: {why}", entry.place)))
            };
            if left_out.is_none() {
                known.add(entry);
                count += 1;
            }
            (number, left_out)
        };
        first.into_iter().chain(others).map(judge).collect()
    }

    /// Writes the URLs of the taken requests that are of hosts; the roots of these hosts, but for the
    /// target's.
    fn lead_to_hosts(&mut self, wishes: &Wishes, target: &Url, taken: &[usize]) -> Vec<String> {
        let hosts = wishes.hosts.iter().filter(|host| host.origin() != target.origin());
        let hosts: Vec<&Url> = hosts.collect();
        for number in taken {
            let DraftEntry { server, state, .. } = &mut self.entries[*number];
            let host =
                hosts.iter().find(|host| server.as_ref().is_some_and(|own| own.origin() == host.origin()));
            if let Some(host) = host.filter(|_| state.path.starts_with('/')) {
                state.path.insert_str(0, &host.origin().ascii_serialization());
            }
        }
        hosts.iter().map(|host| format!("{}/", host.origin().ascii_serialization())).collect()
    }

    /// Names that differ.
    fn name_states(&mut self, taken: &[usize]) {
        let mut names = Names::default();
        for number in taken {
            let name = &mut self.entries[*number].state.name;
            *name = names.unique(name);
        }
    }

    fn text(&self, target: &str, hosts: &[String], taken: &[usize]) -> String {
        let mut text = format!(
            "# Made by `farfield import` of {}, {}.\n\nname = {}\ntarget = {}\n",
            self.source,
            self.kind,
            quoted(&self.name),
            quoted(target)
        );
        let settings = &self.settings;
        if let Some(http) = settings.http {
            // Writing into text does not fail.
            let _ = writeln!(text, "http = {}", quoted(http));
        }
        let mut load = vec![("model", quoted("closed"))];
        load.extend(settings.load.iter().cloned());
        if !settings.load.iter().any(|(key, _)| *key == "users") {
            load.insert(1, ("users", "1".to_owned()));
        }
        let table = |name: &str, lines: &[(&str, String)]| match lines.is_empty() {
            true => String::new(),
            false => {
                let lines: String =
                    lines.iter().map(|(own, value)| format!("{} = {value}\n", key(own))).collect();
                format!("\n[{name}]\n{lines}")
            }
        };
        text += &table("load", &load);
        text += &table("run", &settings.run);
        text += &table("tls", &settings.tls);
        text += &table("connections", &settings.connections);
        if !settings.connect_to.is_empty() {
            let rules = quoted_list(settings.connect_to.iter().map(String::as_str));
            text += &table("sockets", &[("connect-to", rules)]);
        }
        for host in hosts {
            text += &table("[host]", &[("url", quoted(host))]);
        }
        let mut session = settings.session.clone();
        session.extend(self.lists(taken));
        text += &match session.is_empty() {
            true => "\n[session]\n".to_owned(),
            false => table("session", &session),
        };
        for data in &settings.data {
            text += &table("[session.data]", data);
        }
        for number in taken {
            text += "\n";
            text += &self.entries[*number].state.toml();
        }
        text
    }

    /// The path, if it is not all states in order, and the lists beside it.
    fn lists(&self, taken: &[usize]) -> Vec<(&'static str, String)> {
        let of_role = |role: StateRole| -> Vec<usize> {
            taken.iter().copied().filter(|number| self.entries[*number].role == role).collect()
        };
        let names = |numbers: &[usize]| {
            quoted_list(numbers.iter().map(|number| self.entries[*number].state.name.as_str()))
        };
        let mut lists = Vec::new();
        for (key, role) in [("set-up", StateRole::SetUp), ("tear-down", StateRole::TearDown)] {
            let states = of_role(role);
            if !states.is_empty() {
                lists.push((key, names(&states)));
            }
        }
        let on_path = of_role(StateRole::Path);
        let has_off = taken.iter().any(|number| matches!(self.entries[*number].role, StateRole::Off(_)));
        let known: BTreeSet<usize> = on_path.iter().copied().collect();
        let steps: Vec<usize> =
            self.settings.path.iter().copied().filter(|step| known.contains(step)).collect();
        if !steps.is_empty() && steps != on_path {
            lists.push(("path", names(&steps)));
        } else if has_off {
            lists.push(("path", names(&on_path)));
        }
        lists
    }
}

/// True if a URL is of one of these hosts.
fn is_among(hosts: &[Url], url: &Url) -> bool {
    hosts.iter().any(|host| host.origin() == url.origin())
}

/// Names of the environment's variables in a scenario, in order.
fn environment_of(scenario: &str) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    for (at, begin) in scenario.match_indices("${env.") {
        // Of two `$` the first says that the second is one.
        let before = scenario[..at].bytes().rev().take_while(|byte| *byte == b'$').count();
        let name = scenario[at + begin.len()..].split(['}', '|']).next().unwrap_or_default();
        if before % 2 == 0 && known.insert(name) {
            names.push(name.to_owned());
        }
    }
    names
}
