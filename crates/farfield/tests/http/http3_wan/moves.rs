//! Clients that leave Wi-Fi for 4G in the middle of a run: QUIC goes on there, TCP breaks, and every request
//! is accounted for.

use super::Far;
use crate::common::wan::{CALM_PACKETS, SHORT};
use crate::common::{Ended, Place};
use farfield_base::{Duration, Instant, Outcome, Sample};

/// The instant at which all clients move.
const MOVE: Instant = Instant::from_ns(1_000_000_000);
/// Users, each on a client of its own.
const USERS: usize = 10;

/// Users on Wi-Fi, 20 ms away, who move to a network 100 ms away.
fn phones() -> String {
    format!(
        "load = {{ model = 'closed', users = {USERS}, think = '50ms' }}\n\
         [network]\nclients = {USERS}\n\
         [[network.class]]\nname = 'wifi'\nrtt = '20ms'\nmigrate = {{ to = '4g', after = '1s' }}\n\
         [[network.class]]\nname = '4g'\nshare = 0\nrtt = '100ms'\n\
         [run]\nwarm-up = '300ms'\nduration = '2s'\ndrain = '10s'\n"
    )
}

fn run(place: &Place, words: &str) -> Ended {
    place.write(
        "phones.toml",
        format!("plane = 'emulated'\norigin.tls = true\ntls.verify = false\n{}", phones()),
    );
    place.run(&format!("phones.toml {words} {CALM_PACKETS} {SHORT}"))
}

/// Requests sent after the move took the new path, those that ended before it the old one.
#[track_caller]
fn took_their_paths(samples: &[Sample]) {
    let (old, new) = (Duration::from_ms(20), Duration::from_ms(100));
    let answered = samples.iter().filter(|own| own.outcome == Outcome::Ok);
    let sent = |own: &Sample| own.sent.instant().expect("it was sent");
    let (before, after): (Vec<&Sample>, Vec<&Sample>) = answered.partition(|own| sent(own) < MOVE);
    assert!(before.len() > USERS && after.len() >= USERS / 2, "{} and {}", before.len(), after.len());
    assert!(before.iter().all(|own| own.service_time() >= Some(old)));
    assert!(before.iter().filter(|own| own.done < MOVE).any(|own| own.service_time() < Some(new)));
    for sample in after {
        assert!(sample.service_time() >= Some(new), "{sample:?}");
    }
}

fn opened(samples: &[Sample]) -> usize {
    samples.iter().filter(|own| own.number == 0).count()
}

#[test]
fn quic_goes_on_where_its_client_goes() {
    if !crate::common::wan::may_build("quic_goes_on_where_its_client_goes") {
        return;
    }
    let place = Place::new();
    let ended = run(&place, "--http 3").exits(0);
    let samples = ended.samples();
    assert!(samples.iter().all(|own| own.outcome == Outcome::Ok), "{samples:?}");
    assert_eq!(opened(&samples), USERS, "no connection is opened again");
    took_their_paths(&samples);
    let network = ended.summary().network.expect("an emulated network");
    assert_eq!(network.moves.migrated, USERS as u64);
    assert_eq!((network.moves.broken, network.clients), (0, USERS as u64));
    assert!(ended.stdout.contains("10 connections of QUIC went on"), "{}", ended.stdout);
}

#[test]
fn tcp_breaks_and_is_opened_again() {
    if !crate::common::wan::may_build("tcp_breaks_and_is_opened_again") {
        return;
    }
    let place = Place::new();
    let ended = run(&place, "--http 2 --set verdict.succeeded=0");
    let samples = ended.samples();
    let broken = samples.iter().filter(|own| own.outcome == Outcome::NetworkChanged).count();
    assert!(
        samples.iter().all(|own| matches!(own.outcome, Outcome::Ok | Outcome::NetworkChanged)),
        "{samples:?}"
    );
    assert_eq!(opened(&samples), 2 * USERS);
    took_their_paths(&samples);
    let network = ended.summary().network.expect("an emulated network");
    assert_eq!((network.moves.migrated, network.moves.broken), (0, USERS as u64));
    assert!(broken <= USERS, "{broken}");
}

/// Caddy, whatever its QUIC makes of a client that moves: what was answered is in its log, and what was not
/// has a name.
#[test]
fn caddy_before_phones() {
    let Some(far) = Far::new("caddy_before_phones") else { return };
    let limits = "[connections]\nrequest-timeout = '1s'\n[tls]\nca = 'ca.pem'\n";
    let ended = far.run(&format!("{}{limits}", phones()), &format!("{SHORT} --set verdict.succeeded=0"));
    let samples = ended.samples();
    let answered = samples.iter().filter(|own| own.outcome == Outcome::Ok).count();
    let named = [Outcome::Ok, Outcome::TimedOut, Outcome::Reset, Outcome::QuicIdle];
    assert!(samples.iter().all(|own| named.contains(&own.outcome)), "{samples:?}");
    let asked = far.asked(answered);
    assert!(asked.values().sum::<usize>() >= answered, "{asked:?} {answered}");
    took_their_paths(&samples);
    assert_eq!(ended.summary().network.expect("an emulated network").moves.migrated, USERS as u64);
}
