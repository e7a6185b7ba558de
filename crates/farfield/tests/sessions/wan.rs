//! Sessions with dependencies across the emulated network, before a shop that refuses users who do not bring
//! what they were given: clients of two classes, some of whose packets are lost.

use crate::common::wan::Wan;
use crate::common::{Ended, Place, poll};
use crate::shop::{Answered, Shop, VISIT, users};
use farfield_base::{Duration, Outcome, Sample};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// The variable with the shop's address, in the environment of this program as a process that serves.
const LISTEN: &str = "FARFIELD_SHOP";

/// A shop, in the namespace of the run's server: this program again.
fn shop_in_a_place(test: &str) -> Option<Wan> {
    let own = std::env::current_exe().expect("this program");
    let own = own.to_str().expect("a plain path").to_owned();
    let words = ["--exact", "wan::a_shop_tells_what_it_answered", "--nocapture"].map(str::to_owned);
    Wan::of(test, [own].into_iter().chain(words).collect())
}

/// As a process of its own, the shop logs who sent each request, and how it ended. All other tests here need
/// that.
#[test]
fn a_shop_tells_what_it_answered() {
    if let Ok(address) = std::env::var(LISTEN) {
        Shop::serve(&address);
    }
    let place = Place::new();
    let log = fs::File::create(place.path("shop.log")).expect("own file");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "wan::a_shop_tells_what_it_answered", "--nocapture"]).env(LISTEN, "127.0.0.1:0");
    command.stdout(log).stderr(Stdio::null());
    let _process = crate::common::Process::start(&mut command, &place);
    let reported = || fs::read_to_string(place.path("shop.log")).unwrap_or_default();
    let address = poll("the shop to open", || {
        let reported = reported();
        reported.lines().find_map(|line| line.strip_prefix("open at ").map(str::to_owned))
    });
    let words = format!("run http://{address}/cart -X POST --body x -c 1 -n 1 -t 1 --warm-up 0s -q -o run");
    // A run in which nothing succeeds is not valid.
    place.farfield(&words).exits(3);
    let client = IpAddr::from([127, 0, 0, 1]);
    let (method, path, said) = ("POST".to_owned(), "/cart".to_owned(), "no token".to_owned());
    assert_eq!(Answered::read(&reported()), [Answered { client, status: 403, method, path, said }]);
}

/// People on DSL, and people whose path loses packets both ways.
const PEOPLE: &str = "
[network]
clients = 60
[[network.class]]
name = 'dsl'
access = 'dsl'
addresses = '198.18.0.0/16'
[[network.class]]
name = 'lossy'
up = { delay = '20ms', loss = '3%' }
down = { delay = '20ms', rate = '12Mbit', loss = '3%' }
addresses = '198.19.0.0/16'
";

/// Sixty users who visit the shop once and again, until 4 s are over; those that are under way then have time
/// to finish.
const LOAD: &str = "
load = { model = 'closed', users = 60, think = '100ms', ramp = '500ms' }
server.environment = { FARFIELD_SHOP = '0.0.0.0:80' }
run = { warm-up = '0s', duration = '4s', drain = '30s' }
";

const CLASSES: [(&str, Duration); 2] = [("dsl", Duration::from_ms(20)), ("lossy", Duration::from_ms(40))];

/// The paths of the states, in order, as far as they are the same for all; then that of what the first
/// embeds.
const PATHS: [(&str, u32); 6] =
    [("/", 0), ("/login", 1), ("/login/check", 2), ("/api/items", 3), ("/cart", 4), ("/logo.png", 6)];

fn visit(wan: &Wan, session: &str) -> (Ended, Vec<Answered>) {
    wan.place.write("users.csv", users(2000));
    let ended = wan.run(&format!("{LOAD}{session}{PEOPLE}"), "");
    let reported = fs::read_to_string(ended.directory.join("server.log")).expect("the shop's own words");
    (ended, Answered::read(&reported))
}

#[test]
fn visits_from_far_away_bring_what_they_were_given() {
    let test = "visits_from_far_away_bring_what_they_were_given";
    let Some(wan) = shop_in_a_place(test) else { return };
    let (ended, answered) = visit(&wan, &VISIT.replace("PAGE-LOAD", "listed"));
    let ended = ended.exits(0);
    let samples = ended.samples();
    let refused: Vec<_> = answered.iter().filter(|answered| answered.status == 403).collect();
    assert_eq!(refused, Vec::<&Answered>::new());
    for sample in &samples {
        let (_, round_trip) = CLASSES[usize::from(sample.class)];
        assert!(sample.outcome == Outcome::Ok, "{sample:?}");
        assert!(sample.service_time().is_some_and(|took| took >= round_trip), "{sample:?}");
    }
    of_each_state(&samples, &answered);
    let sessions = ended.summary().sessions.expect("users are in sessions");
    assert_eq!((sessions.begun, sessions.broken_off), (sessions.completed + sessions.unfinished, 0));
    let numbers: BTreeSet<u32> = samples.iter().map(|sample| sample.session).collect();
    assert!(sessions.completed >= 60 && numbers.len() as u64 == sessions.begun, "{sessions:?}");
    let orders: Vec<&Answered> = answered.iter().filter(|answered| !answered.said.is_empty()).collect();
    let buyers: BTreeSet<&str> = orders.iter().filter_map(|order| order.said.split(" for ").nth(1)).collect();
    assert!(orders.len() >= 60, "{} orders", orders.len());
    assert_eq!(orders.len(), buyers.len(), "each row of data is used once");
    for (number, (name, _)) in (18..).zip(CLASSES) {
        let of_class =
            orders.iter().filter(|order| matches!(order.client, IpAddr::V4(v4) if v4.octets()[1] == number));
        assert!(of_class.count() > 20, "{name}");
    }
    let network = ended.summary().network.expect("an emulated network");
    assert!(network.drops.lost > 20 && network.packets.overruns == 0, "{:?}", network.drops);
}

/// The shop's requests are those of the samples, state by state.
#[track_caller]
fn of_each_state(samples: &[Sample], answered: &[Answered]) {
    let sampled = |request: u32, redirect: bool| {
        samples
            .iter()
            .filter(|sample| sample.request == request && (sample.status == 303) == redirect)
            .count()
    };
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    answered.iter().for_each(|answered| *asked.entry(&answered.path).or_default() += 1);
    for (path, request) in PATHS {
        let redirect = path == "/login/check";
        assert_eq!((path, sampled(request, redirect)), (path, asked[path]));
        assert!(asked[path] > 60, "{path}: {}", asked[path]);
    }
    assert_eq!(sampled(2, false), asked["/login/account"], "where the login leads");
    let ordered: usize =
        asked.iter().filter(|(path, _)| path.ends_with("/order")).map(|(_, times)| times).sum();
    assert_eq!(sampled(5, false), ordered);
}

/// A user who forgets one thing is refused there, across losses too, and nothing is bought.
#[test]
fn who_forgets_something_far_away_is_refused() {
    let test = "who_forgets_something_far_away_is_refused";
    let Some(wan) = shop_in_a_place(test) else { return };
    for (what, from, to, state, why) in [
        ("cookies", "[session]", "[session]\ncookies = false", 1, "no visitor's cookie"),
        (
            "the hidden field",
            "pass = \"${pass}\"",
            "pass = \"${pass}\", csrf = \"recorded\"",
            2,
            "the hidden field is another",
        ),
        (
            "the token",
            "\"${token}\" }\nextract.item",
            "\"none\" }\nextract.item",
            3,
            "a token that nobody has",
        ),
    ] {
        assert!(VISIT.contains(from), "{from}");
        let forgetful = VISIT.replace("PAGE-LOAD", "listed").replace(from, to);
        let (ended, answered) = visit(&wan, &forgetful);
        let samples = ended.exits(0).samples();
        let failed: BTreeSet<(u32, Outcome)> = samples
            .iter()
            .filter(|sample| sample.outcome != Outcome::Ok)
            .map(|sample| (sample.request, sample.outcome))
            .collect();
        assert_eq!(failed, BTreeSet::from([(state, Outcome::Status4xx)]), "{what}");
        let refused: Vec<&Answered> = answered.iter().filter(|answered| answered.status == 403).collect();
        assert!(
            refused.len() >= 60 && refused.iter().all(|answered| answered.said == why),
            "{what}: {refused:?}"
        );
        assert!(!answered.iter().any(|answered| answered.path.ends_with("/order")), "{what}");
    }
}

/// A browser's archive asked for again from far away: its pages with what they embed, each at its instant.
#[test]
fn an_archive_is_asked_for_again_from_far_away() {
    let test = "an_archive_is_asked_for_again_from_far_away";
    let Some(wan) = shop_in_a_place(test) else { return };
    let entry = |at: &str, page: &str, path: &str| {
        format!(
            r#"{{"startedDateTime": "2024-05-01T12:00:{at}Z", "time": 20, "pageref": "{page}",
               "request": {{"method": "GET", "url": "https://shop.example{path}", "headers": []}}}}"#
        )
    };
    let entries = [
        entry("00.000", "p1", "/"),
        entry("00.050", "p1", "/a.css"),
        entry("00.060", "p1", "/b.png"),
        entry("01.500", "p2", "/"),
        entry("01.550", "p2", "/c.png"),
    ];
    wan.place
        .write("it.har", format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.join(",")));
    let scenario = "server.environment = { FARFIELD_SHOP = '0.0.0.0:80' }\nsession.replay = { file = 'it.har' }\n\
                    run = { warm-up = '0s', duration = '3s' }\nnetwork = { clients = 1, access = 'dsl' }\n";
    let ended = wan.run(scenario, "").exits(0);
    let reported = fs::read_to_string(ended.directory.join("server.log")).expect("the shop's own words");
    let paths: Vec<String> = Answered::read(&reported).into_iter().map(|answered| answered.path).collect();
    assert_eq!(paths, ["/", "/a.css", "/b.png", "/", "/c.png"]);
    let mut samples = ended.samples();
    samples.sort_by_key(|sample| sample.due);
    assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok), "{samples:?}");
    let begun = samples.iter().filter(|sample| sample.page.begins()).map(|sample| sample.due.as_ns());
    assert_eq!(begun.collect::<Vec<_>>(), [0, 1_500_000_000], "at its own instants");
}
