//! nginx as benches and experiments run it.

use std::path::Path;

/// The configuration of one worker without access log, with room for 40,000 connections and keep-alive that
/// never ends. It listens at `listen`, an address or a port, with so many connections waiting, and serves
/// what lies in `site` in `home`, where its own files go.
pub fn config(home: &Path, listen: &str, backlog: u32) -> String {
    config_for(nix::unistd::geteuid().is_root(), home, listen, backlog)
}

fn config_for(is_root: bool, home: &Path, listen: &str, backlog: u32) -> String {
    let home = home.display();
    // As root the worker would change to a user that may not read the folder.
    let user = if is_root { "user root;\n" } else { "" };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {home}/{kind};\n"))
        .concat();
    format!(
        "{user}daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {home}/nginx.pid;
error_log {home}/nginx.log warn;
events {{
    worker_connections 40000;
}}
http {{
    access_log off;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
{temporary}    server {{
        listen {listen} backlog={backlog};
        root {home}/site;
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_place_and_the_address() {
        let config = |is_root| config_for(is_root, Path::new("/a"), "127.0.0.1:8080", 4096);
        let text = config(false);
        assert!(text.starts_with("daemon off;"));
        for line in ["listen 127.0.0.1:8080 backlog=4096;", "root /a/site;", "proxy_temp_path /a/proxy;"] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(config(true).starts_with("user root;\n"));
    }
}
