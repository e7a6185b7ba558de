//! Flows of users side by side in one population, in virtual time.

use crate::scene::{Scene, Stage};
use farfield_base::{Note, Outcome, Sample};
use farfield_user::Reuse;
use std::collections::BTreeSet;

/// Users who think, of two states.
fn browse() -> Scene {
    let load = "{ model = 'closed', users = 3, think = { distribution = 'exponential', mean = '70ms' } }";
    let scene = Scene::of(load).session(
        "[[state]]\nname = 'home'\npath = '/'\nembedded = ['/a']\n[[state]]\nname = 'list'\npath = '/list'",
    );
    Scene { name: "browse", ..scene }
}

/// Arrivals that ask for one of two pages.
fn api() -> Scene {
    let mut scene = Scene::of("{ model = 'open', arrivals = '20/s' }");
    scene.requests = crate::scene::requests("[[request]]\npath = '/x'\n[[request]]\npath = '/y'");
    Scene { name: "api", ..scene }
}

/// Sessions that arrive.
fn pay() -> Scene {
    let load = "{ model = 'hybrid', arrivals = '3/s', think = '30ms' }";
    let scene = Scene::of(load).session("[[state]]\nname = 'pay'\npath = '/pay'");
    Scene { name: "pay", ..scene }
}

/// The scene of these flows.
fn beside(mut flows: Vec<Scene>) -> Scene {
    let mut first = flows.remove(0);
    first.beside = flows;
    first
}

/// The samples whose request is one of these, with the run's numbers taken off.
fn own(stage: &Stage, first: u32, requests: u32) -> Vec<Sample> {
    let own = |sample: &&Sample| (first..first + requests).contains(&sample.request);
    let own: Vec<&Sample> = stage.samples.iter().filter(own).collect();
    let user = own.iter().map(|sample| sample.user).min().unwrap_or(0);
    let alone = |sample: &&Sample| Sample {
        request: sample.request - first,
        user: sample.user - user,
        // These count over the whole run.
        connection: 0,
        session: 0,
        ..**sample
    };
    let mut own: Vec<Sample> = own.iter().map(alone).collect();
    own.sort_by_key(|sample| (sample.due, sample.user, sample.request, sample.number));
    own
}

/// A flow does the same beside any others and in any place among them.
#[test]
fn a_flow_does_what_it_does_alone() {
    let requests = |scene: &Scene| scene.distinct_requests();
    for scene in [browse, api, pay] {
        let alone = own(&scene().play(), 0, requests(&scene()));
        assert!(alone.len() > 20, "{}", alone.len());
        for others in [vec![browse, api, pay], vec![pay, browse, api], vec![api, pay, browse]] {
            let flows: Vec<Scene> = others.iter().map(|flow| flow()).collect();
            let before = flows.iter().take_while(|flow| flow.name != scene().name);
            let first = before.map(requests).sum();
            let together = beside(flows).play();
            assert_eq!(own(&together, first, requests(&scene())), alone, "{}", scene().name);
        }
    }
}

/// Three workers make the samples of one, whatever the numbers of users before a flow.
#[test]
fn workers_share_flows() {
    let all = || {
        let mut all = beside(vec![browse(), api(), pay()]);
        // A visitor goes on with a connection of its worker's.
        all.policy.policy = Reuse::OneRequest;
        all
    };
    let rows = |stages: &[Stage]| {
        let mut rows: Vec<_> = stages
            .iter()
            .flat_map(|stage| &stage.samples)
            .map(|own| (own.due, own.user, own.request, own.session, own.done, own.outcome))
            .collect();
        rows.sort_by_key(|row| (row.0, row.1, row.2));
        rows
    };
    let one = rows(&[all().play()]);
    assert!(one.len() > 300 && one.iter().all(|row| row.5 == Outcome::Ok), "{}", one.len());
    for workers in [2, 3, 7] {
        let shares: Vec<Stage> = (0..workers).map(|worker| all().play_share(worker, workers)).collect();
        assert_eq!(rows(&shares), one, "{workers} workers");
        for (worker, stage) in shares.iter().enumerate() {
            let mut users = stage.samples.iter().map(|own| own.user);
            assert!(users.all(|user| user as usize % workers as usize == worker), "as clients are dealt out");
        }
    }
}

/// Users, sessions and connections of all flows have numbers of their own.
#[test]
fn numbers_are_of_one_flow_each() {
    let stage = beside(vec![browse(), api(), pay()]).play();
    let [of_browse, of_api] = [browse(), api()].map(|scene| scene.distinct_requests());
    let flow = |request: u32| u32::from(request >= of_browse) + u32::from(request >= of_browse + of_api);
    fn distinct<T: Ord + Copy>(rows: &[(T, u32)]) -> bool {
        let pairs: BTreeSet<(T, u32)> = rows.iter().copied().collect();
        let keys: BTreeSet<T> = rows.iter().map(|(key, _)| *key).collect();
        pairs.len() == keys.len()
    }
    let rows = |key: fn(&Sample) -> u32| -> Vec<(u32, u32)> {
        stage.samples.iter().map(|own| (key(own), flow(own.request))).collect()
    };
    assert!(distinct(&rows(|own| own.user)), "users");
    assert!(distinct(&rows(|own| own.connection)), "connections");
    let in_sessions: Vec<(u32, u32)> =
        rows(|own| own.session).into_iter().filter(|(session, _)| *session != Sample::NO_SESSION).collect();
    assert!(distinct(&in_sessions), "sessions");
    // Sessions are noted under the numbers that samples have.
    let noted: BTreeSet<(u32, u32)> = stage
        .notes
        .iter()
        .filter_map(|note| match note {
            Note::Begun(begin) => Some((begin.user, begin.session)),
            _ => None,
        })
        .collect();
    let sampled: BTreeSet<(u32, u32)> = stage
        .samples
        .iter()
        .filter(|own| own.session != Sample::NO_SESSION)
        .map(|own| (own.user, own.session))
        .collect();
    assert_eq!(noted, sampled);
}
