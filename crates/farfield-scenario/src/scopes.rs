//! Thresholds of a class of clients, of a state of sessions or of a path, checked when the scenario is read.

use super::Scenario;
use super::flow::FlowScenario;
use super::mistake::Mistake;
use farfield_base::Window;
use farfield_engine::PlaneKind;
use farfield_measure::Threshold;
use farfield_measure::paths::PathNames;
use farfield_measure::states::States;

/// Names that a threshold can be of.
struct Scopes<'a> {
    /// Classes of clients.
    classes: &'a [&'a str],
    /// States of sessions, each behind the name of its flow where there are flows.
    states: Vec<String>,
    flows: Vec<&'a str>,
    /// Hosts; none where users ask the target alone.
    hosts: Vec<String>,
    /// Stages that lie in the measured part; of flows none are counted.
    stages: Vec<String>,
    /// The plane has classes of clients.
    has_classes: bool,
    /// Requests are of states, and not counted by path.
    counts_states: bool,
}

impl Scenario {
    /// Checks that each threshold of a class or a state names one that there is, of which its metric can be
    /// measured.
    pub(crate) fn check_scopes(&self, classes: &[&str]) -> Result<(), Mistake> {
        let scopes = Scopes::of(self, classes);
        scopes.check_flows()?;
        scopes.check_hosts()?;
        for (key, list) in [("thresholds", &self.thresholds), ("aborts", &self.aborts)] {
            for threshold in list {
                scopes.check(threshold).map_err(|sentence| Mistake::at(key, sentence))?;
            }
        }
        Ok(())
    }

    /// Checks that each threshold of a path names one that `paths` has, those of the requests.
    pub(crate) fn check_paths(&self, paths: &PathNames) -> Result<(), String> {
        let all = self.thresholds.iter().chain(&self.aborts);
        let mut of_paths =
            all.filter_map(|own| Some((own, own.scope().filter(|name| name.starts_with('/'))?)));
        let Some((threshold, path)) = of_paths.find(|(_, path)| !paths.has(path)) else { return Ok(()) };
        let why = if path.chars().count() > PathNames::LENGTH_MAX {
            format!("has more than {0} characters; paths are counted by the first {0}", PathNames::LENGTH_MAX)
        } else if paths.is_full() {
            format!("is none of the first {} paths, which are counted separately", PathNames::MAX)
        } else {
            "no request is for".to_owned()
        };
        Err(format!("`{threshold}` is of the path `{path}`, which {why}"))
    }
}

impl<'a> Scopes<'a> {
    fn of(scenario: &'a Scenario, classes: &'a [&'a str]) -> Scopes<'a> {
        let hosts = if scenario.host.is_empty() { Vec::new() } else { scenario.host_names().collect() };
        Scopes {
            classes,
            states: states_of(scenario),
            flows: scenario.flow.iter().map(|flow| flow.name.as_str()).collect(),
            hosts,
            stages: stages_of(scenario),
            has_classes: scenario.plane != PlaneKind::Sockets,
            counts_states: scenario.session.as_ref().is_some_and(|session| session.replay.is_none()),
        }
    }

    fn is_class(&self, name: &str) -> bool {
        self.classes.contains(&name)
    }

    fn is_state(&self, name: &str) -> bool {
        self.states.iter().any(|state| state == name)
    }

    fn is_stage(&self, name: &str) -> bool {
        self.stages.iter().any(|stage| stage == name)
    }

    /// Refuses flows that are called as a class of clients is.
    fn check_flows(&self) -> Result<(), Mistake> {
        let Some(number) = self.flows.iter().position(|flow| self.is_class(flow)) else { return Ok(()) };
        let sentence = format!(
            "`{}` is a flow, and a class of clients; give one of both another name",
            self.flows[number]
        );
        Err(Mistake::at(format!("flow[{number}].name"), sentence))
    }

    /// Refuses hosts that are called as another part of the result is.
    fn check_hosts(&self) -> Result<(), Mistake> {
        let is_another = |name: &str| {
            self.flows.contains(&name) || self.is_class(name) || self.is_state(name) || self.is_stage(name)
        };
        let Some(place) = self.hosts.iter().position(|name| is_another(name)) else { return Ok(()) };
        let sentence = format!(
            "`{}` is a host, and a class of clients, a flow, a stage or a state; give one of both another name",
            self.hosts[place]
        );
        let key = place.checked_sub(1).map_or("host".to_owned(), |number| format!("host[{number}].name"));
        Err(Mistake::at(key, sentence))
    }

    fn check(&self, threshold: &Threshold) -> Result<(), String> {
        let Some(name) = threshold.scope() else { return Ok(()) };
        if self.hosts.iter().any(|host| host == name) || self.flows.contains(&name) {
            return Ok(());
        }
        let is_class = self.is_class(name);
        if self.is_stage(name) {
            return match is_class || self.is_state(name) {
                true => Err(format!(
                    "`{name}` is a stage of the load, and a class of clients or a state; give one of both another name"
                )),
                false => Ok(()),
            };
        }
        if name.starts_with('/') && !self.is_state(name) && !is_class {
            return self.check_path(threshold, name);
        }
        let Some(place) = self.states.iter().position(|state| state == name) else {
            return match is_class {
                true => Ok(()),
                false => Err(self.several(threshold, name).unwrap_or_else(|| self.no_scope(name))),
            };
        };
        if is_class {
            return Err(format!("`{name}` is a class of clients and a state; give one of both another name"));
        }
        if place >= States::MAX {
            return Err(format!(
                "only the first {} states are distinguished, and `{name}` is number {}; put it further ahead",
                States::MAX,
                place + 1
            ));
        }
        if !threshold.fits_states() {
            return Err(format!(
                "`{threshold}` is of the state `{name}`; of a state there are its response time, errors, requests, \
                 outcomes and status codes"
            ));
        }
        Ok(())
    }

    /// Checks a threshold of a path. Which paths there are is known once the requests are read.
    fn check_path(&self, threshold: &Threshold, path: &str) -> Result<(), String> {
        if self.counts_states {
            return Err(format!(
                "`{threshold}` is of the path `{path}`, and requests of sessions are counted by state; name a state"
            ));
        }
        if !threshold.fits_paths() {
            return Err(format!(
                "`{threshold}` is of the path `{path}`; of a path there are errors, requests, outcomes and status codes"
            ));
        }
        match path.contains(['?', '#']) {
            true => {
                Err(format!("`{threshold}`: paths are counted without their queries; leave the query out"))
            }
            false => Ok(()),
        }
    }

    /// The sentence about a scope that is made of several names that there are, however they are put
    /// together.
    fn several(&self, threshold: &Threshold, scope: &str) -> Option<String> {
        let parts = scope.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')));
        let names: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let known = |name: &&str| self.is_class(name) || self.is_state(name);
        (names.len() > 1 && names.iter().all(known)).then(|| {
            let each: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!(
                "`{threshold}` is of {} at once; a threshold is of one class or of one state: write one for each",
                each.join(" and ")
            )
        })
    }

    /// The sentence about a name that nothing has.
    fn no_scope(&self, name: &str) -> String {
        const BETWEEN: &str = "`, `";
        let mut there = Vec::new();
        match self.classes {
            [] if !self.has_classes => there.push("the sockets plane has no classes".to_owned()),
            [] => {}
            classes => there.push(format!("the classes are `{}`", classes.join(BETWEEN))),
        }
        match &self.states[..] {
            [] => there.push("there is no `[[session.state]]`".to_owned()),
            states => there.push(format!("the states are `{}`", states.join(BETWEEN))),
        }
        if !self.flows.is_empty() {
            there.push(format!("the flows are `{}`", self.flows.join(BETWEEN)));
        }
        if !self.stages.is_empty() {
            there.push(format!("the stages are `{}`", self.stages.join(BETWEEN)));
        }
        format!("there is no class of clients and no state `{name}`: {}", there.join("; "))
    }
}

/// The names of the states of sessions, each behind the name of its flow where there are flows.
fn states_of(scenario: &Scenario) -> Vec<String> {
    let of_flow = |FlowScenario { name, scenario, .. }: FlowScenario| {
        let states = scenario.session.into_iter().flat_map(|session| session.state);
        let named = move |state: &str| match name.is_empty() {
            true => state.to_owned(),
            false => format!("{name}/{state}"),
        };
        states.map(move |state| named(state.name.as_str())).collect::<Vec<_>>()
    };
    scenario.flows().into_iter().flat_map(of_flow).collect()
}

/// The names of the stages that lie in the measured part; of flows none are counted.
fn stages_of(scenario: &Scenario) -> Vec<String> {
    if !scenario.flow.is_empty() {
        return Vec::new();
    }
    let measure_from = scenario.run.measured_from();
    let window = Window { measure_from, measure_to: measure_from + scenario.run.measured_part() };
    let spans = scenario.load.stage_spans();
    spans.iter().filter_map(|stage| stage.within(window)).map(|stage| stage.name).collect()
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use farfield_measure::paths::PathNames;
    use std::path::Path;

    fn read(text: &str) -> Result<(), String> {
        let states = "[[session.state]]\nname = 'home'\npath = '/'\n[[session.state]]\nname = 'login'\npath = '/login'\n";
        let read = from_text(&format!("{text}\n{states}"), Some(Path::new("s.toml")), &Overlay::default());
        read.map(drop).map_err(|problem| problem.to_string())
    }

    #[test]
    fn thresholds_of_states_are_read_beside_others() {
        let text = "thresholds = ['p99{login}<1s', 'errors{home}<1%', 'p99<2s']\naborts = ['check-failed{login}<10']";
        assert_eq!(read(text), Ok(()));
        assert_eq!(read(&format!("plane = 'simulated'\n{text}")), Ok(()));
    }

    #[test]
    fn thresholds_of_paths_are_of_requests_that_there_are() {
        let read = |threshold: &str| {
            let text = format!("target = 'http://127.0.0.1:1/a'\nthresholds = ['{threshold}']");
            from_text(&text, Some(Path::new("s.toml")), &Overlay::default())
        };
        assert!(read("status.404{/a}<1%").is_ok() && read("errors{/a}<1%").is_ok());
        let refused = |threshold: &str| read(threshold).map(drop).expect_err(threshold).to_string();
        assert!(refused("p99{/a}<1s").contains("errors, requests, outcomes and status codes"));
        assert!(refused("status.404{/a?b}==0").contains("without their queries"));
        let plan = read("status.404{/b}<1%").expect("which paths there are is known later");
        let paths = PathNames::of(["/a", "/c?d"]);
        let error = plan.scenario().check_paths(&paths).expect_err("no such path");
        assert!(error.contains("`/b`, which no request is for"), "{error}");
        assert_eq!(plan.scenario().check_paths(&PathNames::of(["/b?c"])), Ok(()));
        let long = format!("/{}", "b".repeat(250));
        let paths = PathNames::of([long.as_str()]);
        let plan = |path: &str| read(&format!("status.404{{{path}}}<1%")).expect("a path");
        let error = plan(&long).scenario().check_paths(&paths).expect_err("it is longer than what is kept");
        assert!(error.contains("counted by the first 200"), "{error}");
        assert_eq!(plan(&long[..200]).scenario().check_paths(&paths), Ok(()));
    }

    #[test]
    fn a_state_that_there_is_not_is_refused_with_those_that_there_are() {
        let check = |text: &str, parts: &[&str]| {
            let sentence = read(text).expect_err(text);
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        };
        check(
            "thresholds = ['p99{lgin}<1s']",
            &["s.toml:1: thresholds: ", "no state `lgin`", "no classes", "`home`, `login`"],
        );
        check("aborts = ['errors{buy}<1%']", &["s.toml:1: aborts: ", "`buy`"]);
        check(
            "thresholds = ['rate{login}>5']",
            &["s.toml:1: thresholds: ", "rate{login}", "response time, errors"],
        );
        check("thresholds = ['p99(connect){login}<1s']", &["response time, errors"]);
        let class = "[network]\nclass = [{ name = 'login', access = 'dsl' }]";
        check(
            &format!("plane = 'simulated'\nthresholds = ['p99{{login}}<1s']\n{class}"),
            &["s.toml:2: thresholds: ", "a class of clients and a state"],
        );
        for both in ["dsl,login", "login}{dsl", "dsl & login", "home,login"] {
            let class = "[network]\nclass = [{ name = 'dsl', access = 'dsl' }]";
            check(
                &format!("plane = 'simulated'\nthresholds = ['p99{{{both}}}<1s']\n{class}"),
                &[
                    "s.toml:2: thresholds: ",
                    "`login`",
                    "at once",
                    "one class or of one state: write one for each",
                ],
            );
        }
        check("thresholds = ['status.404{/login}<1']", &["counted by state"]);
        let many: String =
            (0..101).map(|n| format!("[[session.state]]\nname = 's{n}'\npath = '/'\n")).collect();
        let text = format!("thresholds = ['p99{{s100}}<1s']\n{many}");
        check(&text, &["the first 100 states", "number 101"]);
    }
}
