//! `[[flow]]`: users of several kinds side by side, each kind with a load and with requests of its own.
//!
//! A flow is read as the scenario would be that has its load, its requests and its session, and all else of
//! the scenario around it. A flow without requests and session asks for what the scenario's own say, so that
//! flows can share them.

use super::Scenario;
use super::document::Document;
use super::mistake::Mistake;
use farfield_base::Duration;
use farfield_measure::Threshold;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::session::data::DataOrder;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::Flow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;

/// Characters of a flow's name at most.
const NAME_MAX: usize = 40;

/// `[[flow]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FlowSpec {
    /// The flow's name in results.
    pub name: String,
    /// The flow's model of load.
    #[serde(default)]
    pub load: LoadSpec,
    /// Conditions that its part of the result is compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// The flow's requests; the scenario's if absent, as with the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSetSpec>,
    /// The flow's session; the scenario's if absent, as with the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSpec>,
}

/// A flow as a scenario of its own.
pub(crate) struct FlowScenario {
    /// The flow's name; empty where the scenario has no flows.
    pub name: String,
    pub scenario: Scenario,
    /// The tables that are the flow's own, and where they are.
    own: Option<(usize, &'static [&'static str])>,
}

impl FlowScenario {
    /// The mistake as one of the whole scenario.
    pub fn locate(&self, mistake: Mistake) -> Mistake {
        let Some((number, tables)) = self.own else { return mistake };
        let table = mistake.key.split(['.', '[']).next().unwrap_or_default();
        match tables.contains(&table) {
            true => Mistake { key: format!("flow[{number}].{}", mistake.key), ..mistake },
            false => mistake,
        }
    }
}

impl Scenario {
    /// Each flow as a scenario of its own, in order; the scenario itself where it has none.
    pub(crate) fn flows(&self) -> Vec<FlowScenario> {
        if self.flow.is_empty() {
            return vec![FlowScenario { name: String::new(), scenario: self.clone(), own: None }];
        }
        let of_flow = |(number, flow): (usize, &FlowSpec)| {
            let asks = flow.requests.is_some() || flow.session.is_some();
            let (requests, session) = match asks {
                true => (flow.requests.clone(), flow.session.clone()),
                false => (self.requests.clone(), self.session.clone()),
            };
            let load = flow.load.clone();
            let scenario = Scenario { flow: Vec::new(), load, requests, session, ..self.clone() };
            let tables: &[&str] = if asks { &["load", "requests", "session"] } else { &["load"] };
            FlowScenario { name: flow.name.clone(), scenario, own: Some((number, tables)) }
        };
        self.flow.iter().enumerate().map(of_flow).collect()
    }

    /// The loads of all flows.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &LoadSpec> {
        let own = self.flow.is_empty().then_some(&self.load);
        own.into_iter().chain(self.flow.iter().map(|flow| &flow.load))
    }

    /// The users of all flows, of whom each flow whose users arrive has this many.
    pub(crate) fn users(&self, arriving: u32) -> u32 {
        let users = self.loads().map(|load| load.users().map_or(arriving, NonZeroU32::get));
        users.fold(0, u32::saturating_add)
    }

    /// The time that the stages of a load take, the longest if several have some.
    pub(crate) fn stages_last(&self) -> Option<Duration> {
        self.loads().filter_map(LoadSpec::stages_last).max()
    }

    /// The thresholds and aborts of the whole run, and those of flows.
    pub(crate) fn all_thresholds(&self) -> Vec<Threshold> {
        let own = self.thresholds.iter().chain(&self.aborts).cloned();
        let of_flow = |flow: &FlowSpec| {
            let name = flow.name.clone();
            flow.thresholds.clone().into_iter().map(move |threshold| threshold.of(&name))
        };
        own.chain(self.flow.iter().flat_map(of_flow)).collect()
    }

    /// Refuses flows that cannot be distinguished, and what is not to be had of several.
    pub(crate) fn check_flows(&self) -> Result<(), Mistake> {
        if self.flow.is_empty() {
            return Ok(());
        }
        if self.flow.len() > Flow::MOST {
            return Err(Mistake::at(
                "flow",
                format!("{} flows are more than {}; write fewer", self.flow.len(), Flow::MOST),
            ));
        }
        for (number, flow) in self.flow.iter().enumerate() {
            let at = |key: &str, sentence: String| Mistake::at(format!("flow[{number}].{key}"), sentence);
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            let is_name = !flow.name.is_empty() && flow.name.chars().all(is_plain);
            if !is_name || flow.name.chars().count() > NAME_MAX {
                let sentence = format!(
                    "a name has 1 to {NAME_MAX} letters, digits, `-`, `_` or `.`; write one such as `checkout`"
                );
                return Err(at("name", sentence));
            }
            if self.flow[..number].iter().any(|other| other.name == flow.name) {
                return Err(at("name", format!("there is a flow `{}` already; write another", flow.name)));
            }
            if flow.requests.as_ref().is_some_and(|requests| requests.site().is_some()) {
                let sentence =
                    "a site is one that all flows share: write it under `[requests]`, and leave this out";
                return Err(at("requests", sentence.to_owned()));
            }
            if let Some(scoped) = flow.thresholds.iter().find(|threshold| threshold.scope().is_some()) {
                let sentence =
                    format!("`{scoped}` names a part; write it at the top, or leave the braces out");
                return Err(at("thresholds", sentence));
            }
        }
        self.check_what_flows_share()?;
        self.check_unique_rows()?;
        let counted =
            [("run.requests", self.run.requests.is_some()), ("run.sessions", self.run.sessions.is_some())];
        match counted.into_iter().find(|(_, written)| *written) {
            Some((key, _)) => {
                let sentence = "each flow would end by itself, at this number; with flows write how long, `run.duration`";
                Err(Mistake::at(key, sentence))
            }
            None => Ok(()),
        }
    }

    /// Refuses of loads and sessions what is once a run, and cannot be each flow's.
    fn check_what_flows_share(&self) -> Result<(), Mistake> {
        let of_top = self.flow.iter().filter(|flow| flow.requests.is_none() && flow.session.is_none());
        let sharing = of_top.count();
        if let Some(session) = self.session.as_ref().filter(|_| sharing > 1) {
            let once = [
                ("session.set-up", !session.set_up.is_empty()),
                ("session.tear-down", !session.tear_down.is_empty()),
            ];
            if let Some((key, _)) = once.into_iter().find(|(_, written)| *written) {
                let sentence =
                    "it is once a run, and several flows share the session; write it in a flow of its own";
                return Err(Mistake::at(key, sentence));
            }
            if let Some(place) = session.data.iter().position(|data| data.order == DataOrder::Unique) {
                let sentence = "each flow goes through the rows by itself, and several share the session; write a file for each";
                return Err(Mistake::at(format!("session.data[{place}].order"), sentence));
            }
        }
        let begins_as_recorded = |session: &SessionSpec| {
            session.replay.as_ref().is_some_and(|replay| replay.in_turn == Some(false))
        };
        if sharing > 0 && self.session.as_ref().is_some_and(begins_as_recorded) {
            return Err(Mistake::at(
                "session.replay.in-turn",
                "users of flows begin as their loads say; leave it out",
            ));
        }
        for (number, flow) in self.flow.iter().enumerate() {
            let at = |key: &str, sentence: &str| Err(Mistake::at(format!("flow[{number}].{key}"), sentence));
            if flow.session.as_ref().is_some_and(begins_as_recorded) {
                return at("session.replay.in-turn", "users of flows begin as their loads say; leave it out");
            }
            if matches!(flow.load, LoadSpec::Overload(_)) {
                return at(
                    "load.model",
                    "an overload is judged by other checks than the rest; run it by itself, or write `open`",
                );
            }
        }
        Ok(())
    }

    /// Refuses a file whose rows are unique and that the sessions of several flows have: users of each begin
    /// with its first row.
    fn check_unique_rows(&self) -> Result<(), Mistake> {
        let of_top = self.flow.iter().any(|flow| flow.requests.is_none() && flow.session.is_none());
        let top = self.session.as_ref().filter(|_| of_top).map(|session| ("session".to_owned(), session));
        let own = self.flow.iter().enumerate();
        let own = own.filter_map(|(number, flow)| {
            flow.session.as_ref().map(|session| (format!("flow[{number}].session"), session))
        });
        let mut taken: BTreeSet<&Path> = BTreeSet::new();
        for (key, session) in top.into_iter().chain(own) {
            let unique = session.data.iter().enumerate().filter(|(_, data)| data.order == DataOrder::Unique);
            let files: Vec<(usize, &Path)> =
                unique.map(|(place, data)| (place, data.file.as_path())).collect();
            if let Some((place, _)) = files.iter().find(|(_, file)| taken.contains(file)) {
                let sentence = "another flow goes through the rows of this file, each by itself from the first; write a file for each";
                return Err(Mistake::at(format!("{key}.data[{place}].order"), sentence));
            }
            taken.extend(files.into_iter().map(|(_, file)| file));
        }
        Ok(())
    }

    /// Refuses a load, which the `document` has, beside flows that have their own.
    pub(crate) fn check_load_beside_flows(&self, document: &Document) -> Result<(), Mistake> {
        match !self.flow.is_empty() && document.has_load() {
            true => {
                let sentence = "each `[[flow]]` has a load of its own; write it there, and leave this out";
                Err(Mistake::at("load", sentence))
            }
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use crate::plan::RunPlan;
    use farfield_base::{Duration, Instant};
    use std::path::Path;

    const TWO: &str = "[[flow]]\nname = 'a'\nload = { users = 3 }\n[[flow]]\nname = 'b'\n\
                       load = { model = 'open', arrivals = '5/s' }\nthresholds = ['p99 < 1s']\n\
                       requests = { request = [{ path = '/x' }, { path = '/y' }] }\n";

    fn read(text: &str, flags: &Overlay) -> Result<RunPlan, String> {
        from_text(text, Some(Path::new("s.toml")), flags).map_err(|error| error.to_string())
    }

    #[test]
    fn flows_share_what_they_do_not_write() {
        let text = format!("requests = {{ request = [{{ path = '/z' }}] }}\n{TWO}");
        let plan = read(&text, &Overlay::default()).expect(&text);
        let flows: Vec<_> = plan.flows().collect();
        let of = |nth: usize| (flows[nth].name, flows[nth].request_count, flows[nth].session.is_some());
        assert_eq!([of(0), of(1)], [("a", 1, false), ("b", 2, false)]);
        let thresholds: Vec<String> =
            plan.scenario().all_thresholds().into_iter().map(String::from).collect();
        assert_eq!(thresholds, ["p99{b}< 1s"]);
        assert_eq!(plan.scenario().users(1000), 1003);
        // A kept scenario has the default load as well, and is read again.
        let kept = plan.scenario().to_toml();
        assert_eq!(read(&kept, &Overlay::default()).expect(&kept).scenario(), plan.scenario());
    }

    /// `--set` and `--vary` name a flow by its name.
    #[test]
    fn flags_reach_into_a_flow() {
        let flags = Overlay::default().with("flow.b.load.arrivals", "--set", "80/s");
        let plan = read(TWO, &flags).expect(TWO);
        let rates: Vec<Option<f64>> = plan
            .loads()
            .map(|load| load.expected_arrivals(Instant::ZERO, Instant::ZERO + Duration::from_secs(1)))
            .collect();
        assert_eq!(rates, [None, Some(80.0)]);
        let flags = Overlay::default().with("flow.c.load.arrivals", "--set", "80/s");
        let sentence = read(TWO, &flags).map(|_| ()).expect_err("there is no such flow");
        assert!(sentence.contains("flow"), "{sentence}");
    }

    #[test]
    fn mistakes_in_flows_are_reported_with_file_line_and_key() {
        let check = |text: &str, parts: &[&str]| {
            let sentence = read(text, &Overlay::default()).map(|_| ()).expect_err(text);
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        let flow = |rest: &str| format!("[[flow]]\nname = 'a'\n{rest}\n");
        check(&format!("load = {{ users = 2 }}\n{TWO}"), &["s.toml:1: load: ", "[[flow]]"]);
        check(&format!("run.requests = 9\n{TWO}"), &["s.toml:1: run.requests: ", "run.duration"]);
        check(&format!("run.sessions = 9\n{TWO}"), &["s.toml:1: run.sessions: "]);
        check(&format!("{TWO}{}", flow("")), &["s.toml:10: flow[2].name: ", "`a` already"]);
        check("[[flow]]\nname = ''", &["s.toml:2: flow[0].name: "]);
        check("[[flow]]\nname = 'a/b'", &["s.toml:2: flow[0].name: "]);
        check(&format!("[[flow]]\nname = '{}'", "x".repeat(41)), &["s.toml:2: flow[0].name: "]);
        check("[[flow]]\nload = { users = 2 }", &["s.toml:", "name"]);
        check(&flow("load = { model = 'open', arrivals = '-1/s' }"), &["s.toml:3: flow[0].load", "-1/s"]);
        let session = "session = { state = [{ name = 'x', path = '/${no}' }] }";
        check(&flow(session), &["s.toml:3: flow[0].session.state[0].path: ", "${no}"]);
        let open = format!("load = {{ model = 'open', arrivals = '5/s' }}\n{session}");
        check(&flow(&open), &["s.toml:3: flow[0].load.model: ", "hybrid"]);
        check(&flow("requests = { site = {} }"), &["s.toml:3: flow[0].requests"]);
        check(&flow("thresholds = ['p99{b}<1s']"), &["s.toml:3: flow[0].thresholds", "at the top"]);
        check(
            &flow("load = { model = 'overload', descriptors = 9, timeout = '1s' }"),
            &["flow[0].load.model: "],
        );
        let network = "plane = 'simulated'\nnetwork = { class = [{ name = 'a', rtt = '9ms' }, { name = 'c', rtt = '9ms' }] }\n";
        check(&format!("{network}{TWO}"), &["s.toml:4: flow[0].name: ", "class"]);
        let state = "session = { state = [{ name = 'x', path = '/x' }], set-up = ['x'] }\n";
        let sharing = "[[flow]]\nname = 'a'\n[[flow]]\nname = 'b'\n";
        check(&format!("{state}{sharing}"), &["s.toml:1: session.set-up: ", "once a run"]);
        let with_data = |name: &str, file: &str| {
            format!(
                "[[flow]]\nname = '{name}'\n[flow.session]\nstate = [{{ name = 'x', path = '/x' }}]\n\
                 data = [{{ file = 'users.csv' }}, {{ file = '{file}', order = 'unique' }}]\n"
            )
        };
        let both = |file: &str| format!("{}{}", with_data("a", "names.csv"), with_data("b", file));
        check(&both("names.csv"), &["s.toml:10: flow[1].session.data[1].order: ", "a file for each"]);
        check(&both("others.csv"), &["users.csv"]);
        check(&format!("thresholds = ['p99{{c}}<1s']\n{TWO}"), &["s.toml:1: thresholds", "`a`, `b`"]);
        let many: String = (0..17).map(|nth| format!("[[flow]]\nname = 'f{nth}'\n")).collect();
        check(&many, &["flow: ", "17", "16"]);
        let flags = Overlay::default().with("load.think", "--think", "1s");
        let sentence = read(TWO, &flags).map(|_| ()).expect_err("a load of flags");
        assert!(sentence.starts_with("--think: each `[[flow]]`"), "{sentence}");
    }
}
