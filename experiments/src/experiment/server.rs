//! Real servers for experiments on the emulated plane, and the scenario's keys that start them.

use super::site;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use toml::{Table, Value};
use xtask::certificate::{self, CERTIFICATE, KEY};
use xtask::{nginx, system};

/// Accepted connections that wait for a process: as many as the largest experiments have clients.
const BACKLOG: u32 = 16_384;

/// The variable that Apache's configuration takes from its environment.
const KEEP_ALIVE_TIMEOUT: &str = "KEEP_ALIVE_TIMEOUT";

/// Kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// nginx with one worker.
    Nginx,
    /// Apache with a process for each connection, 128 of them from the start, as Williamson, Simmonds and
    /// Arlitt had it.
    ApachePrefork,
    /// Apache with as many processes as a wide area needs to keep a fifth of a processor of today busy.
    ApachePrefork1024,
    /// Apache with 150 processes, as Liu et al. 1999 had it, which wait for a next
    /// request for as long as `KEEP_ALIVE_TIMEOUT` in `server.environment` says, 15 s unless it does.
    ApachePrefork150,
    /// Apache with its default pool of processes, 15 of them at first as Hashemian et al. 2011 had it, which
    /// grows to 150, and 2 s for a next request.
    ApachePreforkGrowing,
    /// lighttpd with two processes that wait for events, as Hashemian et al. 2011 had it.
    Lighttpd,
    /// Caddy, which speaks HTTP/1.1, HTTP/2 and HTTP/3 on port 443, for `shop.test` with a certificate that
    /// it signs itself.
    Caddy,
}

impl ServerKind {
    fn program(self) -> &'static str {
        match self {
            ServerKind::Nginx => "nginx",
            ServerKind::Lighttpd => "lighttpd",
            ServerKind::Caddy => "caddy",
            _ => "apache2",
        }
    }

    /// Makes `scenario`, which lies in `folder`, start the server with the files of its site there, which
    /// anyone must be able to read and the program `farfield` makes. What the scenario says of the server
    /// stays. What it sends leaves its interface at the rate `sends_at`, or at once. Whether the server is
    /// installed shows when it is to start.
    pub fn put(
        self,
        farfield: &Path,
        scenario: &mut Table,
        folder: &Path,
        sends_at: Option<&str>,
    ) -> Result<()> {
        let program = system::find(self.program()).unwrap_or_else(|| self.program().into());
        let folder = site::put(farfield, scenario, folder)?;
        let home = folder.display().to_string();
        let file = folder.join(format!("{}.conf", self.program()));
        if self == ServerKind::Caddy && !folder.join(certificate::KEY).exists() {
            certificate::make(&folder, "shop.test")?;
        }
        fs::write(&file, self.config(&folder)).with_context(|| format!("cannot write {}", file.display()))?;
        let file = file.display().to_string();
        let program = program.display().to_string();
        let mut words: Vec<String> = match self {
            ServerKind::Nginx => {
                vec![program, "-p".into(), home, "-c".into(), file, "-e".into(), "stderr".into()]
            }
            ServerKind::Lighttpd => vec![program, "-D".into(), "-f".into(), file],
            ServerKind::Caddy => {
                [&program, "run", "--adapter", "caddyfile", "--config", &file].map(str::to_owned).to_vec()
            }
            _ => vec![program, "-f".into(), file, "-DFOREGROUND".into()],
        };
        if let Some(rate) = sends_at {
            words = [vec!["/bin/sh".into(), "-c".into(), paced(rate), "sh".into()], words].concat();
        }
        let table = scenario.entry("server").or_insert_with(|| Table::new().into());
        let table = table.as_table_mut().context("`scenario.server` is no table")?;
        let backlog = || Value::from(i64::from(BACKLOG));
        for (key, value) in
            [("command", Value::from(words)), ("somaxconn", backlog()), ("syn-backlog", backlog())]
        {
            table.entry(key).or_insert(value);
        }
        if let Some((name, value)) = self.variable(&folder) {
            let environment = table.entry("environment").or_insert_with(|| Table::new().into());
            let environment = environment.as_table_mut().context("`server.environment` is no table")?;
            environment.entry(name).or_insert_with(|| value.into());
        }
        Ok(())
    }

    /// The variable that the server reads in its environment, with its value where the scenario has none.
    fn variable(self, home: &Path) -> Option<(&'static str, String)> {
        match self {
            ServerKind::ApachePrefork150 => Some((KEEP_ALIVE_TIMEOUT, "15".to_owned())),
            // Folder in which Caddy keeps the configuration that it was started with.
            ServerKind::Caddy => Some(("XDG_CONFIG_HOME", home.display().to_string())),
            _ => None,
        }
    }

    fn config(self, home: &Path) -> String {
        match self {
            ServerKind::Nginx => nginx::config(home, "80", BACKLOG, nginx::Speaks::default()),
            ServerKind::ApachePrefork => apache(home, &Pool::fixed(128), "15"),
            ServerKind::ApachePrefork1024 => apache(home, &Pool::fixed(1024), "15"),
            ServerKind::ApachePrefork150 => {
                apache(home, &Pool::fixed(150), &format!("${{{KEEP_ALIVE_TIMEOUT}}}"))
            }
            ServerKind::ApachePreforkGrowing => {
                apache(home, &Pool { start: 15, spare_min: 5, spare_max: 10, most: 150 }, "2")
            }
            ServerKind::Lighttpd => lighttpd(home),
            ServerKind::Caddy => caddy(home),
        }
    }
}

/// The line for a shell in the place that has its interface send at `rate` (tc-tbf(8)), with room for what
/// waits, and becomes the program that its arguments name.
fn paced(rate: &str) -> String {
    format!(
        "interface=$(sed -n 's/^ *\\(farfield[0-9]*\\):.*/\\1/p' /proc/net/dev) && \
         tc qdisc replace dev \"$interface\" root tbf rate {rate} burst 1600 limit 64mb && exec \"$@\""
    )
}

/// Apache's processes: how many there are at first, how many without a connection there may be, and the most.
#[derive(Debug, Clone, Copy)]
struct Pool {
    start: u32,
    spare_min: u32,
    spare_max: u32,
    most: u32,
}

impl Pool {
    /// As many processes from first to last.
    fn fixed(processes: u32) -> Pool {
        Pool { start: processes, spare_min: processes, spare_max: processes, most: processes }
    }
}

/// A pool of processes, which wait so long for a next request, no log, files mapped into memory, and
/// connections handed over before their request is there.
fn apache(home: &Path, pool: &Pool, keep_alive: &str) -> String {
    let home = home.display();
    let &Pool { start, spare_min, spare_max, most } = pool;
    format!(
        "ServerRoot {home}
ServerName localhost
PidFile {home}/apache.pid
DefaultRuntimeDir {home}
Listen 0.0.0.0:80
ListenBacklog {BACKLOG}
AcceptFilter http none
User nobody
Group nogroup
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
ErrorLog {home}/apache.log
LogLevel error
DocumentRoot {home}/site
EnableMMAP On
EnableSendfile Off
KeepAlive On
KeepAliveTimeout {keep_alive}
MaxKeepAliveRequests 0
ServerLimit {most}
StartServers {start}
MinSpareServers {spare_min}
MaxSpareServers {spare_max}
MaxRequestWorkers {most}
MaxConnectionsPerChild 0
"
    )
}

/// Two processes, no log, and connections that wait for a next request for as long as nginx's do.
fn lighttpd(home: &Path) -> String {
    let home = home.display();
    format!(
        "server.document-root = \"{home}/site\"
server.port = 80
server.bind = \"0.0.0.0\"
server.errorlog = \"{home}/lighttpd.log\"
server.max-worker = 2
server.max-fds = 65536
server.max-connections = 30000
server.listen-backlog = {BACKLOG}
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 3600
server.max-read-idle = 3600
mimetype.assign = (\"\" => \"application/octet-stream\")
"
    )
}

/// No log, and no certificates but its own.
fn caddy(home: &Path) -> String {
    let home = home.display();
    format!(
        "{{
    admin off
    auto_https off
    http_port 8080
    storage file_system {home}/caddy
}}
https://shop.test {{
    tls {home}/{CERTIFICATE} {home}/{KEY}
    root * {home}/site
    file_server
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// No program makes sites where there is one.
    const NONE: &str = "/nonexistent/farfield";

    fn with_site() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("prowgen/site")).unwrap();
        folder
    }

    #[test]
    fn the_scenario_says_how_to_start_it_and_keeps_what_it_said() {
        let folder = with_site();
        let mut scenario: Table = "server = { initial-window = 2, somaxconn = 64 }".parse().unwrap();
        ServerKind::Nginx.put(NONE.as_ref(), &mut scenario, folder.path(), None).unwrap();
        let server = scenario["server"].as_table().unwrap();
        assert_eq!(server["command"].as_array().unwrap().len(), 7);
        assert_eq!(
            (server["initial-window"].as_integer(), server["somaxconn"].as_integer()),
            (Some(2), Some(64))
        );
        let mut paced: Table = "server = { initial-window = 2 }".parse().unwrap();
        ServerKind::Nginx.put(NONE.as_ref(), &mut paced, folder.path(), Some("115mbit")).unwrap();
        let words = paced["server"]["command"].as_array().unwrap();
        assert_eq!((words.len(), words[4] == server["command"][0]), (11, true));
        assert!(words[2].as_str().unwrap().contains("tbf rate 115mbit"));
        let home = folder.path().join("prowgen");
        assert!(home.join("nginx.conf").is_file());
        assert_eq!(words[6].as_str(), home.to_str());
    }

    #[test]
    fn the_keep_alive_timeout_comes_from_the_environment() {
        let folder = with_site();
        let mut scenario = Table::new();
        ServerKind::ApachePrefork150.put(NONE.as_ref(), &mut scenario, folder.path(), None).unwrap();
        assert_eq!(scenario["server"]["environment"][KEEP_ALIVE_TIMEOUT].as_str(), Some("15"));
        let text = ServerKind::ApachePrefork150.config(folder.path());
        assert!(
            text.contains("KeepAliveTimeout ${KEEP_ALIVE_TIMEOUT}\n") && text.contains(" 150\n"),
            "{text}"
        );
    }

    #[test]
    fn caddy_gets_a_certificate_once() {
        let folder = with_site();
        let put = || {
            let mut scenario = Table::new();
            ServerKind::Caddy.put(NONE.as_ref(), &mut scenario, folder.path(), None).unwrap();
            let words: Vec<&str> =
                scenario["server"]["command"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
            let config = fs::read_to_string(words[words.len() - 1]).unwrap();
            assert!(config.contains(&format!("{}/prowgen/site", folder.path().display())), "{config}");
            fs::read(folder.path().join("prowgen").join(CERTIFICATE)).unwrap()
        };
        assert_eq!(put(), put());
    }

    #[test]
    fn configurations_name_their_folder() {
        for text in [ServerKind::Nginx, ServerKind::ApachePrefork, ServerKind::Lighttpd]
            .map(|kind| kind.config(Path::new("/a")))
        {
            assert!(text.contains("/a/site") && text.contains("16384"), "{text}");
        }
    }
}
