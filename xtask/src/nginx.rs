//! nginx as benches and experiments run it.

use crate::certificate::{CERTIFICATE, KEY};
use std::path::Path;

/// The only cipher suite of servers that speak TLS. Clients that are compared must agree on the same one, and
/// by default OpenSSL's and rustls's do not.
const SUITE: &str = "TLS_AES_128_GCM_SHA256";

/// Protocols that a server speaks: HTTP/1.1, unless something else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Speaks {
    /// TLS 1.3, with [`CERTIFICATE`] and [`KEY`].
    pub tls: bool,
    /// HTTP/2: over TLS beside HTTP/1.1, by ALPN; without, nothing else.
    pub http2: bool,
}

impl Speaks {
    /// The words of a `listen` directive.
    fn words(self) -> String {
        [(self.tls, " ssl"), (self.http2, " http2")]
            .iter()
            .filter_map(|(is_so, word)| is_so.then_some(*word))
            .collect()
    }
}

/// The configuration of one worker without access log, with room for 40,000 connections and keep-alive that
/// never ends. It listens at `listen`, an address or a port, with so many connections waiting, and serves
/// what lies in `site` in `home`, where its own files go.
pub fn config(home: &Path, listen: &str, backlog: u32, speaks: Speaks) -> String {
    config_for(nix::unistd::geteuid().is_root(), home, listen, backlog, speaks)
}

fn config_for(is_root: bool, home: &Path, listen: &str, backlog: u32, speaks: Speaks) -> String {
    let home = home.display();
    let words = speaks.words();
    let tls = if speaks.tls {
        format!(
            "        ssl_certificate {home}/{CERTIFICATE};
        ssl_certificate_key {home}/{KEY};
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites {SUITE};\n"
        )
    } else {
        String::new()
    };
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
        listen {listen}{words} backlog={backlog};
{tls}        root {home}/site;
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
        let config =
            |is_root| config_for(is_root, Path::new("/a"), "127.0.0.1:8080", 4096, Speaks::default());
        let text = config(false);
        assert!(text.starts_with("daemon off;"));
        for line in ["listen 127.0.0.1:8080 backlog=4096;", "root /a/site;", "proxy_temp_path /a/proxy;"] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(config(true).starts_with("user root;\n"));
        assert!(!text.contains("ssl"), "{text}");
    }

    #[test]
    fn it_speaks_what_is_asked_for() {
        let config = |tls, http2| config_for(false, Path::new("/a"), "443", 9, Speaks { tls, http2 });
        assert!(config(false, true).contains("listen 443 http2 backlog=9;"));
        let text = config(true, true);
        for line in
            ["listen 443 ssl http2 backlog=9;", "ssl_certificate_key /a/key.pem;", "Ciphersuites TLS_AES_128"]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
