//! The version of HTTP as browsers choose it: by ALPN, and HTTP/3 where the server names it, with what
//! becomes of a user whose HTTP/3 nobody answers.

use super::{Answering, TRUSTING, serve};
use crate::common::caddy::free_on_both;
use crate::common::secure::{Authority, SecureNginx, VALID};
use crate::common::{Ended, Place, Signal};
use farfield_base::{AlternativeCounts, EarlyData, Outcome, Sample, SpokenVersion};
use std::net::SocketAddr;

const AUTO: &str = "--http auto --set tls.server-name=shop.test --cacert ca.pem";

/// All was answered, over these versions and no others.
#[track_caller]
fn answered(ended: &Ended, versions: &[SpokenVersion]) -> Vec<Sample> {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!((sample.outcome, sample.status), (Outcome::Ok, 200), "{sample:?}");
        assert!(sample.is_ordered(), "{sample:?}");
        let version = sample.http.version().expect("a version was agreed on");
        assert!(versions.contains(&version), "{sample:?}");
    }
    let counted = ended.summary().http.expect("versions were spoken");
    let named: Vec<&str> = counted.versions.iter().map(|own| own.version.as_str()).collect();
    assert_eq!(named, versions.iter().map(|version| version.name()).collect::<Vec<_>>());
    assert_eq!(counted.unknown, 0);
    samples
}

#[track_caller]
fn alternatives(ended: &Ended) -> AlternativeCounts {
    ended.summary().http.and_then(|own| own.alternatives).expect("alternatives were tried")
}

/// The built-in server, which names the `alternative`, in which OWN stands for its own port.
fn naming(place: &Place, alternative: &str) -> (SocketAddr, crate::common::FarfieldServer) {
    let address = free_on_both();
    let alternative = alternative.replace("OWN", &address.port().to_string());
    (address, place.serve_at(&format!("{address} --tls --config alt-svc='{alternative}'")))
}

/// Each user's first connection is of TCP, and the later ones are of QUIC, once the server has named it.
#[test]
fn users_go_over_to_http3_once_it_is_named() {
    let place = Place::new();
    let (own, served) = naming(&place, "h3=\":OWN\";ma=60");
    let ended = place
        .run(&format!("https://{own}/bytes/1000 -k --http auto --policy one-request -n 40 -c 4"))
        .exits(0);
    let samples = answered(&ended, &[SpokenVersion::Http2, SpokenVersion::Http3]);
    let first = |user| samples.iter().filter(|own| own.user == user).min_by_key(|own| own.sent.instant());
    for user in 0..4 {
        let first = first(user).expect("each user asks");
        let of_tcp =
            samples.iter().filter(|own| own.user == user && own.http.version() == Some(SpokenVersion::Http2));
        assert_eq!((of_tcp.count(), first.http.version()), (1, Some(SpokenVersion::Http2)));
    }
    let found = alternatives(&ended);
    assert_eq!((found.tried, found.secured, found.fallbacks()), (samples.len() as u64 - 4, found.tried, 0));
    assert!(ended.stdout.contains("attempts at HTTP/3 secured"), "{}", ended.stdout);
    // One connection for each user, kept: it stays what it is.
    let ended = place.run(&format!("https://{own}/bytes/1000 -k --http auto -n 40 -c 4")).exits(0);
    let samples = answered(&ended, &[SpokenVersion::Http2]);
    assert_eq!(samples.iter().filter(|own| own.number == 0).count(), 4);
    served.end(Signal::INT);
}

/// Nothing listens where the server says: each user finds out once, and its requests go over TCP.
#[test]
fn a_refused_alternative_costs_no_request() {
    let place = Place::new();
    let (address, served) = naming(&place, &format!("h3=\":{}\"", free_on_both().port()));
    let ended = place
        .run(&format!("https://{address}/bytes/1000 -k --http auto --policy one-request -n 40 -c 4"))
        .exits(0);
    answered(&ended, &[SpokenVersion::Http2]);
    let found = alternatives(&ended);
    assert_eq!((found.tried, found.refused, found.secured, found.overtaken), (4, 4, 0, 0), "{found:?}");
    served.end(Signal::INT);
}

/// Nobody answers there: what is asked goes over TCP after 300 ms, and once only.
#[test]
fn a_silent_alternative_is_overtaken() {
    let (place, silent) = (Place::new(), Answering::with(|_| Vec::new()));
    let (address, served) = naming(&place, &format!("h3=\":{}\"", silent.address.port()));
    let words = format!("https://{address}/bytes/1000 -k --http auto --policy one-request -n 40 -c 4");
    let ended = place.run(&words).exits(0);
    let samples = answered(&ended, &[SpokenVersion::Http2]);
    let found = alternatives(&ended);
    assert_eq!((found.tried, found.overtaken, found.secured), (4, 4, 0), "{found:?}");
    let waited = samples.iter().filter(|own| own.response_time() >= farfield_base::Duration::from_ms(300));
    assert!(waited.count() >= 4, "one request of each user waits");
    // A time limit that ends before is the request's end, by name.
    let ended = place.run(&format!("{words} --set connections.request-timeout=200ms")).exits(0);
    let failed: Vec<_> = ended.samples().into_iter().filter(|own| own.outcome != Outcome::Ok).collect();
    assert!(failed.len() == 4 && failed.iter().all(|own| own.outcome == Outcome::TimedOut), "{failed:?}");
    let found = alternatives(&ended);
    assert_eq!((found.unanswered, found.tried), (4, 4), "{found:?}");
    served.end(Signal::INT);
}

/// Servers that know no HTTP/2, or no HTTP/3 either, and no TLS at all.
#[test]
fn the_server_chooses() {
    let place = Place::new();
    let served = place.serve("");
    let ended = place.run(&format!("{}/bytes/1000 --http auto -n 20 -c 2", served.url)).exits(0);
    answered(&ended, &[SpokenVersion::Http11]);
    served.end(Signal::INT);
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let Some(nginx) = SecureNginx::start("the_server_chooses", &place, "shop.test", "TLSv1.2 TLSv1.3") else {
        return;
    };
    // As many connections as the policy says, once it is known that they have no streams.
    place.write(
        "page.toml",
        format!(
            "target = 'https://{}/'\nhttp = 'auto'\nload = {{ model = 'closed', users = 2 }}\n\
             tls = {{ server-name = 'shop.test', ca = 'ca.pem' }}\nconnections = {{ parallel = 3 }}\n\
             [[requests.request]]\npath = '/4k'\nembedded = ['/4k', '/4k', '/4k', '/4k', '/4k']\n",
            nginx.address
        ),
    );
    let samples = answered(&place.run("page.toml -n 60").exits(0), &[SpokenVersion::Http11]);
    assert_eq!(samples.iter().filter(|own| own.number == 0).count(), 6);
}

/// Caddy names HTTP/3 by itself. Every request is in its log, with the version that its sample has.
#[test]
fn caddy_names_http3() {
    let place = Place::new();
    let Some(caddy) = serve("caddy_names_http3", &place, "") else { return };
    let ended =
        place.run(&format!("https://{}/4k {AUTO} --policy one-request -n 40 -c 4", caddy.address)).exits(0);
    let samples = answered(&ended, &[SpokenVersion::Http2, SpokenVersion::Http3]);
    let logged = caddy.log(&place, samples.len());
    let logged = |proto: &str| logged.iter().filter(|line| line.0 == proto).count();
    let spoken = |version| samples.iter().filter(|own| own.http.version() == Some(version)).count();
    assert_eq!(logged("HTTP/2.0"), spoken(SpokenVersion::Http2));
    assert_eq!(logged("HTTP/3.0"), spoken(SpokenVersion::Http3));
    assert_eq!(spoken(SpokenVersion::Http2), 4);
    caddy.end();
}

fn went(samples: &[Sample], early: EarlyData) -> usize {
    samples.iter().filter(|sample| sample.tls.is_some_and(|tls| tls.early == early)).count()
}

/// Requests within the handshake of QUIC, before the built-in server and Caddy; methods that change
/// something wait.
#[test]
fn requests_go_within_the_handshake_of_quic() {
    let place = Place::new();
    let early = "--policy one-request --set tls.early-data=true -n 60 -c 3";
    let served = place.serve("--tls --config early-data=true");
    let url = format!("{}/bytes/1000 -k --http 3", served.url);
    let ended = place.run(&format!("{url} {early}")).exits(0);
    let samples = answered(&ended, &[SpokenVersion::Http3]);
    let accepted = went(&samples, EarlyData::Accepted);
    assert!(accepted >= 20 && accepted <= samples.len() - 3, "{accepted} of {}", samples.len());
    assert_eq!(went(&samples, EarlyData::Rejected), 0);
    let resumed = |own: &&Sample| own.tls.is_some_and(|tls| tls.resumed);
    assert!(samples.iter().filter(resumed).count() >= accepted);
    let shares = ended.summary().handshakes.and_then(|own| own.early).expect("early data");
    assert!(shares.accepted_share > 0.0 && shares.rejected_share == 0.0, "{shares:?}");
    let posted = place.run(&format!("{url} {early} -X POST --body x")).exits(0);
    assert_eq!(went(&posted.samples(), EarlyData::Unsent), posted.samples().len());
    served.end(Signal::INT);
    let Some(caddy) = serve("requests_go_within_the_handshake_of_quic", &place, "") else { return };
    let ended = place.run(&format!("https://{}/4k {TRUSTING} {early}", caddy.address)).exits(0);
    let samples = answered(&ended, &[SpokenVersion::Http3]);
    let (accepted, rejected) = (went(&samples, EarlyData::Accepted), went(&samples, EarlyData::Rejected));
    assert!(accepted > 0 && rejected == 0, "{accepted} taken, {rejected} passed over");
    assert_eq!(caddy.log(&place, samples.len()).len(), samples.len());
    caddy.end();
}
