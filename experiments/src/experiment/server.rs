//! Real servers for experiments on the emulated plane, and the scenario's keys that start them.

use super::site;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use toml::{Table, Value};
use xtask::{nginx, system};

/// Accepted connections that wait for a process: as many as the largest experiments have clients.
const BACKLOG: u32 = 16_384;

/// What Apache's configuration takes from its environment.
const KEEP_ALIVE_TIMEOUT: &str = "KEEP_ALIVE_TIMEOUT";

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// nginx with one worker.
    Nginx,
    /// Apache with a process for each connection, 128 of them from the start, as Williamson, Simmonds and Arlitt had it.
    ApachePrefork,
    /// The same with as many processes as a wide area needs to keep a processor of today busy.
    ApachePrefork2048,
    /// The same with 150, as Liu et al. 1999 had it, which wait for a next
    /// request for as long as `KEEP_ALIVE_TIMEOUT` in `server.environment` says, 15 s unless it does.
    ApachePrefork150,
}

impl ServerKind {
    fn program(self) -> &'static str {
        match self {
            ServerKind::Nginx => "nginx",
            ServerKind::ApachePrefork | ServerKind::ApachePrefork2048 | ServerKind::ApachePrefork150 => {
                "apache2"
            }
        }
    }

    /// Has `scenario`, which lies in `folder`, start the server with the files of its site there, which anyone must be able
    /// to read and the program `farfield` makes. What the scenario says of the server stays. What it sends leaves its interface
    /// at the rate `sends_at`, or at once. Whether the server is installed shows when it is to start.
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
        fs::write(&file, self.config(&folder)).with_context(|| format!("cannot write {}", file.display()))?;
        let file = file.display().to_string();
        let program = program.display().to_string();
        let mut words: Vec<String> = match self {
            ServerKind::Nginx => {
                vec![program, "-p".into(), home, "-c".into(), file, "-e".into(), "stderr".into()]
            }
            ServerKind::ApachePrefork | ServerKind::ApachePrefork2048 | ServerKind::ApachePrefork150 => {
                vec![program, "-f".into(), file, "-DFOREGROUND".into()]
            }
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
        if self == ServerKind::ApachePrefork150 {
            let environment = table.entry("environment").or_insert_with(|| Table::new().into());
            let environment = environment.as_table_mut().context("`server.environment` is no table")?;
            environment.entry(KEEP_ALIVE_TIMEOUT).or_insert_with(|| "15".into());
        }
        Ok(())
    }

    fn config(self, home: &Path) -> String {
        match self {
            ServerKind::Nginx => nginx::config(home, "80", BACKLOG),
            ServerKind::ApachePrefork => apache(home, 128, "15"),
            ServerKind::ApachePrefork2048 => apache(home, 2048, "15"),
            ServerKind::ApachePrefork150 => apache(home, 150, &format!("${{{KEEP_ALIVE_TIMEOUT}}}")),
        }
    }
}

/// The line for a shell in the place that has its interface send at `rate` (tc-tbf(8)), with room for what waits, and
/// becomes the program that its arguments name.
fn paced(rate: &str) -> String {
    format!(
        "interface=$(sed -n 's/^ *\\(farfield[0-9]*\\):.*/\\1/p' /proc/net/dev) && \
         tc qdisc replace dev \"$interface\" root tbf rate {rate} burst 1600 limit 64mb && exec \"$@\""
    )
}

/// So many processes from first to last, which wait so long for a next request, no log, files mapped into memory, and connections handed over before their
/// request is there.
fn apache(home: &Path, processes: u32, keep_alive: &str) -> String {
    let home = home.display();
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
ServerLimit {processes}
StartServers {processes}
MinSpareServers {processes}
MaxSpareServers {processes}
MaxRequestWorkers {processes}
MaxConnectionsPerChild 0
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
    fn configurations_name_their_folder() {
        for text in [ServerKind::Nginx, ServerKind::ApachePrefork].map(|kind| kind.config(Path::new("/a"))) {
            assert!(text.contains("/a/site") && text.contains("16384"), "{text}");
        }
    }
}
