//! HTTPS before real servers as Debian has them (nginx, Apache, HAProxy, Caddy), over HTTP/1.1 and HTTP/2,
//! near and far: each request of the samples is in the server's log, in the version that was asked for.

use crate::common::secure::{Authority, VALID};
use crate::common::wan::{SHORT, Wan, find, may_build};
use crate::common::{Ended, Place, Process, poll, try_poll};
use farfield_base::{Duration, Outcome, Sample};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Bytes of `/4k`.
const BODY: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nginx,
    Apache,
    Haproxy,
    Caddy,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Kind::Nginx => "nginx",
            Kind::Apache => "apache2",
            Kind::Haproxy => "haproxy",
            Kind::Caddy => "caddy",
        }
    }

    /// As little as will do: both versions of HTTP by ALPN at `address`, with the certificate of shop.test,
    /// and `/4k`. The log has a line for each request, which [`version`] reads.
    fn config(self, home: &str, address: SocketAddr) -> String {
        let certificate = format!("{home}/shop.test.pem");
        let key = format!("{home}/shop.test.key");
        match self {
            Kind::Nginx => format!(
                "daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
                events {{ worker_connections 4096; }}
                http {{
                    access_log {home}/access.log; keepalive_requests 1000000;
                    client_body_temp_path {home}/t; proxy_temp_path {home}/t; fastcgi_temp_path {home}/t;
                    uwsgi_temp_path {home}/t; scgi_temp_path {home}/t;
                    server {{
                        listen {address} ssl http2 backlog=4096; root {home}/www;
                        ssl_certificate {certificate}; ssl_certificate_key {key};
                    }}
                }}"
            ),
            Kind::Apache => format!(
                "ServerRoot {home}\nServerName shop.test\nPidFile {home}/pid\nDefaultRuntimeDir {home}
                Listen {address}\nListenBacklog 4096\nUser nobody\nGroup nogroup
                LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
                LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
                LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
                LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
                ErrorLog {home}/error.log\nCustomLog {home}/access.log \"%r\"
                DocumentRoot {home}/www\nMaxKeepAliveRequests 0\nProtocols h2 http/1.1
                ServerLimit 4\nThreadsPerChild 32\nMaxRequestWorkers 128
                SSLEngine on\nSSLCertificateFile {certificate}\nSSLCertificateKeyFile {key}\n"
            ),
            Kind::Haproxy => haproxy(home, address),
            Kind::Caddy => caddy(home, address),
        }
    }

    /// The command that starts it.
    fn words(self, program: &Path, home: &str) -> Vec<String> {
        let program = program.to_str().expect("a plain path");
        let config = format!("{home}/server.conf");
        let logged = format!("exec {program} -db -f {config} >> {home}/access.log 2>> {home}/error.log");
        let words = match self {
            Kind::Nginx => vec![program, "-p", home, "-c", &config, "-e", "stderr"],
            Kind::Apache => vec![program, "-d", home, "-f", &config, "-DFOREGROUND"],
            Kind::Haproxy => vec!["/bin/sh", "-c", &logged],
            Kind::Caddy => vec![program, "run", "--adapter", "caddyfile", "--config", &config],
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// The version of HTTP in a line of its log; `None` for lines about itself.
    fn version(self, line: &str) -> Option<&'static str> {
        let is_request = match self {
            Kind::Nginx | Kind::Apache => line.contains("GET /4k "),
            // It writes the scheme and the host of HTTP/2 as well.
            Kind::Haproxy => line.starts_with("GET ") && line.contains("/4k "),
            Kind::Caddy => line.contains("\"uri\":\"/4k\""),
        };
        let versions = [("HTTP/1.1", "1.1"), ("HTTP/2.0", "2")];
        let found = versions.into_iter().find(|(name, _)| line.contains(name)).map(|(_, version)| version);
        is_request.then(|| found.unwrap_or_else(|| panic!("no version in {line}")))
    }
}

/// HAProxy logs to its standard output, which is the log's file. It has one thread: of several, one that
/// finds another at the log for too long leaves its line out (`fd_write_frag_line`).
fn haproxy(home: &str, address: SocketAddr) -> String {
    format!(
        "global
                    maxconn 4096
                    nbthread 1
                    log stdout format raw local0
                defaults
                    mode http
                    log global
                    timeout client 1m
                    timeout server 1m
                    timeout connect 1m
                frontend shop
                    bind {address} backlog 4096 ssl crt {home}/shop.test.both alpn h2,http/1.1
                    log-format \"%r\"
                    http-request return status 200 content-type application/octet-stream file {home}/www/4k\n"
    )
}

/// The port of plain HTTP is named, so that another one may be 80.
fn caddy(home: &str, address: SocketAddr) -> String {
    let (ip, port) = (address.ip(), address.port());
    format!(
        "{{
                    admin off
                    auto_https off
                    http_port 8080
                    storage file_system {home}/caddy
                    servers {{
                        protocols h1 h2
                    }}
                }}
                :{port} {{
                    bind {ip}
                    tls {home}/shop.test.pem {home}/shop.test.key
                    root * {home}/www
                    file_server
                    log {{
                        output file {home}/access.log {{
                            roll_disabled
                        }}
                        format json
                    }}
                }}\n"
    )
}

/// Certificates, and the site.
fn furnish(place: &Place) {
    Authority::new(place).certify(place, "shop.test", VALID);
    let both = ["shop.test.pem", "shop.test.key"].map(|name| fs::read(place.path(name)).expect("own file"));
    place.write("shop.test.both", both.concat());
    place.write("www/4k", vec![b'x'; BODY as usize]);
}

/// A path in words.
fn home_of(place: &Place) -> String {
    let home = place.path("");
    home.to_str().expect("a plain path").trim_end_matches('/').to_owned()
}

/// Starts a server on a port of loopback, which is returned; `None`, and `test` is skipped, where it is not
/// installed.
fn start(kind: Kind, test: &str, place: &Place) -> Option<(Process, SocketAddr)> {
    let program = find(test, kind.program())?;
    furnish(place);
    let home = home_of(place);
    // Another program may take the port between its choice and its use.
    let started = (0..3).find_map(|_| {
        let address =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        place.write("server.conf", kind.config(&home, address));
        let words = kind.words(&program, &home);
        let errors = fs::OpenOptions::new().create(true).append(true).open(place.path("said.log"));
        let mut command = Command::new(&words[0]);
        // Ended by a signal, Apache signals its whole process group; that must not be the tests'.
        command.args(&words[1..]).process_group(0).stderr(errors.expect("own file"));
        command.env("HOME", &home);
        let mut process = Process::start(&mut command, place);
        let up = poll("a server to listen", || match TcpStream::connect(address) {
            Ok(_) => Some(true),
            Err(_) => process.ended().map(|_| false),
        });
        up.then_some((process, address))
    });
    let said = || {
        ["said.log", "error.log"]
            .map(|name| fs::read_to_string(place.path(name)).unwrap_or_default())
            .concat()
    };
    Some(started.unwrap_or_else(|| panic!("{} does not start: {}", kind.program(), said())))
}

/// The versions of the requests in the log, of which there are to be so many, since this was called last.
fn take_log(kind: Kind, place: &Place, expected: usize) -> Vec<&'static str> {
    let path = place.path("access.log");
    let read = || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.lines().filter_map(|line| kind.version(line)).collect::<Vec<_>>()
    };
    poll("the server to log all requests", || (read().len() >= expected).then_some(()));
    // One that nobody made would be there a moment later.
    try_poll(std::time::Duration::from_millis(100), || (read().len() > expected).then_some(()));
    let logged = read();
    // The server goes on writing where it was.
    fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(0)).expect("own file");
    logged
}

/// All was answered in full, in this version.
#[track_caller]
fn answered(ended: &Ended, http: &str) -> Vec<Sample> {
    let samples = ended.samples();
    for sample in &samples {
        let found = (sample.outcome, sample.status, sample.body_bytes);
        assert_eq!(found, (Outcome::Ok, 200, BODY), "{sample:?}");
        assert_eq!(sample.http.stream().is_some(), http == "2", "{sample:?}");
        assert_eq!(sample.tls.is_some(), sample.number == 0, "{sample:?}");
    }
    samples
}

/// Holds the samples against the log.
#[track_caller]
fn accounts(kind: Kind, place: &Place, ended: &Ended, http: &str) -> Vec<Sample> {
    let samples = answered(ended, http);
    let logged = take_log(kind, place, samples.len());
    let resent = ended.summary().connections.resent_requests as usize;
    let all = samples.len()..=samples.len() + resent;
    assert!(all.contains(&logged.len()), "{} of {} logged, {resent} resent", logged.len(), samples.len());
    assert!(logged.iter().all(|version| *version == http), "{http}: {logged:?}");
    samples
}

fn near(kind: Kind, test: &str) {
    let place = Place::new();
    let Some((_server, address)) = start(kind, test, &place) else { return };
    let url = format!("https://{address}/4k --set tls.server-name=shop.test --cacert ca.pem");
    for http in ["1.1", "2"] {
        let run = |words: &str| {
            let ended = place.run(&format!("{url} --http {http} {words}")).exits(0);
            accounts(kind, &place, &ended, http)
        };
        let samples = run("-n 200 -c 4");
        let opened = samples.iter().filter(|sample| sample.number == 0).count();
        assert!((4..20).contains(&opened), "{opened} connections for four users");
        // A connection for each request: from its second on, each user may resume its session.
        let samples = run("-n 60 -c 3 --policy one-request");
        let resumed = samples.iter().filter(|own| own.tls.is_some_and(|tls| tls.resumed)).count();
        assert_eq!(resumed, samples.len() - 3, "HTTP/{http}");
        // Older TLS.
        let samples = run("-n 20 -c 2 --set tls.versions=['1.2'] --policy one-request");
        assert!(samples.len() >= 20);
    }
    let ended =
        place.run(&format!("{url} --http 2 --policy multiplexed --set connections.streams=8 -n 160 -c 2"));
    let samples = accounts(kind, &place, &ended.exits(0), "2");
    let carried = samples.iter().map(|sample| sample.number).max();
    assert!(carried.is_some_and(|most| most >= 8), "{carried:?}");
    // Nobody else's certificate is taken for it.
    let ended = place.run(&format!("https://{address}/4k --cacert ca.pem -n 6 -c 2")).exits(1);
    ended.says(&["certificate is for another name", "`127.0.0.1`, the target's host", "--insecure"]);
}

/// Clients far away, on paths that lose packets.
const FAR: &str = "
[load]
model = 'closed'
users = 60
think = '300ms'
[network]
clients = 60
[[network.class]]
name = 'far'
up = { delay = '20ms', loss = '1%' }
down = { delay = '20ms', loss = '2%' }
[run]
warm-up = '300ms'
duration = '1500ms'
drain = '30s'
";

fn far(kind: Kind, test: &str) {
    let Some(program) = find(test, kind.program()) else { return };
    if !may_build(test) {
        return;
    }
    let unstarted = Wan::of(test, Vec::new()).expect("it may be built");
    furnish(&unstarted.place);
    let home = home_of(&unstarted.place);
    let any = SocketAddr::from(([0, 0, 0, 0], 80));
    unstarted.place.write("server.conf", kind.config(&home, any));
    let wan = unstarted.started_by(kind.words(&program, &home));
    for http in ["1.1", "2"] {
        let target =
            format!("target = 'https://shop.test:80/4k'\nhttp = '{http}'\ntls = {{ ca = 'ca.pem' }}\n");
        let ended = wan.run(&format!("{target}{FAR}"), SHORT).exits(0);
        let samples = answered(&ended, http);
        assert!(samples.len() > 80, "only {} requests", samples.len());
        for sample in &samples {
            assert!(sample.service_time().is_some_and(|took| took >= Duration::from_ms(40)), "{sample:?}");
            assert!(sample.handshake_time().is_none_or(|took| took >= Duration::from_ms(40)), "{sample:?}");
        }
        let log = wan.read("access.log");
        let logged: Vec<&str> = log.lines().filter_map(|line| kind.version(line)).collect();
        let resent = ended.summary().connections.resent_requests as usize;
        let last = samples.iter().map(|sample| sample.done).max().expect("requests");
        // Apache writes the line of a stream some time after its reply, and is ended with the run.
        let is_early = |sample: &&Sample| sample.done + Duration::from_ms(500) < last;
        let least = match (kind, http) {
            (Kind::Apache, "2") => samples.iter().filter(is_early).count(),
            _ => samples.len(),
        };
        let all = least..=samples.len() + resent;
        assert!(all.contains(&logged.len()), "{} of {} logged, {resent} resent", logged.len(), samples.len());
        assert!(logged.iter().all(|version| *version == http), "{http}: {logged:?}");
        fs::remove_file(wan.place.path("access.log")).expect("the server's log");
    }
}

macro_rules! on_every_server {
    ($($test:ident: $scene:ident on $kind:ident;)*) => {$(
        #[test]
        fn $test() {
            $scene(Kind::$kind, stringify!($test));
        }
    )*};
}

on_every_server! {
    nginx_accounts_for_each_request: near on Nginx;
    apache_accounts_for_each_request: near on Apache;
    haproxy_accounts_for_each_request: near on Haproxy;
    caddy_accounts_for_each_request: near on Caddy;
    nginx_accounts_for_each_request_from_afar: far on Nginx;
    apache_accounts_for_each_request_from_afar: far on Apache;
    haproxy_accounts_for_each_request_from_afar: far on Haproxy;
    caddy_accounts_for_each_request_from_afar: far on Caddy;
}
