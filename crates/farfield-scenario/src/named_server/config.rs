//! Configurations of servers that are known by name, and the words that start them.

use super::{NamedKind, NamedServer};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Connections that may wait to be accepted, as far as the kernel lets them (`server.somaxconn`).
const BACKLOG: u32 = 16_384;
/// Connections of a process of nginx.
const CONNECTIONS: u32 = 40_000;
/// Threads of a process of Apache's event module.
const THREADS: u32 = 64;
/// Folders of programs that a user's own `PATH` often lacks.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// Folders of Apache's modules: of Debian, of Fedora, of SUSE, of an installation from source.
const MODULES: [&str; 4] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib64/apache2",
    "/usr/local/apache2/modules",
];

/// The place in which a server runs.
pub struct Place<'a> {
    /// The server's folder: the configuration, `site` with its files, and `run` for its own.
    pub home: &'a Path,
    /// The port on which it listens, of all addresses.
    pub port: u16,
    /// The server listens on addresses of IPv6 too.
    pub has_v6: bool,
    /// The server is started by root, so that its workers would change to another user.
    pub by_root: bool,
}

/// The configuration, the name of its file, and the words that start the server in the foreground.
pub struct LaunchConfig {
    pub file: &'static str,
    pub text: String,
    pub words: Vec<String>,
}

impl NamedServer {
    /// The server's configuration and command at a place.
    ///
    /// # Errors
    /// A sentence, if the server is not installed.
    pub fn started_at(&self, place: &Place) -> Result<LaunchConfig, String> {
        let home = place.home.display().to_string();
        match self.kind {
            NamedKind::Nginx => {
                let program = find(&["nginx"])?;
                let words = [&program, "-p", &home, "-c", &format!("{home}/nginx.conf"), "-e", "stderr"];
                let words = words.map(str::to_owned).to_vec();
                Ok(LaunchConfig { file: "nginx.conf", text: self.nginx(place), words })
            }
            NamedKind::Apache | NamedKind::ApachePrefork => {
                let program = find(&["apache2", "httpd"])?;
                let modules = MODULES.iter().map(Path::new).find(|folder| folder.is_dir());
                let modules = modules.ok_or("no folder with Apache's modules was found")?;
                let words = [&program, "-f", &format!("{home}/apache.conf"), "-DFOREGROUND"];
                let words = words.map(str::to_owned).to_vec();
                Ok(LaunchConfig { file: "apache.conf", text: self.apache(place, modules), words })
            }
        }
    }

    fn nginx(&self, place: &Place) -> String {
        let (home, port) = (place.home.display(), place.port);
        // As root its workers would change to a user who may not read the folder.
        let user = if place.by_root { "user root;\n" } else { "" };
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("    {kind}_temp_path {home}/run/{kind};\n"))
            .concat();
        let v6 = if place.has_v6 {
            format!("        listen [::]:{port} backlog={BACKLOG};\n")
        } else {
            String::new()
        };
        format!(
            "{user}daemon off;
worker_processes {};
worker_rlimit_nofile 65536;
pid {home}/run/nginx.pid;
error_log stderr error;
events {{
    worker_connections {CONNECTIONS};
}}
http {{
    access_log off;
    sendfile on;
    default_type application/octet-stream;
    types {{ text/html html; text/css css; text/javascript js; image/png png; image/gif gif; image/jpeg jpg; }}
    keepalive_timeout {}ms;
    keepalive_requests 1000000000;
{temporary}    server {{
        listen {port} backlog={BACKLOG};
{v6}        root {home}/site;
    }}
}}
",
            self.processes,
            self.keep_alive.as_ns() / 1_000_000
        )
    }

    fn apache(&self, place: &Place, modules: &Path) -> String {
        let (home, modules) = (place.home.display(), modules.display());
        let mut text = format!(
            "ServerRoot {home}
ServerName localhost
PidFile {home}/run/apache.pid
DefaultRuntimeDir {home}/run
Listen {}{}
ListenBacklog {BACKLOG}
AcceptFilter http none
ErrorLog /dev/stderr
LogLevel error
DocumentRoot {home}/site
DirectoryIndex index.html
EnableMMAP On
EnableSendfile Off
MaxKeepAliveRequests 0
",
            if place.has_v6 { "" } else { "0.0.0.0:" },
            place.port
        );
        let mpm = if self.kind == NamedKind::Apache { "event" } else { "prefork" };
        let mut load = |module: &str| {
            let _ = writeln!(
                text,
                "<IfModule !mod_{module}.c>\nLoadModule {module}_module {modules}/mod_{module}.so\n</IfModule>"
            );
        };
        // On Debian the module that changes users is part of the program.
        if place.by_root && Path::new(&format!("{modules}/mod_unixd.so")).exists() {
            load("unixd");
        }
        load("authz_core");
        load("dir");
        let _ = writeln!(text, "LoadModule mpm_{mpm}_module {modules}/mod_mpm_{mpm}.so");
        // Its workers may not be root's; nobody has no more rights than files for everybody need.
        if place.by_root {
            text.push_str("User #65534\nGroup #65534\n");
        }
        text.push_str(&match self.keep_alive.is_zero() {
            true => "KeepAlive Off\n".to_owned(),
            false => format!("KeepAlive On\nKeepAliveTimeout {}ms\n", self.keep_alive.as_ns() / 1_000_000),
        });
        let processes = self.processes.get();
        text.push_str(&match self.kind {
            NamedKind::Apache => format!(
                "ServerLimit {processes}\nStartServers {processes}\nThreadsPerChild {THREADS}\nMinSpareThreads 1\n\
                 MaxSpareThreads {0}\nMaxRequestWorkers {0}\n",
                processes * THREADS
            ),
            _ => format!(
                "ServerLimit {processes}\nStartServers {processes}\nMinSpareServers {processes}\n\
                 MaxSpareServers {processes}\nMaxRequestWorkers {processes}\n"
            ),
        });
        text.push_str("MaxConnectionsPerChild 0\n");
        text
    }
}

/// The first of these programs that is installed.
fn find(names: &[&str]) -> Result<String, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from)).collect();
    let files = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = files.into_iter().find(|file| file.is_file());
    found.map(|file| file.to_string_lossy().into_owned()).ok_or_else(|| {
        format!(
            "{} is not installed: it is in no folder of PATH; install it, or write another server",
            names[0]
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_testbed::Command;

    fn config(line: &str, by_root: bool) -> String {
        let server = NamedServer::of(&Command::Shell(line.to_owned())).expect("a name").expect("a server");
        let place = Place { home: Path::new("/x"), port: 8080, has_v6: true, by_root };
        match server.kind {
            NamedKind::Nginx => server.nginx(&place),
            _ => server.apache(&place, Path::new("/modules")),
        }
    }

    #[test]
    fn settings_are_in_the_configuration() {
        let text = config("@nginx processes=3 keep-alive=1500ms", true);
        for line in
            ["user root;", "worker_processes 3;", "keepalive_timeout 1500ms;", "listen [::]:8080 backlog"]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
        let text = config("@apache-prefork processes=9 keep-alive=0s", true);
        for line in [
            "MaxRequestWorkers 9\n",
            "KeepAlive Off\n",
            "mod_mpm_prefork.so",
            "User #65534\n",
            "Listen 8080\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let text = config("@apache processes=2", false);
        for line in ["MaxRequestWorkers 128\n", "KeepAliveTimeout 3600000ms\n", "mod_mpm_event.so"] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("User "), "{text}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = find(&["farfield-no-such-server"]).expect_err("it is not there");
        assert!(error.starts_with("farfield-no-such-server is not installed"), "{error}");
    }
}
