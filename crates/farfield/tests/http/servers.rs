//! Real servers, as Debian has them, driven by the program: every reply arrives whole, connections are used
//! as the policy says, and the server's own log counts the requests that the samples have.

use crate::common::wan::SHORT;
use crate::common::{Ended, Place, Process, Signal, count, poll, skip};
use farfield_base::{Outcome, Sample, Stamp};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

const SMALL: u64 = 1024;
const LARGE: u64 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nginx,
    Apache,
    Lighttpd,
}

/// A server with a site of its own in a test's place, in the foreground, with its log at `access.log`.
struct Server {
    process: Process,
    log: PathBuf,
    url: String,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Kind::Nginx => "nginx",
            Kind::Apache => "apache2",
            Kind::Lighttpd => "lighttpd",
        }
    }

    /// The path of its program; `None`, with the test skipped, if it is not installed.
    fn find(self, test: &str) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
        let found = folders.map(|folder| folder.join(self.program())).find(|path| path.is_file());
        if found.is_none() {
            skip(test, &format!("{} is not installed", self.program()));
        }
        found
    }

    /// As little as will do, and at most `requests_max` requests a connection.
    fn config(self, home: &str, port: u16, requests_max: u32) -> String {
        match self {
            // One process, which logs each request before it looks at the next.
            Kind::Nginx => format!(
                "daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
                events {{ worker_connections 512; }}
                http {{
                    access_log {home}/access.log; keepalive_requests {requests_max};
                    client_body_temp_path {home}/t; proxy_temp_path {home}/t; fastcgi_temp_path {home}/t;
                    uwsgi_temp_path {home}/t; scgi_temp_path {home}/t;
                    types {{ text/html html; }}
                    server {{
                        listen 127.0.0.1:{port}; root {home}/www;
                        location = /nothing {{ return 204; }}
                        location = /unsized.html {{ ssi on; }}
                    }}
                }}"
            ),
            // Processes are there from the start: prefork adds only a few a second.
            Kind::Apache => format!(
                "ServerRoot {home}\nServerName localhost\nPidFile {home}/pid\nDefaultRuntimeDir {home}
                Listen 127.0.0.1:{port}\nUser nobody\nGroup nogroup
                LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
                LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
                LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so
                ErrorLog {home}/error.log\nCustomLog {home}/access.log \"%r\"
                DocumentRoot {home}/www\nRedirect 204 /nothing
                StartServers 16\nMinSpareServers 8\nMaxRequestWorkers 32
                MaxKeepAliveRequests {requests_max}\n"
            ),
            Kind::Lighttpd => format!(
                "server.document-root = \"{home}/www\"\nserver.bind = \"127.0.0.1\"\nserver.port = {port}
                server.modules = (\"mod_accesslog\", \"mod_cgi\")\naccesslog.filename = \"{home}/access.log\"
                server.errorlog = \"{home}/error.log\"\nserver.max-keep-alive-requests = {requests_max}
                server.stream-response-body = 1
                mimetype.assign = (\".bin\" => \"application/octet-stream\")
                $HTTP[\"url\"] !~ \"\\.bin$\" {{ cgi.assign = (\"\" => \"/bin/sh\") }}\n"
            ),
        }
    }

    fn command(self, program: &Path, home: &str) -> Command {
        let config = format!("{home}/server.conf");
        let mut command = Command::new(program);
        match self {
            Kind::Nginx => command.args(["-p", home, "-c", &config, "-e", "stderr"]),
            // Ended by a signal, prefork signals its whole process group; that must not be the tests'.
            Kind::Apache => command.args(["-d", home, "-f", &config, "-DFOREGROUND"]).process_group(0),
            Kind::Lighttpd => command.args(["-D", "-f", &config]),
        };
        command
    }

    /// Starts it in `place`.
    fn start(self, program: &Path, place: &Place, requests_max: u32) -> Server {
        let small = place.write("www/small.bin", vec![b's'; SMALL as usize]);
        place.write("www/large.bin", vec![b'l'; LARGE as usize]);
        let modified = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::open(small).and_then(|file| file.set_modified(modified)).expect("own file");
        if self == Kind::Lighttpd {
            place.write("www/nothing", "printf 'Status: 204\\n\\n'");
            place.write("www/unsized.html", format!("printf '\\n'; printf %{SMALL}s"));
        } else {
            place.write("www/unsized.html", vec![b'u'; SMALL as usize]);
        }
        let home = place.path("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/');
        // Another program may take the port between its choice and its use.
        let started = (0..3).find_map(|_| self.try_start(program, place, home, requests_max));
        let errors = || fs::read_to_string(place.path("error.log")).unwrap_or_default();
        started.unwrap_or_else(|| panic!("{} does not start: {}", self.program(), errors()))
    }

    fn try_start(self, program: &Path, place: &Place, home: &str, requests_max: u32) -> Option<Server> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it is bound");
        drop(free);
        place.write("server.conf", self.config(home, address.port(), requests_max));
        let mut process = Process::start(&mut self.command(program, home), place);
        let up = poll("a server to listen", || match TcpStream::connect(address) {
            Ok(_) => Some(true),
            Err(_) => process.ended().map(|_| false),
        });
        up.then(|| Server { process, log: place.path("access.log"), url: url(address) })
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

impl Server {
    /// Ends it, and counts the requests in its log.
    fn requests_logged(mut self, expected: usize) -> usize {
        // Apache also asks itself, to wake processes that are to end.
        let asked = |line: &&str| !line.starts_with("OPTIONS * ");
        let lines = || fs::read_to_string(&self.log).map_or(0, |text| text.lines().filter(asked).count());
        // A process of prefork may be about to log a reply that has arrived; lighttpd logs when it ends.
        crate::common::try_poll(Duration::from_millis(500), || (lines() >= expected).then_some(()));
        self.process.signal(Signal::TERM);
        self.process.wait();
        lines()
    }
}

fn sent(samples: &[Sample]) -> usize {
    samples.iter().filter(|sample| sample.sent != Stamp::NEVER).count()
}

/// The samples of a run in which all went well, and whose figures all agree.
#[track_caller]
fn all_well(ended: &Ended) -> Vec<Sample> {
    let (summary, samples) = (ended.summary(), ended.samples());
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Ok, "{sample:?}");
    }
    let ok =
        count(&summary.warm_up, Outcome::Ok) + count(&summary.steady, Outcome::Ok) + summary.drained_requests;
    assert_eq!(ok, samples.len() as u64);
    assert!(summary.steady.requests > 20, "only {} requests", summary.steady.requests);
    samples
}

/// All that a connection carried, for every connection.
fn requests_per_connection(samples: &[Sample]) -> Vec<u32> {
    let connections =
        samples.iter().map(|sample| sample.connection).max().map_or(0, |last| last as usize + 1);
    let mut carried = vec![0; connections];
    samples.iter().for_each(|sample| carried[sample.connection as usize] += 1);
    carried
}

/// Drives a server of `kind` in the ways that users do, and holds all that is known against the samples and
/// its log.
fn drive(kind: Kind, test: &str) {
    let Some(program) = kind.find(test) else { return };
    let place = Place::new();
    let server = kind.start(&program, &place, 1_000_000);
    let url = &server.url;
    place.write("page.toml", PAGE);
    let mut requests = 0;
    let mut run = |words: &str| {
        let ended = place.run(&format!("{SHORT} {words}")).exits(0);
        let samples = all_well(&ended);
        requests += sent(&samples);
        (ended, samples)
    };
    let sizes = |samples: &[Sample], size| assert!(samples.iter().all(|sample| sample.body_bytes == size));

    // HTTP/1.0 as it was: one request a connection, here from users who come back.
    let (_, samples) = run(&format!("{url}/small.bin -c 6 --think 10ms --http 1.0 --policy one-request"));
    sizes(&samples, SMALL);
    assert!(requests_per_connection(&samples).iter().all(|&carried| carried == 1));

    // Requests that arrive openly, over connections that stay.
    let (ended, samples) = run(&format!("{url}/large.bin -R 200 --policy persistent"));
    sizes(&samples, LARGE);
    let connections = ended.summary().connections;
    assert!(connections.used < samples.len() as u64 / 2, "{connections:?}");
    assert_eq!(connections.attempts, connections.used);

    // Sessions that arrive openly, each page a large file and a small one, closed behind it.
    let (_, samples) = run(&format!("page.toml --target {url} -R 40"));
    let (pages, objects): (Vec<&Sample>, Vec<&Sample>) =
        samples.iter().partition(|sample| sample.request == 0);
    assert_eq!(pages.len(), objects.len());
    assert!(pages.iter().all(|page| page.body_bytes == LARGE));
    assert!(objects.iter().all(|object| object.body_bytes == SMALL));
    assert!(requests_per_connection(&samples).iter().all(|&carried| carried == 2));

    // HTTP/1.0 with its keep-alive: as many connections as users.
    let (_, samples) = run(&format!("{url}/small.bin -c 4 --think 10ms --http 1.0 --policy persistent"));
    sizes(&samples, SMALL);
    assert_eq!(requests_per_connection(&samples).len(), 4);

    // Eight requests ahead of their replies.
    let (_, samples) = run(&format!("{url}/small.bin -c 3 --think 20ms --policy pipelined"));
    sizes(&samples, SMALL);
    assert_eq!(requests_per_connection(&samples).len(), 3);
    assert!(requests_per_connection(&samples).iter().all(|carried| carried % 8 == 0));

    assert_eq!(server.requests_logged(requests), requests);
}

/// A page of two files, over one connection that the client closes behind it.
const PAGE: &str = "\
[load]
model = 'hybrid'
arrivals = '40/s'
requests = 3
think = '30ms'

[connections]
policy = 'early-close'

[[requests.request]]
path = '/large.bin'
embedded = ['/small.bin']
";

/// A server that ends connections after ten requests, and says so, before users who would go on: no request
/// fails.
fn limited(kind: Kind, test: &str) {
    let Some(program) = kind.find(test) else { return };
    for policy in ["persistent", "pipelined"] {
        let place = Place::new();
        let server = kind.start(&program, &place, 10);
        let words = format!("{}/small.bin -c 4 --think 10ms --policy {policy}", server.url);
        let samples = all_well(&place.run(&words).exits(0));
        let carried = requests_per_connection(&samples);
        // Apache and lighttpd do not count the first.
        let most = if kind == Kind::Nginx { 10 } else { 11 };
        assert_eq!(carried.iter().max(), Some(&most), "{carried:?}");
        let requests = sent(&samples);
        let logged = server.requests_logged(requests);
        match policy {
            "persistent" => assert_eq!(logged, requests),
            // Requests sent ahead to a connection that the server then closed may have it reset, and the
            // replies on their way lost. The server has logged these; they are asked for again, once each.
            _ => assert!((requests..requests + requests / 5).contains(&logged), "{logged} of {requests}"),
        }
    }
}

/// Replies that have no body, or do not say how long it is.
fn shapes(kind: Kind, test: &str) {
    let Some(program) = kind.find(test) else { return };
    let place = Place::new();
    let server = kind.start(&program, &place, 1_000_000);
    let url = &server.url;
    let mut requests = 0;
    let mut check = |words: &[&str], status: u16, body_bytes: u64| {
        let mut line = vec!["run", "-n", "40", "-c", "2", "-t", "1", "-q", "-o"];
        let name = format!("shape-{requests}");
        line.push(&name);
        line.extend(words);
        line.extend(crate::common::CALM.split_whitespace());
        let ended = place.farfield_with(&line);
        let samples = Ended { directory: place.path(&name), ..ended.exits(0) }.samples();
        assert_eq!(samples.len(), 40);
        for sample in &samples {
            let found = (sample.outcome, sample.status, sample.body_bytes);
            assert_eq!(found, (Outcome::Ok, status, body_bytes), "{words:?}: {sample:?}");
        }
        requests += samples.len();
    };
    let small = format!("{url}/small.bin");
    check(&[&small, "-X", "HEAD"], 200, 0);
    check(&[&small, "-H", "If-Modified-Since: Sun, 09 Sep 2001 01:46:40 GMT"], 304, 0);
    check(&[&format!("{url}/nothing")], 204, 0);
    // In chunks to HTTP/1.1, and until the close to HTTP/1.0.
    let unsized_ = format!("{url}/unsized.html");
    check(&[&unsized_, "--http", "1.1"], 200, SMALL);
    check(&[&unsized_, "--http", "1.0"], 200, SMALL);
    assert_eq!(server.requests_logged(requests), requests);
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
    nginx_is_driven_in_every_way: drive on Nginx;
    apache_is_driven_in_every_way: drive on Apache;
    lighttpd_is_driven_in_every_way: drive on Lighttpd;
    nginx_may_limit_its_connections: limited on Nginx;
    apache_may_limit_its_connections: limited on Apache;
    lighttpd_may_limit_its_connections: limited on Lighttpd;
    nginx_may_answer_in_any_shape: shapes on Nginx;
    apache_may_answer_in_any_shape: shapes on Apache;
    lighttpd_may_answer_in_any_shape: shapes on Lighttpd;
}
