//! A scenario that was read, with all that it describes.
//!
//! Everything is resolved here, once: model of load, site, network, replies, sessions. [`RunPlan::prepare`]
//! adds what depends on the machine: addresses, processors, the built-in server.

use crate::activity::{Activity, EncodedActivity};
use crate::document::Document;
use crate::error::ScenarioError;
use crate::flow::FlowScenario;
use crate::host::PlannedHosts;
use crate::inputs::Inputs;
use crate::mistake::Mistake;
use crate::overlay::Overlay;
use crate::plane::PlannedPlane;
use crate::scenario::{OF_A_NETWORK, Scenario};
use crate::tls::PlannedTls;
use farfield_base::Duration;
use farfield_engine::plane::BesideProgram;
use farfield_engine::{Plane, PlaneKind, RunDirectory};
use farfield_monitor::MonitorSettings;
use farfield_testbed::live::{LiveError, Location};
use farfield_traffic::file::Load;
use farfield_traffic::load::LoadModel;
use farfield_traffic::session::SessionSpec;
use farfield_traffic::site::Site;
use farfield_traffic::{LoadSpec, RequestSetSpec};
use farfield_user::{EventPolicy, EventsBy, Policy};
use std::path::Path;

/// A scenario that was read, with all that it describes.
#[derive(Debug)]
pub struct RunPlan {
    pub(crate) scenario: Scenario,
    pub(crate) parts: Parts,
    pub(crate) inputs: Inputs,
    /// True if the document or a flag says how long the warm-up is.
    pub(crate) says_warm_up: bool,
    /// The location of the server of the emulated plane, if it runs already.
    pub(crate) location: Option<Location>,
}

/// The parts of a run that a scenario's tables describe.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The flows of users, one at least.
    pub flows: Vec<PlannedFlow>,
    /// The site that is requested, if one is.
    pub site: Option<Site>,
    /// The plane that carries the bytes.
    pub plane: PlannedPlane,
    /// TLS to the server, if users talk it.
    pub tls: Option<PlannedTls>,
    /// The hosts that users ask beside it.
    pub hosts: PlannedHosts,
    /// The settings of the monitor; its port is not known yet.
    pub monitor: Option<MonitorSettings>,
}

/// The users of one kind: when they act, and what they ask for.
#[derive(Debug)]
pub(crate) struct PlannedFlow {
    /// The users' name; empty where there is one kind alone.
    pub name: String,
    /// The model of load.
    pub load: LoadModel,
    /// The requests.
    pub asked: EncodedActivity,
    /// The number of them that are distinguished.
    pub request_count: u32,
}

/// Demands of a scenario on the users of one kind.
#[derive(Debug, Clone, Copy)]
pub struct AskedOfFlow<'a> {
    /// The users' name; empty where there is one kind alone.
    pub name: &'a str,
    /// The model of load.
    pub load: &'a LoadModel,
    /// The users' requests, as written.
    pub requests: Option<&'a RequestSetSpec>,
    /// The users' session, as written.
    pub session: Option<&'a SessionSpec>,
    /// The number of their requests that are distinguished.
    pub request_count: u32,
}

impl RunPlan {
    /// The plan that the document describes with `flags` laid over it.
    pub(crate) fn of(mut document: Document, flags: &Overlay) -> Result<RunPlan, ScenarioError> {
        document.lay_over(flags)?;
        let says_warm_up = document.contains_below("run", "warm-up");
        let mut scenario = scenario_of(&mut document, flags)?;
        let beside = scenario.check_load_beside_flows(&document);
        beside.map_err(|mistake| document.locate(&mistake))?;
        let mut inputs = Inputs::beside(document.folder());
        let parts = Parts::of(&scenario, flags.once, &mut |path: &Path| inputs.read(path));
        let mut parts = parts.map_err(|mistake| document.locate(&mistake))?;
        if flags.once {
            if let Plane::Emulated(laid_out) = &mut parts.plane {
                laid_out.programs.clear();
            }
            scenario.measure_nothing();
        }
        let location = scenario.location();
        Ok(RunPlan { scenario, parts, inputs, says_warm_up, location })
    }

    /// The scenario as written, with the flags laid over it.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Writes the files of the scenario into `directory`, and returns the scenario that names them there, as
    /// another machine takes it.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn hand_out(self, directory: &RunDirectory) -> Result<String, ScenarioError> {
        let RunPlan { mut scenario, inputs, .. } = self;
        scenario.output.directory = None;
        inputs.keep(&scenario, directory)
    }

    /// Leaves out the run directory that the scenario names.
    pub fn forget_directory(&mut self) {
        self.scenario.output.directory = None;
    }

    /// The scenario as all parts of a run have it, without what may differ between them, before anything is
    /// chosen by the machine; and the digests of the files that are not handed out.
    pub fn shared_by_parts(&self) -> String {
        format!("{}{}", self.scenario.shared_by_parts(), self.inputs.prints_of_uncopied())
    }

    /// True if the document or a flag says how long the warm-up is.
    pub fn says_warm_up(&self) -> bool {
        self.says_warm_up
    }

    /// Gains the privilege that the emulated plane needs, as far as this user may have it; other planes need
    /// none. Call it while the process has one thread. A container's runtime is asked for it here, with the
    /// rights that the user has outside.
    ///
    /// # Errors
    /// If the machine forbids it, or there is no such container.
    pub fn gain_privilege(&mut self) -> Result<(), LiveError> {
        if self.scenario.plane != PlaneKind::Emulated {
            return Ok(());
        }
        match self.location.take() {
            None => farfield_testbed::gain_privilege().map(drop).map_err(LiveError::Namespace),
            Some(location) => {
                let location = self.location.insert(location.resolved()?);
                location.gain_privilege().map(drop)
            }
        }
    }

    /// Gains the privilege for a server as [`gain_privilege`](Self::gain_privilege) does, and for a program
    /// in a namespace of its own. Where the server is in the machine's own namespace, that takes root.
    ///
    /// # Errors
    /// As [`gain_privilege`](Self::gain_privilege).
    pub fn gain_privilege_for_shell(&mut self) -> Result<(), LiveError> {
        self.gain_privilege()?;
        match self.location {
            // Gained already.
            None => Ok(()),
            Some(_) => farfield_testbed::gain_privilege().map(drop).map_err(LiveError::Namespace),
        }
    }

    /// Real programs beside the users.
    pub fn programs(&self) -> &[BesideProgram] {
        match &self.parts.plane {
            Plane::Emulated(laid_out) => &laid_out.programs,
            Plane::Sockets(()) | Plane::Simulated(_) => &[],
        }
    }

    /// The model of load, of each flow of users: one at least.
    pub fn loads(&self) -> impl ExactSizeIterator<Item = &LoadModel> {
        self.parts.flows.iter().map(|flow| &flow.load)
    }

    /// Demands on the users of each flow: one at least.
    pub fn flows(&self) -> impl Iterator<Item = AskedOfFlow<'_>> {
        let scenario = &self.scenario;
        self.parts.flows.iter().enumerate().map(move |(nth, flow)| {
            let own = scenario.flow.get(nth).filter(|own| own.requests.is_some() || own.session.is_some());
            let (requests, session) = match own {
                Some(own) => (own.requests.as_ref(), own.session.as_ref()),
                None => (scenario.requests.as_ref(), scenario.session.as_ref()),
            };
            let PlannedFlow { name, load, request_count, .. } = flow;
            AskedOfFlow { name, load, requests, session, request_count: *request_count }
        })
    }

    /// Clients and links, on a plane that has them.
    pub fn network(&self) -> Option<&farfield_engine::plane::EmulatedNetwork> {
        match &self.parts.plane {
            Plane::Sockets(()) => None,
            Plane::Emulated(laid_out) => Some(&laid_out.network),
            Plane::Simulated(simulated) => Some(&simulated.network),
        }
    }
}

/// The document's tables as a scenario, with the name and the time limit that it leaves open.
fn scenario_of(document: &mut Document, flags: &Overlay) -> Result<Scenario, ScenarioError> {
    let named = document.contains("name");
    let ignored = match flags.text("plane") {
        Some(plane) if plane == PlaneKind::Sockets.name() => {
            OF_A_NETWORK.into_iter().filter(|table| document.remove(table)).collect()
        }
        _ => Vec::new(),
    };
    let mut scenario: Scenario = document.typed()?;
    scenario.ignored = ignored;
    scenario.has_no_end = flags.has_no_end || flags.once;
    if !named && let Some(stem) = document.stem() {
        scenario.name = stem;
    }
    scenario.name_hosts();
    scenario.make_whole();
    if let Some(stages) = scenario.stages_last() {
        scenario.run.measure_stages(stages, document);
    }
    scenario.play_recording(document);
    let timeout = Policy::request_timeout_for(scenario.run.duration);
    scenario.connections.request_timeout.get_or_insert(timeout);
    Ok(scenario)
}

impl Parts {
    /// The parts that `scenario` describes; its files come from `load_file`. With `once` a session runs
    /// once, without think times.
    fn of(scenario: &Scenario, once: bool, load_file: &mut Load<'_>) -> Result<Parts, Mistake> {
        let sessions_arrive = scenario.loads().any(LoadSpec::has_sessions);
        scenario.run.check(scenario.plane, scenario.stages_last(), sessions_arrive)?;
        scenario.check_events()?;
        scenario.check_part()?;
        scenario.check_flows()?;
        scenario.check_http()?;
        scenario.check_hosts()?;
        scenario.check_bounds_on_sessions()?;
        let flows = scenario.flows();
        for flow in &flows {
            flow.scenario.check_sessions().map_err(|mistake| flow.locate(mistake))?;
        }
        let site = scenario.asked_site(load_file)?;
        let plane = scenario.plan_plane(load_file, site.as_ref())?;
        let tls = scenario.plan_tls(load_file)?;
        let hosts = scenario.plan_hosts(load_file)?;
        let planned = |flow: &FlowScenario| {
            let planned = PlannedFlow::of(flow, site.as_ref(), once, load_file);
            planned.map_err(|mistake| flow.locate(mistake))
        };
        let flows = flows.iter().map(planned).collect::<Result<Vec<_>, Mistake>>()?;
        let monitor = if once { None } else { scenario.monitor.resolve(scenario.plane)? };
        Ok(Parts { flows, site, plane, tls, hosts, monitor })
    }
}

impl PlannedFlow {
    fn of(
        flow: &FlowScenario,
        site: Option<&Site>,
        once: bool,
        load_file: &mut Load<'_>,
    ) -> Result<PlannedFlow, Mistake> {
        let FlowScenario { name, scenario, .. } = flow;
        let load = scenario.load.resolve(load_file).map_err(|error| Mistake::in_file("load", &error))?;
        let mut activity = scenario.activity(load_file, site)?;
        if let (true, Activity::Sessions(session)) = (once, &mut activity) {
            session.go_once();
        }
        let request_count = activity.request_count();
        Ok(PlannedFlow { name: name.clone(), load, asked: scenario.asked(activity)?, request_count })
    }
}

impl Scenario {
    /// Checks that users can see something of streams before they leave, and that they are looked for.
    fn check_events(&self) -> Result<(), Mistake> {
        let EventPolicy { by, stall, leave_after, leave_at } = self.events;
        if stall.is_zero() {
            let nothing = "with 0s every reply stalls; write a time such as 500ms";
            return Err(Mistake::at("events.stall", nothing));
        }
        if leave_after.is_some_and(Duration::is_zero) {
            let nothing = "a user who leaves at once sees no event; write a time such as 10s";
            return Err(Mistake::at("events.leave-after", nothing));
        }
        let leaves = [("events.leave-after", leave_after.is_some()), ("events.leave-at", leave_at.is_some())];
        match leaves.into_iter().find(|(_, written)| *written && by == EventsBy::None) {
            Some((key, _)) => {
                let nothing = "with `events.by = \"none\"` no reply has events to leave; write another, or leave this out";
                Err(Mistake::at(key, nothing))
            }
            None => Ok(()),
        }
    }

    /// Decides who asks for the sessions of a recording, where the document leaves it open.
    fn play_recording(&mut self, document: &Document) {
        if let Some(replay) = self.session.as_mut().and_then(|session| session.replay.as_mut()) {
            replay.in_turn.get_or_insert(document.has_load() || !self.flow.is_empty());
        }
        for replay in self.flow.iter_mut().filter_map(|flow| flow.session.as_mut()?.replay.as_mut()) {
            replay.in_turn.get_or_insert(true);
        }
    }

    /// Clears the keys that are about a measured part: `try` runs one session and measures nothing.
    fn measure_nothing(&mut self) {
        (self.thresholds, self.aborts) = (Vec::new(), Vec::new());
        (self.run.requests, self.run.sessions) = (None, None);
        (self.run.cool_down, self.run.finish_sessions) = (Duration::ZERO, Duration::ZERO);
        (self.run.set_aside, self.run.duration_max) = (false, None);
        self.run.warm_up = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use crate::from_text;
    use crate::overlay::Overlay;
    use std::path::Path;

    #[test]
    fn what_cannot_be_had_is_refused_with_its_line() {
        for (text, words) in [
            (
                "plane = 'emulated'\n[run]\nset-aside = true\n",
                "s.toml:3: run.set-aside: seconds are set aside on",
            ),
            (
                "[run]\nset-aside = true\nrequests = 5\n",
                "s.toml:2: run.set-aside: a run that ends by a number",
            ),
            (
                "[run]\nset-aside = true\nduration = '9s'\nduration-max = '8s'\n",
                "s.toml:4: run.duration-max: the longest measured part, 8s, is shorter",
            ),
            ("[run]\nduration-max = '1h'\n", "s.toml:2: run.duration-max: it is for `run.set-aside = true`"),
            ("[events]\nstall = '0s'\n", "s.toml:2: events.stall: with 0s every reply stalls"),
            ("[events]\nleave-after = '0s'\n", "s.toml:2: events.leave-after: a user who leaves at once"),
            ("[events]\nby = 'none'\nleave-at = 3\n", "s.toml:3: events.leave-at: with `events.by"),
        ] {
            let read = from_text(text, Some(Path::new("s.toml")), &Overlay::default());
            let sentence = read.expect_err(text).to_string();
            assert!(sentence.starts_with(words) && !sentence.contains('\n'), "{sentence}");
        }
    }
}
