//! Postman collections, 2.0 and 2.1. A request is an entry, in the order of the collection, folders and all.
//!
//! Variables have the values of the user, of the folder or of the collection. Those that a script of a test
//! sets from a reply are extracted, and statements of tests that say what a check says are checks. Examples
//! of replies are no requests, and nothing of them is taken.

mod request;
mod script;
mod variables;

use crate::checks::{Checks, is_sound_extraction};
use crate::draft::{Draft, DraftEntry, DraftSettings};
use crate::holes::{Variables, template};
use crate::node::Node;
use crate::state::{DraftState, EXTRACTIONS_MAX};
use crate::text::{literal, one_line, quoted, state_name};
use crate::{ImportError, ImportSource, Wishes};
use farfield_traffic::file::Load;
use script::{Script, Statement};
use variables::Braces;

/// Bytes of scripts that are looked at: those of a folder are looked at for each request in it.
const SCRIPTS_MAX: usize = 64 << 20;
/// Scripts of one request, with those of its folders, that are looked at.
const SCRIPTS_OF_ONE_MAX: usize = 100;

/// Statements of a script that nothing in a session says.
const UNTESTED: &str = "without statements of their scripts that have no equivalent";

/// Reads a collection.
pub fn read(source: ImportSource<'_>, wishes: &Wishes, draft: &mut Draft) -> Result<(), ImportError> {
    let unreadable = |reason: String| ImportError::Unreadable { kind: "Postman collection", reason };
    let root = Node::of_json(source.bytes).map_err(unreadable)?;
    // As its programming interface returns it.
    let root = if root.get("collection").is_null() { &root } else { root.get("collection") };
    if root.get("item").is_null() {
        let reason = match root.get("requests").is_null() {
            true => "it has no list `item`",
            false => "it is of version 1; export it as version 2.1",
        };
        return Err(unreadable(reason.to_owned()));
    }
    let mut reader = CollectionReader {
        load: source.load,
        draft,
        variables: Variables::new(wishes),
        number: 0,
        adds_fields: false,
        room: SCRIPTS_MAX,
    };
    reader.group(root, "", &FolderSettings::default());
    if reader.adds_fields {
        reader.draft.note(
            "fields that Postman adds itself (`User-Agent`, `Postman-Token`, `Accept`, …) are not sent",
        );
    }
    // As in Postman's runner, where a test that fails ends nothing.
    DraftSettings::set(&mut draft.settings.session, "on-failure", quoted("go-on"));
    Ok(())
}

/// Settings that a request has of the folders that it is in.
#[derive(Clone, Default)]
struct FolderSettings<'a> {
    auth: Option<&'a Node>,
    /// Scripts: those before the request, and those behind it.
    before: Vec<&'a Node>,
    behind: Vec<&'a Node>,
}

impl<'a> FolderSettings<'a> {
    fn within(&self, item: &'a Node) -> FolderSettings<'a> {
        let mut scope = self.clone();
        if !item.get("auth").is_null() {
            scope.auth = Some(item.get("auth"));
        }
        for event in item.get("event").items() {
            if event.get("disabled").is_true() {
                continue;
            }
            if scope.before.len() + scope.behind.len() > SCRIPTS_OF_ONE_MAX {
                break;
            }
            match event.get("listen").text() {
                Some("test") => scope.behind.push(event.get("script")),
                Some("prerequest") => scope.before.push(event.get("script")),
                _ => {}
            }
        }
        scope
    }
}

struct CollectionReader<'a, 'l> {
    load: &'a mut Load<'l>,
    draft: &'a mut Draft,
    variables: Variables,
    /// Requests so far.
    number: usize,
    adds_fields: bool,
    /// Bytes of scripts that are left.
    room: usize,
}

impl CollectionReader<'_, '_> {
    /// A collection or a folder.
    fn group(&mut self, group: &Node, folder: &str, scope: &FolderSettings<'_>) {
        let scope = scope.within(group);
        // Variables of a folder end with it.
        let mut before = Vec::new();
        let known = group.get("variable").items();
        for variable in known.iter().filter(|own| !own.get("disabled").is_true()) {
            let name = variable.get("key").text().or_else(|| variable.get("id").text());
            if let (Some(name), Some(value)) = (name, variable.get("value").plain()) {
                before.push(self.variables.set_within(name, &value));
            }
        }
        for item in group.get("item").items() {
            let name = item.get("name").plain().unwrap_or_default();
            let place = match folder.is_empty() {
                true => one_line(&name),
                false => format!("{folder} / {}", one_line(&name)),
            };
            match item.get("item").is_null() {
                false => self.group(item, &place, &scope),
                true => self.item(item, &name, &place, &scope),
            }
        }
        self.variables.leave(before);
    }

    fn item(&mut self, item: &Node, name: &str, place: &str, scope: &FolderSettings<'_>) {
        self.number += 1;
        let place = format!("request {}, {place}", self.number);
        let mut scope = scope.within(item);
        let request = item.get("request");
        if !request.get("auth").is_null() {
            scope.auth = Some(request.get("auth"));
        }
        let mut passed_over = self.before(&scope);
        let made = match request::of(item, scope.auth, &self.variables, self.load) {
            Ok(made) => made,
            Err((why, detail)) => {
                let place = if detail.is_empty() { place } else { format!("{place}, {detail}") };
                return self.draft.reading.leave_out(why, place);
            }
        };
        let mut state = made.state;
        state.name = state_name(name);
        passed_over += self.behind(&scope, &mut state);
        let mut differs = made.differs;
        differs.extend((passed_over > 0).then_some(UNTESTED));
        if *item.get("protocolProfileBehavior").get("followRedirects") == Node::Bool(false) {
            differs.push("whose redirects are followed");
        }
        if let Some(variable) = &made.base {
            self.draft.note(format!(
                "`{{{{{}}}}}` has no value: what begins with it goes to the target",
                one_line(variable)
            ));
        }
        self.adds_fields = true;
        let entry = DraftEntry::new(place, made.server, state).with(differs);
        self.draft.take(DraftEntry { base: made.base, ..entry });
    }

    fn script(&mut self, script: &Node) -> Script {
        let text = text_of(script);
        match self.room.checked_sub(text.len()) {
            Some(room) => {
                self.room = room;
                script::read(&text)
            }
            None => Script { findings: Vec::new(), passed_over: 1 },
        }
    }

    /// Scripts before the request, of which values are taken that are set; the statements that are passed
    /// over.
    fn before(&mut self, scope: &FolderSettings<'_>) -> usize {
        let mut passed_over = 0;
        for script in &scope.before {
            let script = self.script(script);
            passed_over += script.passed_over;
            for finding in script.findings {
                match finding {
                    Statement::Set(name, value) => self.variables.set(&name, &value),
                    _ => passed_over += 1,
                }
            }
        }
        passed_over
    }

    /// Scripts behind the request: checks and extractions. The statements that are passed over.
    fn behind(&mut self, scope: &FolderSettings<'_>, state: &mut DraftState) -> usize {
        let mut passed_over = 0;
        let mut checks = Checks::default();
        for script in &scope.behind {
            let script = self.script(script);
            passed_over += script.passed_over;
            for finding in script.findings {
                let variables = &self.variables;
                let fill = |text: &str| Some(template(&variables.parts(text, &Braces).ok()?, literal, ""));
                if !script::add(&mut checks, &finding, &fill) {
                    passed_over += 1;
                }
                match finding {
                    Statement::Set(name, value) => self.variables.set(&name, &value),
                    Statement::Extract(..) if state.extract.len() == EXTRACTIONS_MAX => passed_over += 1,
                    Statement::Extract(name, source) if is_sound_extraction(&source) => {
                        let name = self.variables.find(&name);
                        state.extract.retain(|(own, _)| *own != name);
                        state.extract.push((name, source));
                    }
                    Statement::Extract(..) => passed_over += 1,
                    _ => {}
                }
            }
        }
        checks.write(state);
        passed_over
    }
}

/// The lines of a script.
fn text_of(script: &Node) -> String {
    match script.get("exec") {
        Node::List(lines) => lines.iter().filter_map(Node::text).collect::<Vec<_>>().join("\n"),
        text => text.text().unwrap_or_default().to_owned(),
    }
}
