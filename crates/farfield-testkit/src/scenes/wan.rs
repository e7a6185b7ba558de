//! Words for scenes across the WAN: a server as Debian has it, in a network namespace, before emulated
//! clients.
//!
//! Root is needed, and the server; a test that has not both skips by name.

use super::{CALM, Ended, Place, Running, skip};
use std::fs;
use std::path::{Path, PathBuf};

/// Settings with which the machine's slowness makes no run invalid, neither in the load nor in the packets.
pub const CALM_PACKETS: &str = "--set verdict.departure-lateness-p99=1m --set verdict.arrival-lateness-p99=1m \
                            --set verdict.crossing-lateness-p99=1m --set verdict.delivery-lateness-p99=1m \
                            --set verdict.pickup-lateness-p99=1m";

/// For a closed load whose measured part lasts only some response times, and so no longer than other work
/// may keep the server waiting. Such a wait at an end of the part moves the mean response time off what the
/// users' number and rate ask for, and no measurement of farfield's own shows it. Longer runs keep the
/// limit.
pub const SHORT: &str = "--set verdict.response-time-law=1";

/// A server of Debian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebianServer {
    /// nginx, one process.
    Nginx,
    /// Apache with processes that serve one connection each (prefork).
    Apache,
    /// lighttpd, one process.
    Lighttpd,
}

/// A server's site and configuration in a place of the test's own, and scenarios that start it.
pub struct Wan {
    /// The folder, with the server's files.
    pub place: Place,
    command: Vec<String>,
    runs: std::cell::Cell<u32>,
}

/// A line of the server's log: who asked, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The address that the request came from.
    pub client: std::net::IpAddr,
    /// The request's first line.
    pub request: String,
}

/// True if this process may build places; if not, `test` is skipped.
pub fn may_build(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(test, "places need root");
    }
    root
}

/// The path of a program of the system; `None`, with `test` skipped, if it is not installed.
pub fn find(test: &str, program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(program)).find(|path| path.is_file());
    if found.is_none() {
        skip(test, &format!("{program} is not installed"));
    }
    found
}

impl DebianServer {
    fn program(self) -> &'static str {
        match self {
            DebianServer::Nginx => "nginx",
            DebianServer::Apache => "apache2",
            DebianServer::Lighttpd => "lighttpd",
        }
    }

    /// A configuration with as little as will do, for thousands of connections of both families.
    fn config(self, home: &str) -> String {
        match self {
            DebianServer::Nginx => format!(
                "daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
                events {{ worker_connections 16384; }}
                http {{
                    log_format asked '$remote_addr $request'; access_log {home}/access.log asked;
                    keepalive_requests 1000000; client_body_temp_path {home}/t; proxy_temp_path {home}/t;
                    fastcgi_temp_path {home}/t; uwsgi_temp_path {home}/t; scgi_temp_path {home}/t;
                    server {{ listen 80 backlog=4096; listen [::]:80 backlog=4096; root {home}/www; }}
                }}"
            ),
            // A process that waits for an idle connection's next request serves nobody else: none waits for
            // long.
            DebianServer::Apache => format!(
                "ServerRoot {home}\nServerName localhost\nPidFile {home}/pid\nDefaultRuntimeDir {home}
                Listen 80\nUser nobody\nGroup nogroup
                LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
                LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
                ErrorLog {home}/error.log\nCustomLog {home}/access.log \"%h %r\"
                DocumentRoot {home}/www\nMaxKeepAliveRequests 0\nKeepAliveTimeout 100ms
                StartServers 128\nMinSpareServers 8\nMaxSpareServers 256\nMaxRequestWorkers 256
                ListenBacklog 4096\n"
            ),
            DebianServer::Lighttpd => format!(
                "server.document-root = \"{home}/www\"\nserver.bind = \"0.0.0.0\"\nserver.port = 80
                $SERVER[\"socket\"] == \"[::]:80\" {{ }}
                server.max-fds = 16384\nserver.max-connections = 8192\nserver.listen-backlog = 4096
                server.modules = (\"mod_accesslog\")\naccesslog.filename = \"{home}/access.log\"
                accesslog.format = \"%h %r\"\nserver.errorlog = \"{home}/error.log\"
                server.max-keep-alive-requests = 1000000\n"
            ),
        }
    }

    fn command(self, program: &Path, home: &str) -> Vec<String> {
        let program = program.to_str().expect("a plain path");
        let config = format!("{home}/server.conf");
        let words = match self {
            DebianServer::Nginx => vec![program, "-p", home, "-c", &config, "-e", "stderr"],
            DebianServer::Apache => vec![program, "-d", home, "-f", &config, "-DFOREGROUND"],
            DebianServer::Lighttpd => vec![program, "-D", "-f", &config],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

impl Wan {
    /// A server of `kind` with files of known sizes; `None`, and `test` is skipped, where it cannot be.
    pub fn new(test: &str, kind: DebianServer) -> Option<Wan> {
        Wan::configured(test, kind, |config| config)
    }

    /// A server whose configuration `change` alters last.
    pub fn configured(test: &str, kind: DebianServer, change: impl FnOnce(String) -> String) -> Option<Wan> {
        let program = find(test, kind.program())?;
        if !may_build(test) {
            return None;
        }
        let place = Place::new();
        for (name, len) in FILES {
            place.write(&format!("www/{name}"), vec![b'x'; len as usize]);
        }
        let home = place.path("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/');
        place.write("server.conf", change(kind.config(home)));
        let command = kind.command(&program, home);
        Some(Wan { place, command, runs: std::cell::Cell::new(0) })
    }

    /// A server that these words start; `None`, and `test` is skipped, where it cannot be.
    pub fn of(test: &str, command: Vec<String>) -> Option<Wan> {
        may_build(test).then(|| Wan { place: Place::new(), command, runs: std::cell::Cell::new(0) })
    }

    /// The scene in its place, with the server that these words start.
    pub fn started_by(self, command: Vec<String>) -> Wan {
        Wan { command, ..self }
    }

    /// Puts a line of shell before the server, which runs beside it and in its namespace.
    pub fn beside(mut self, line: &str) -> Wan {
        let server = self.command.join(" ");
        self.command = vec!["/bin/sh".to_owned(), "-c".to_owned(), format!("{line} & exec {server}")];
        self
    }

    /// Starts the server by a line of shell whose last words it is.
    pub fn under(mut self, line: &str) -> Wan {
        let server = self.command.join(" ");
        self.command = vec!["/bin/sh".to_owned(), "-c".to_owned(), format!("{line} {server}")];
        self
    }

    /// Begins a run of `scenario`, in TOML, against the server, with limits under which this machine's
    /// slowness makes nothing invalid; `words` are further flags.
    pub fn begin(&self, scenario: &str, words: &str) -> Running {
        let command: Vec<String> = self.command.iter().map(|word| format!("'''{word}'''")).collect();
        let command = format!("server.command = [{}]\nserver.ready = 'tcp:80'\n", command.join(", "));
        self.begin_without_server(&format!("{command}{scenario}"), words)
    }

    /// Begins a run whose `scenario` itself names the server.
    pub fn begin_without_server(&self, scenario: &str, words: &str) -> Running {
        let number = self.runs.replace(self.runs.get() + 1);
        let file = self.place.write(&format!("wan-{number}.toml"), format!("plane = 'emulated'\n{scenario}"));
        let directory = self.place.path(&format!("wan-{number}"));
        // Paths in full: what is left behind is found by them.
        let (file, out) = (file.display(), directory.display());
        let line = format!("run {file} {CALM} {CALM_PACKETS} -q -o {out} {words}");
        self.place.spawn(&line.split_whitespace().collect::<Vec<_>>(), directory)
    }

    /// Runs `scenario` to its end.
    pub fn run(&self, scenario: &str, words: &str) -> Ended {
        self.begin(scenario, words).ended()
    }

    /// Requests to the server since this was called last.
    pub fn take_log(&self) -> Vec<LoggedRequest> {
        let path = self.place.path("access.log");
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The server of the next run begins a new one.
        let _ = fs::remove_file(path);
        text.lines().filter_map(LoggedRequest::read).collect()
    }

    /// Processes whose command line has this test's name.
    pub fn processes(&self) -> Vec<String> {
        let home = self.place.path("");
        let home = home.to_str().expect("a plain path").to_owned();
        let folders = fs::read_dir("/proc").expect("proc").flatten();
        let lines = folders.filter_map(|folder| fs::read(folder.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&home)).collect()
    }

    /// A file of the test's; empty if it is not there.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.place.path(name)).unwrap_or_default()
    }
}

/// The site: names and bytes.
pub const FILES: [(&str, u64); 8] = [
    ("1k", 1 << 10),
    ("4k", 4 << 10),
    ("32k", 32 << 10),
    ("64k", 64 << 10),
    ("256k", 256 << 10),
    ("1m", 1 << 20),
    ("4m", 4 << 20),
    ("64m", 64 << 20),
];

impl LoggedRequest {
    /// Apache also asks itself, to wake processes that are to end.
    fn read(line: &str) -> Option<LoggedRequest> {
        let (client, request) = line.split_once(' ')?;
        let own = request.starts_with("OPTIONS * ");
        (!own).then(|| LoggedRequest {
            client: client.parse().expect("an address"),
            request: request.to_owned(),
        })
    }
}
