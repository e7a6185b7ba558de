//! nginx on a free port of loopback, in the place of a test: somebody else's server.

use super::{Place, Process, Signal, poll};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

/// nginx, ended at the latest when this is dropped.
pub struct Nginx {
    process: Process,
    /// The address at which it listens.
    pub address: SocketAddr,
}

impl Nginx {
    /// Starts `program` in `place` with these directives of its `http` and of its `server` block, and waits
    /// until it listens. `HOME` stands for the place's path in both.
    pub fn start(program: &Path, place: &Place, http: &str, server: &str) -> Nginx {
        let home = place.path("");
        let home = home.to_str().expect("a plain path").trim_end_matches('/');
        let [http, server] = [http, server].map(|directives| directives.replace("HOME", home));
        // Another program may take the port between its choice and its use.
        let started = (0..3).find_map(|_| Nginx::try_start(program, place, home, [&http, &server]));
        let errors = || fs::read_to_string(place.path("error.log")).unwrap_or_default();
        started.unwrap_or_else(|| panic!("nginx does not start: {}", errors()))
    }

    fn try_start(program: &Path, place: &Place, home: &str, [http, server]: [&str; 2]) -> Option<Nginx> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it is bound");
        drop(free);
        let config = format!(
            "daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
            events {{ worker_connections 4096; }}
            http {{
                keepalive_requests 1000000; {http}
                client_body_temp_path {home}/t; proxy_temp_path {home}/t; fastcgi_temp_path {home}/t;
                uwsgi_temp_path {home}/t; scgi_temp_path {home}/t;
                server {{ listen {address}; {server} }}
            }}"
        );
        place.write("nginx.conf", config);
        let mut command = Command::new(program);
        command.args(["-p", home, "-c", &format!("{home}/nginx.conf"), "-e", "stderr"]);
        let mut process = Process::start(&mut command, place);
        let up = poll("nginx to listen", || match TcpStream::connect(address) {
            Ok(_) => Some(true),
            Err(_) => process.ended().map(|_| false),
        });
        up.then_some(Nginx { process, address })
    }

    /// Ends it and waits for that: its logs are complete then.
    pub fn end(mut self) {
        self.process.signal(Signal::TERM);
        self.process.wait();
    }
}
