//! Test plans of JMeter. A sampler is an entry; the samplers of the first thread group are the path, those of
//! its set-up and tear-down groups are before and behind it.
//!
//! Elements in scope of a sampler count for it as in JMeter: defaults, header fields, cookies, credentials,
//! assertions, extractors and timers. Samplers in controllers that choose are left out, since a path has no
//! choice; a loop of a known number is repeated on the path.

mod reply;
mod sampler;
mod threads;
mod values;
mod xml;

use crate::checks::Checks;
use crate::draft::{Draft, DraftEntry, DraftSettings, STEPS_MAX, StateRole};
use crate::holes::Variables;
use crate::pause::{OF_FIRST_ROUND, Pause};
use crate::text::{one_line, quoted, quoted_list, state_name};
use crate::{ImportError, ImportSource, Wishes};
use farfield_traffic::file::Load;
use xml::Element;

/// Elements that one sampler is in scope of, at most.
const SCOPE_MAX: usize = 500;

/// The action of an element that pauses.
const PAUSES: &str = "1";

const UNASSERTED: &str = "without an assertion that has no equivalent";
const UNEXTRACTED: &str = "without an extractor that has no equivalent";
const UNPROCESSED: &str = "without a processor or a listener of a script that has no equivalent";

/// Reads a plan.
pub fn read(source: ImportSource<'_>, wishes: &Wishes, draft: &mut Draft) -> Result<(), ImportError> {
    let unreadable = |reason: String| ImportError::Unreadable { kind: "JMeter plan", reason };
    let text =
        std::str::from_utf8(source.bytes).map_err(|_| unreadable("it is no text in UTF-8".to_owned()))?;
    let root = xml::root(text).map_err(unreadable)?;
    if root.name != "jmeterTestPlan" {
        let name = one_line(&root.name);
        return Err(unreadable(format!("its outermost element is `{name}`, and not `jmeterTestPlan`")));
    }
    let mut reader = PlanReader {
        load: source.load,
        draft,
        variables: Variables::new(wishes),
        number: 0,
        waited: Pause::default(),
        follows: Vec::new(),
        keeps_cookies: false,
        has_path: false,
        wishes,
    };
    for (_, below) in root.children.iter().filter(|own| own.name == "hashTree").flat_map(Element::pairs) {
        let Some(plan) = below else { continue };
        // The plan's own element has variables, too.
        reader.plan(&root, plan)?;
    }
    reader.finish();
    Ok(())
}

/// Elements that a sampler is in scope of, the nearest last.
#[derive(Clone, Default)]
pub struct Scope<'a> {
    defaults: Vec<&'a Element>,
    headers: Vec<&'a Element>,
    cookies: Vec<&'a Element>,
    credentials: Vec<&'a Element>,
    assertions: Vec<&'a Element>,
    extractors: Vec<&'a Element>,
    timers: Vec<&'a Element>,
    /// Other elements that do something with a sample.
    others: Vec<&'a Element>,
}

impl<'a> Scope<'a> {
    /// With the elements of a tree.
    fn within(&self, tree: &'a Element) -> Result<Scope<'a>, ImportError> {
        let mut scope = self.clone();
        for (element, _) in tree.pairs().filter(|(own, _)| own.is_enabled()) {
            let list = match element.name.as_str() {
                "ConfigTestElement" if element.attribute("guiclass").starts_with("HttpDefaults") => {
                    &mut scope.defaults
                }
                "HeaderManager" => &mut scope.headers,
                "CookieManager" => &mut scope.cookies,
                "AuthManager" => &mut scope.credentials,
                "RegexExtractor" | "BoundaryExtractor" | "HtmlExtractor" | "JSONPostProcessor" => {
                    &mut scope.extractors
                }
                name if name.ends_with("Assertion") => &mut scope.assertions,
                name if name.ends_with("Timer") => &mut scope.timers,
                name if name.ends_with("Extractor") || name.ends_with("Processor") => &mut scope.others,
                _ => continue,
            };
            list.push(element);
        }
        let lists = [&scope.defaults, &scope.headers, &scope.cookies, &scope.credentials];
        let more = [&scope.assertions, &scope.extractors, &scope.timers, &scope.others];
        match lists.into_iter().chain(more).map(Vec::len).sum::<usize>() > SCOPE_MAX {
            true => Err(ImportError::Unbounded(format!(
                "is a JMeter plan in which a sampler is in scope of more than {SCOPE_MAX} elements, which is the most that is read"
            ))),
            false => Ok(scope),
        }
    }
}

struct PlanReader<'a, 'l> {
    load: &'a mut Load<'l>,
    draft: &'a mut Draft,
    variables: Variables,
    wishes: &'a Wishes,
    /// Samplers so far.
    number: usize,
    /// Pauses since the last sampler that was taken.
    waited: Pause,
    /// Number of each entry that was taken, and true if it follows redirects.
    follows: Vec<(usize, bool)>,
    keeps_cookies: bool,
    has_path: bool,
}

impl PlanReader<'_, '_> {
    fn plan(&mut self, root: &Element, plan: &Element) -> Result<(), ImportError> {
        for tree in root.children.iter().filter(|own| own.name == "hashTree") {
            for (element, _) in tree.pairs().filter(|(own, _)| own.name == "TestPlan") {
                if let Some(own) = element.property("TestPlan.user_defined_variables") {
                    self.arguments(own);
                }
            }
        }
        self.settings(plan);
        let scope = Scope::default().within(plan)?;
        for (group, below) in plan.pairs().filter(|(own, _)| own.name.ends_with("ThreadGroup")) {
            let Some(below) = below else { continue };
            let role = match group.name.as_str() {
                "SetupThreadGroup" => StateRole::SetUp,
                "PostThreadGroup" => StateRole::TearDown,
                _ => StateRole::Path,
            };
            if !group.is_enabled() {
                self.leave_out(below, "that are disabled, or in what is");
            } else if role == StateRole::Path && self.has_path {
                self.leave_out(
                    below,
                    "of another thread group than the first, beside which they run in JMeter",
                );
            } else {
                self.has_path |= role == StateRole::Path && has_sampler(below);
                self.waited = Pause::default();
                let steps = self.tree(below, &scope, role)?;
                self.draft.come_round(steps.first().copied(), self.waited);
                if role == StateRole::Path && !steps.is_empty() {
                    threads::set(group, &self.variables, self.draft);
                    self.draft.settings.path = steps;
                }
            }
        }
        for (_, below) in plan.pairs().filter(|(own, _)| own.name == "TestFragmentController") {
            self.leave_out_all(below, "of a test fragment");
        }
        Ok(())
    }

    /// Variables, data sets and other settings of a tree.
    fn settings(&mut self, tree: &Element) {
        for (element, _) in tree.pairs().filter(|(own, _)| own.is_enabled()) {
            match element.name.as_str() {
                "Arguments" => self.arguments(element),
                "CSVDataSet" => self.data(element),
                "CookieManager" => self.keeps_cookies = true,
                "CacheManager" => self.draft.note("a cache is left out; `cache = true` gives each user one"),
                "CounterConfig" | "RandomVariableConfig" | "KeystoreConfig" | "DNSCacheManager" => {
                    self.draft.note(format!("a `{}` is left out", element.name));
                }
                _ => {}
            }
        }
    }

    fn arguments(&mut self, arguments: &Element) {
        for argument in arguments.items("Arguments.arguments") {
            self.variables.set(argument.text_of("Argument.name"), argument.text_of("Argument.value"));
        }
    }

    /// A CSV data set as the session's data.
    fn data(&mut self, element: &Element) {
        let file = reply::known(&self.variables, element.text_of("filename")).unwrap_or_default();
        let names: Vec<String> =
            element.text_of("variableNames").split(',').map(|own| own.trim().to_owned()).collect();
        let names: Vec<String> = names.into_iter().filter(|own| !own.is_empty()).collect();
        let skips = element.is_true("ignoreFirstLine");
        match self.data_of(element, file.trim(), &names, skips) {
            Ok((lines, columns)) => {
                self.draft.settings.data.push(lines);
                for column in columns {
                    let own = self.variables.find(&column);
                    self.draft.settings.columns.push(own);
                }
            }
            Err(why) => self.draft.note(format!("the data set `{}` is left out: {why}", one_line(&file))),
        }
    }

    fn data_of(
        &mut self,
        element: &Element,
        file: &str,
        names: &[String],
        skips: bool,
    ) -> Result<Data, &'static str> {
        let separator = element.text_of("delimiter").trim();
        if !["", ","].contains(&separator) {
            return Err("its values are not separated by commas");
        }
        if !file.to_ascii_lowercase().ends_with(".csv") {
            return Err("its name does not end in `.csv`");
        }
        let text = crate::curl::body::text_of(file, self.load).map_err(|why| match why {
            crate::files::BEYOND => "it is behind the 256 MiB of files that are read for a document",
            _ => "it cannot be read as a text in UTF-8",
        })?;
        let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
        let header: Vec<String> =
            first.split(',').map(|own| own.trim().trim_matches('"').to_owned()).collect();
        let columns = match (names.is_empty(), skips) {
            (true, _) => None,
            (false, true) if names == header => None,
            (false, true) => {
                return Err("its first line is passed over, and names other columns than the variables");
            }
            (false, false) => Some(names),
        };
        let known = columns.unwrap_or(&header).to_vec();
        if known.len() > 1000 || !known.iter().all(|own| crate::text::is_variable(own)) {
            return Err("a column of it has a name that no variable of a session has");
        }
        let mut lines = vec![("file", quoted(&self.wishes.placed(file)))];
        if let Some(columns) = columns {
            lines.push(("columns", quoted_list(columns.iter().map(String::as_str))));
        }
        if element.text_of("recycle").trim() == "false" {
            lines.push(("used-up", quoted("stop")));
        }
        Ok((lines, known))
    }

    /// Samplers of a tree in their order; loops are in it as often as they go round.
    fn tree(
        &mut self,
        tree: &Element,
        outer: &Scope<'_>,
        role: StateRole,
    ) -> Result<Vec<usize>, ImportError> {
        self.settings(tree);
        let scope = outer.within(tree)?;
        let mut steps = Vec::new();
        for (element, below) in tree.pairs() {
            if !element.is_enabled() {
                self.leave_out_one(element, below, "that are disabled, or in what is");
                continue;
            }
            match element.name.as_str() {
                "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                    let scope = match below {
                        Some(below) => scope.within(below)?,
                        None => scope.clone(),
                    };
                    steps.extend(self.sampler(element, &scope, role));
                }
                "GenericController"
                | "TransactionController"
                | "CriticalSectionController"
                | "RecordingController" => {
                    if let Some(below) = below {
                        steps.extend(self.tree(below, &scope, role)?);
                    }
                }
                "LoopController" => steps.extend(self.of_loop(element, below, &scope, role)?),
                "TestAction" if element.text_of("ActionProcessor.action").trim() == PAUSES => {
                    let scope = match below {
                        Some(below) => scope.within(below)?,
                        None => scope.clone(),
                    };
                    // Before an action its timers wait as before a sampler.
                    self.waited.join(threads::pause_of(element, &self.variables));
                    self.wait(&scope);
                }
                name if name.ends_with("Controller") => {
                    let why = "in a controller that chooses (If, While, Random, Once Only, …)";
                    self.leave_out_whole(element, below, why);
                }
                name if name.ends_with("Sampler") || name.ends_with("Sampler2") => {
                    match below {
                        Some(below) => self.wait(&scope.within(below)?),
                        None => self.wait(&scope),
                    }
                    self.leave_out_one(element, below, "of another protocol than HTTP");
                }
                name if is_beside(name) => {}
                _ => self.leave_out_whole(element, below, "in an element that import does not know"),
            }
        }
        match steps.len() > STEPS_MAX {
            true => Err(ImportError::Unbounded(format!("is a JMeter plan of more than {STEPS_MAX} steps"))),
            false => Ok(steps),
        }
    }

    /// The samplers of a loop, as often as it goes round.
    fn of_loop(
        &mut self,
        element: &Element,
        below: Option<&Element>,
        scope: &Scope<'_>,
        role: StateRole,
    ) -> Result<Vec<usize>, ImportError> {
        let times = reply::known(&self.variables, element.text_of("LoopController.loops"));
        let times = times.and_then(|own| own.trim().parse::<usize>().ok()).filter(|own| *own > 0);
        let (times, below) = match (times, below) {
            (Some(times), Some(below)) => (times, below),
            (None, below) => {
                self.leave_out_all(below, "in a loop of no known number");
                return Ok(Vec::new());
            }
            (Some(_), None) => return Ok(Vec::new()),
        };
        let own = self.tree(below, scope, role)?;
        if times > 1 && !self.waited.is_none() {
            self.draft.note(OF_FIRST_ROUND);
        }
        if own.len().saturating_mul(times) > STEPS_MAX {
            return Err(ImportError::Unbounded(format!(
                "is a JMeter plan of more than {STEPS_MAX} steps, which is the most that a path has"
            )));
        }
        Ok(own.repeat(times))
    }

    /// A sampler; the number of its entry.
    fn sampler(&mut self, element: &Element, scope: &Scope<'_>, role: StateRole) -> Option<usize> {
        self.number += 1;
        let name = element.attribute("testname");
        let place = format!("sampler {}, {}", self.number, one_line(name));
        self.wait(scope);
        let made = match sampler::of(element, scope, &self.variables, self.load) {
            Ok(made) => made,
            Err((why, detail)) => {
                let place = if detail.is_empty() { place } else { format!("{place}, {detail}") };
                self.draft.reading.leave_out(why, place);
                return None;
            }
        };
        let mut state = made.state;
        state.name = state_name(name);
        let mut differs = made.differs;
        let mut checks = Checks::default();
        let mut is_whole = true;
        for assertion in &scope.assertions {
            is_whole &= reply::assert(assertion, &self.variables, &mut checks);
        }
        if !checks.has_status() && scope.assertions.iter().any(|own| reply::ignores_status(own)) {
            checks.status(vec!["100-599".to_owned()]);
        }
        checks.write(&mut state);
        differs.extend((!is_whole).then_some(UNASSERTED));
        let extracted: Vec<bool> =
            scope.extractors.iter().map(|own| reply::extract(own, &mut self.variables, &mut state)).collect();
        differs.extend(extracted.contains(&false).then_some(UNEXTRACTED));
        differs.extend((!scope.others.is_empty()).then_some(UNPROCESSED));
        let entry = DraftEntry::new(place, made.server, state).with(differs);
        let number = self.draft.take(DraftEntry { role, pause: self.waited, ..entry })?;
        self.waited = Pause::default();
        self.follows.push((number, made.follows));
        Some(number)
    }

    /// Adds the timers in whose scope a sampler is, also one that is left out.
    fn wait(&mut self, scope: &Scope<'_>) {
        for timer in &scope.timers {
            self.waited.join(threads::pause_of(timer, &self.variables));
        }
    }

    /// Counts an element, or the samplers below it.
    fn leave_out_one(&mut self, element: &Element, below: Option<&Element>, why: &'static str) {
        if element.name.contains("Sampler") {
            self.number += 1;
            let place = format!("sampler {}, {}", self.number, one_line(element.attribute("testname")));
            self.draft.reading.leave_out(why, place);
        }
        self.leave_out_all(below, why);
    }

    fn leave_out_all(&mut self, below: Option<&Element>, why: &'static str) {
        if let Some(below) = below {
            self.leave_out(below, why);
        }
    }

    /// Counts the samplers below an element; itself if there are none, since it may run others.
    fn leave_out_whole(&mut self, element: &Element, below: Option<&Element>, why: &'static str) {
        let before = self.draft.reading.left_out();
        self.leave_out_all(below, why);
        if self.draft.reading.left_out() == before {
            let name = format!("{}, {}", one_line(&element.name), one_line(element.attribute("testname")));
            self.draft.reading.leave_out(why, name);
        }
    }

    fn leave_out(&mut self, tree: &Element, why: &'static str) {
        for (element, below) in tree.pairs() {
            self.leave_out_one(element, below, why);
        }
    }

    /// Cookies and redirects, which a session has for all.
    fn finish(self) {
        let PlanReader { draft, follows, keeps_cookies, .. } = self;
        if !keeps_cookies {
            DraftSettings::set(&mut draft.settings.session, "cookies", "false".to_owned());
        }
        if follows.iter().all(|(_, follows)| !follows) && !follows.is_empty() {
            DraftSettings::set(&mut draft.settings.session, "redirects", "0".to_owned());
        } else {
            // A session follows redirects or does not.
            for (number, _) in follows.iter().filter(|(_, follows)| !follows) {
                draft.differs(*number, "whose redirects are followed, since those of others are");
            }
        }
    }
}

/// Lines of a table of data, and the names of its columns.
type Data = (Vec<(&'static str, String)>, Vec<String>);

/// True if an element is none that runs: it counts for the samplers beside it, or listens to them.
fn is_beside(name: &str) -> bool {
    let ends = [
        "Manager",
        "Config",
        "Timer",
        "Assertion",
        "Extractor",
        "Processor",
        "Listener",
        "Collector",
        "DataSet",
        "Element",
        "Arguments",
        "Summariser",
        "Modifier",
        "Parser",
        "Parameters",
        "Visualizer",
        "Report",
    ];
    ends.iter().any(|end| name.ends_with(end))
}

/// True if there is a sampler in a tree.
fn has_sampler(tree: &Element) -> bool {
    tree.pairs()
        .any(|(element, below)| element.name.starts_with("HTTPSampler") || below.is_some_and(has_sampler))
}
