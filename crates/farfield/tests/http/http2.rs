//! HTTP/2 as people run it: against nginx over TLS and by prior knowledge, on sockets and across the WAN, and
//! against servers that do not speak it.

use crate::common::nginx::Nginx;
use crate::common::relay::words_closing_first;
use crate::common::secure::{self, Authority, BOTH, VALID};
use crate::common::wan::{CALM_PACKETS, DebianServer, Wan, find, may_build};
use crate::common::{Ended, Place, count, poll};
use crate::shop::{Shop, VISIT, users};
use farfield_base::{Duration, Outcome, Sample};
use std::fs;
use std::net::{SocketAddr, TcpListener};

const BODY: usize = 4096;

/// nginx that speaks HTTP/2 by prior knowledge on a port of its own, and HTTP/1 on another; its log has the
/// version, the connection and the request.
struct Server {
    nginx: Nginx,
    address: SocketAddr,
}

fn serve(test: &str, place: &Place, directives: &str) -> Option<Server> {
    let program = find(test, "nginx")?;
    for name in ["page", "a", "b", "c", "d", "e", "f"] {
        place.write(&format!("www/{name}"), vec![b'x'; BODY]);
    }
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let log = "log_format own '$server_protocol $connection $request_length $request_uri'; \
               access_log HOME/access.log own;";
    let own = format!("listen {free} http2; root HOME/www; {directives}");
    let nginx = Nginx::start(&program, place, log, &own);
    Some(Server { nginx, address: free })
}

/// The log, once it has as many lines as there are to be, and no line for a request that nobody made.
fn log(place: &Place, expected: usize) -> Vec<String> {
    let path = place.path("access.log");
    let text = || fs::read_to_string(&path).unwrap_or_default();
    poll("nginx to log all requests", || (text().lines().count() >= expected).then_some(()));
    text().lines().map(str::to_owned).collect()
}

/// All was answered, by one stream each, whose numbers follow from the requests'.
#[track_caller]
fn answered(ended: &Ended) -> Vec<Sample> {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!((sample.outcome, sample.status), (Outcome::Ok, 200), "{sample:?}");
        let stream = sample.http.stream().expect("a stream");
        assert_eq!(stream, 2 * sample.number + 1, "{sample:?}");
    }
    let summary = ended.summary();
    let requests = summary.http2.expect("requests over HTTP/2").requests;
    assert!(requests > 0 && requests <= samples.len() as u64, "{requests} of {}", samples.len());
    samples
}

#[test]
fn each_request_by_prior_knowledge_is_in_nginxs_log() {
    let test = "each_request_by_prior_knowledge_is_in_nginxs_log";
    let place = Place::new();
    let Some(server) = serve(test, &place, "") else { return };
    let url = format!("http://{}/page --http 2", server.address);
    let ended = place.run(&format!("{url} -n 400 -c 4")).exits(0);
    let samples = answered(&ended);
    assert!(samples.iter().all(|sample| sample.body_bytes == BODY as u64));
    assert!(ended.stdout.contains("400 requests over HTTP/2"), "{}", ended.stdout);
    let logged = log(&place, samples.len());
    assert_eq!(logged.len(), samples.len());
    assert!(logged.iter().all(|line| line.starts_with("HTTP/2.0 ") && line.ends_with(" /page")));
    // Streams at once on one connection, as many as asked for.
    let more = "--policy multiplexed --set connections.streams=20 -n 400 -c 1";
    let samples = answered(&place.run(&format!("{url} {more}")).exits(0));
    assert!(samples.iter().all(|sample| sample.connection == samples[0].connection));
    let logged = log(&place, 400 + samples.len());
    assert_eq!(logged.len(), 400 + samples.len());
    server.nginx.end();
}

/// A page and its objects take one connection for each user.
#[test]
fn pages_take_one_connection() {
    let place = Place::new();
    let Some(server) = serve("pages_take_one_connection", &place, "") else { return };
    let url = format!("http://{}/", server.address);
    place.write(
        "page.toml",
        format!(
            "target = '{url}'\nhttp = '2'\nload = {{ model = 'closed', users = 3 }}\n\
             [[requests.request]]\npath = '/page'\n\
             embedded = ['/a', '/b', '/c', '/d', '/e', '/f']\n"
        ),
    );
    let ended = place.run("page.toml -n 210").exits(0);
    let samples = answered(&ended);
    let opened = samples.iter().filter(|sample| sample.number == 0).count();
    assert_eq!((opened, samples.len() % 7), (3, 0));
    // The objects of a page are due with its own reply, and leave together.
    let first = samples.iter().filter(|sample| (1..7).contains(&sample.number));
    let of_first: Vec<_> = first.filter(|sample| sample.connection == samples[0].connection).collect();
    assert!(of_first.iter().all(|sample| sample.sent == of_first[0].sent), "{of_first:?}");
    let logged = log(&place, samples.len());
    assert_eq!(logged.len(), samples.len());
    server.nginx.end();
}

/// A server that ends connections in good order, with GOAWAY, loses no request and sees none twice.
#[test]
fn connections_that_go_away_lose_nothing() {
    let place = Place::new();
    // The last requests wait for more connections than a refused stream is sent again.
    let directives = "keepalive_requests 5;";
    let Some(server) = serve("connections_that_go_away_lose_nothing", &place, directives) else { return };
    let words = "/page --http 2 --policy multiplexed --set connections.streams=40 -n 400 -c 3";
    let ended = place.run(&format!("http://{}{words}", server.address)).exits(0);
    let samples = answered(&ended);
    let opened = samples.iter().filter(|sample| sample.number == 0).count();
    assert!(opened >= samples.len() / 20, "{opened} connections for {} requests", samples.len());
    assert!(ended.summary().http2.expect("requests over HTTP/2").refused > 0);
    assert_eq!(ended.summary().connections.resent_requests, 0);
    assert_eq!(log(&place, samples.len()).len(), samples.len());
    server.nginx.end();
}

/// A body that is larger than the server's window waits for it, and comes whole.
#[test]
fn bodies_wait_for_the_servers_windows() {
    let place = Place::new();
    let directives =
        "location /up { client_max_body_size 10m; proxy_pass http://BACK/page; proxy_method GET; }";
    // The other port, whose number is known once the server is there, is not needed: it answers by itself.
    let directives = directives.replace("http://BACK/page", "http://127.0.0.1:1/");
    let Some(server) = serve("bodies_wait_for_the_servers_windows", &place, &directives) else { return };
    place.write("body", vec![b'x'; 300_000]);
    let url = format!("http://{}/up --http 2 -X POST --body @body -n 20 -c 2", server.address);
    let ended = place.run(&url);
    let samples = ended.samples();
    assert!(samples.len() >= 20);
    for sample in &samples {
        // nginx reads the body whole before it finds that nobody is behind it.
        assert_eq!((sample.outcome, sample.status), (Outcome::Status5xx, 502), "{sample:?}");
        let stalled = Duration::from_us(sample.http.stalled_us().expect("a stream").into());
        assert!(stalled > Duration::ZERO && stalled <= sample.response_time(), "{sample:?}");
    }
    let http2 = ended.summary().http2.expect("requests over HTTP/2");
    assert_eq!(http2.stalled_requests, http2.requests);
    let logged = log(&place, samples.len());
    let bytes = |line: &String| line.split(' ').nth(2).and_then(|word| word.parse::<u64>().ok());
    assert!(logged.iter().all(|line| bytes(line).is_some_and(|bytes| bytes >= 300_000)), "{logged:?}");
    server.nginx.end();
}

#[test]
fn over_tls_the_server_must_agree() {
    let test = "over_tls_the_server_must_agree";
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let directives = format!("ssl_protocols {BOTH}; listen {address} ssl http2;");
    let Some(nginx) = secure::SecureNginx::start_with(test, &place, "shop.test", &directives) else { return };
    let words = "/4k --set tls.server-name=shop.test --cacert ca.pem --http 2";
    let ended = place.run(&format!("https://{address}{words} -n 200 -c 4")).exits(0);
    let samples = answered(&ended);
    let log = secure::take_log(&place, samples.len());
    assert_eq!(log.len(), samples.len());
    assert!(log.iter().all(|line| line.request == "GET /4k HTTP/2.0"), "{log:?}");
    // A connection for each request: sessions are resumed as over HTTP/1.
    let ended = place.run(&format!("https://{address}{words} -n 40 -c 4 --policy one-request")).exits(0);
    let samples = answered(&ended);
    assert_eq!(samples.iter().filter(|own| own.tls.is_some_and(|tls| !tls.resumed)).count(), 4);
    // The other port speaks HTTP/1.1 alone.
    let alone = format!("https://{}{words} -n 6 -c 2", nginx.address);
    place.run(&alone).exits(1).says(&[
        "refuses the version of HTTP",
        "HTTP/2 (http, `--http`)",
        "`--http 1.1`",
    ]);
    let refused = place.run(&words_closing_first(&alone)).exits(3);
    let summary = refused.summary();
    let all = summary.steady.requests;
    assert_eq!(count(&summary.steady, Outcome::TlsAlpnRefused), all, "{:?}", summary.steady.outcomes);
    assert!(refused.stdout.contains("tls-alpn-refused"), "{}", refused.stdout);
}

/// Sessions before a shop behind nginx: it refuses users who do not bring what they were given.
#[test]
fn visits_of_a_shop_bring_what_they_were_given() {
    let (place, shop) = (Place::new(), Shop::open());
    let behind =
        format!("location / {{ proxy_pass http://{}; proxy_set_header Host $http_host; }}", shop.address());
    let test = "visits_of_a_shop_bring_what_they_were_given";
    let Some(server) = serve(test, &place, &behind) else { return };
    place.write("users.csv", users(400));
    let visit = VISIT.replace("PAGE-LOAD", "browser");
    let load = "{ model = 'hybrid', arrivals = { process = 'constant', rate = '30/s' } }";
    let target = format!("target = 'http://{}/'\nhttp = '2'\nload = {load}\n{visit}", server.address);
    place.write("visit.toml", target);
    let ended = place.run("visit.toml --sessions 60 -d 60s").exits(0);
    let samples = ended.samples();
    let bad: Vec<_> =
        samples.iter().filter(|s| !matches!(s.outcome, Outcome::Ok | Outcome::Unfinished)).collect();
    assert!(bad.is_empty(), "{bad:?} {:?}", shop.refusals());
    assert!(samples.iter().filter(|s| s.outcome == Outcome::Ok).all(|s| s.http.stream().is_some()));
    assert_eq!(shop.refusals(), Vec::<String>::new());
    // Sixty visits begin, and a busy machine brings fewer of them to an end in time.
    assert!(shop.orders().len() >= 10, "{} orders", shop.orders().len());
    server.nginx.end();
}

/// A server of HTTP/1 is named as that, and so is one that wants TLS.
#[test]
fn servers_without_http2_are_named() {
    let place = Place::new();
    let Some(server) = serve("servers_without_http2_are_named", &place, "") else { return };
    let plain = server.nginx.address;
    for (address, words, outcome) in [
        (plain, "--http 2", Outcome::NotHttp2),
        // And the other way about: what speaks HTTP/2 alone answers in no version of HTTP/1.
        (server.address, "--http 1.1", Outcome::BadHead),
    ] {
        let ended = place.run(&format!("http://{address}/page {words} -n 6 -c 2")).exits(3);
        let summary = ended.summary();
        assert_eq!(
            count(&summary.steady, outcome),
            summary.steady.requests,
            "{words}: {:?}",
            summary.steady.outcomes
        );
        assert!(ended.stdout.contains(outcome.name()), "{}", ended.stdout);
    }
    server.nginx.end();
}

/// Clients far away, on paths that lose packets, before nginx: each request is in its log, and a page takes
/// the round trips that it must.
#[test]
fn emulated_clients_speak_http2_across_the_wan() {
    let test = "emulated_clients_speak_http2_across_the_wan";
    let speaks = |config: String| config.replace("backlog=4096;", "http2 backlog=4096;");
    let Some(wan) = Wan::configured(test, DebianServer::Nginx, speaks) else { return };
    let scenario = "target = 'http://shop.test:80/4k'
        http = '2'
        [load]
        model = 'closed'
        users = 100
        think = '500ms'
        [connections]
        policy = 'early-close'
        [network]
        clients = 100
        [[requests.request]]
        path = '/4k'
        embedded = ['/4k', '/4k', '/4k']
        [[network.class]]
        name = 'far'
        up = { delay = '20ms', loss = '1%' }
        down = { delay = '20ms', loss = '2%' }
        [run]
        warm-up = '300ms'
        duration = '2s'
        drain = '30s'";
    let ended = wan.run(scenario, "").exits(0);
    let (samples, logged) = (answered(&ended), wan.take_log());
    assert!(samples.len() > 200, "{}", samples.len());
    assert_eq!(logged.len(), samples.len());
    for sample in &samples {
        assert!(sample.service_time().expect("it was sent") >= Duration::from_ms(40), "{sample:?}");
        assert_eq!(sample.connect_begun != farfield_base::Stamp::NEVER, sample.number == 0);
    }
    assert!(samples.iter().all(|sample| sample.number < 4), "a connection for each page");
}

/// The built-in server answers every request by a stream of its own: in cleartext and over TLS, near and far.
#[test]
fn the_built_in_server_speaks_http2() {
    let place = Place::new();
    let near = ["", "--set origin.tls=true --insecure", "--policy multiplexed --set connections.streams=4"];
    let far = may_build("the_built_in_server_speaks_http2").then_some("--rtt 20ms");
    for words in near.into_iter().chain(far) {
        let ended = place.run(&format!("--http 2 -n 40 -c 4 {CALM_PACKETS} {words}")).exits(0);
        assert!(answered(&ended).len() >= 40, "{words}: {ended:?}");
    }
}
