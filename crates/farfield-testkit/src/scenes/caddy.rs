//! Caddy over TLS on a free port of loopback, TCP and UDP, in the place of a test: somebody else's HTTP/3.

use super::wan::find;
use super::{Place, Process, Signal, poll};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

/// Caddy, ended at the latest when this is dropped.
pub struct Caddy {
    process: Process,
    /// The address at which it listens, on TCP and UDP.
    pub address: SocketAddr,
}

impl Caddy {
    /// Starts it with the certificate `name.pem` and these directives of its site, in which HOME stands for
    /// the place's path. Without directives of its own it serves the files below `www`.
    pub fn start(test: &str, place: &Place, name: &str, directives: &str) -> Option<Caddy> {
        let program = find(test, "caddy")?;
        place.write("www/4k", vec![b'x'; 4096]);
        let home = place.path("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/');
        let directives = if directives.is_empty() { "root * HOME/www\nfile_server" } else { directives };
        let directives = directives.replace("HOME", home);
        let address = free_on_both();
        let config = format!(
            "{{\n admin off\n auto_https off\n}}\n\
             https://{address}, https://{name}:{port} {{\n bind {ip}\n tls {home}/{name}.pem {home}/{name}.key\n \
             log {{\n output file {home}/access.log\n format json\n }}\n {directives}\n}}\n",
            port = address.port(),
            ip = address.ip(),
        );
        place.write("Caddyfile", config);
        let log = fs::File::create(place.path("caddy.err")).expect("own file");
        let mut command = Command::new(program);
        command
            .args(["run", "--adapter", "caddyfile", "--config", &format!("{home}/Caddyfile")])
            .envs([("HOME", home), ("XDG_CONFIG_HOME", home), ("XDG_DATA_HOME", home)])
            .stderr(log);
        let mut process = Process::start(&mut command, place);
        let errors = || fs::read_to_string(place.path("caddy.err")).unwrap_or_default();
        poll("Caddy to listen", || match TcpStream::connect(address) {
            Ok(_) => Some(()),
            Err(_) => process.ended().map(|ended| panic!("Caddy ended: {ended}: {}", errors())),
        });
        Some(Caddy { process, address })
    }

    /// The protocol and the path of each request in its log, once that has as many as there are to be.
    pub fn log(&self, place: &Place, expected: usize) -> Vec<(String, String)> {
        let path = place.path("access.log");
        let text = || fs::read_to_string(&path).unwrap_or_default();
        poll("Caddy to log all requests", || (text().lines().count() >= expected).then_some(()));
        let value = |line: &str, key: &str| {
            let (_, rest) = line.split_once(&format!("\"{key}\":\"")).expect("a key");
            rest.split('"').next().expect("a value").to_owned()
        };
        text().lines().map(|line| (value(line, "proto"), value(line, "uri"))).collect()
    }

    /// Ends it and waits for that.
    pub fn end(mut self) {
        self.process.signal(Signal::TERM);
        self.process.wait();
    }
}

/// A port that is free on TCP and on UDP.
pub fn free_on_both() -> SocketAddr {
    loop {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it is bound");
        if UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}
