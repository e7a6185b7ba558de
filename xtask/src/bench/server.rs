//! Servers in the background, on their own processor: nginx with one worker, and farfield's own origin.
//!
//! A server listens on a free loopback port, is awaited, and ends with the value that holds it.

use super::hold;
use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The size of the object that is asked for, in bytes.
const OBJECT_BYTES: usize = 1024;
/// The size of a large one.
const LARGE_OBJECT_BYTES: usize = 64 * 1024;

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// nginx with one worker on processor `cpu`, serving `/1k` and `/64k`; its files go to `folder`.
    pub fn nginx(program: &Path, folder: &Path, cpu: usize) -> Result<Server> {
        let address = free_address()?;
        let file = nginx_files(folder, address)?;
        let mut nginx = Command::new(program);
        nginx.arg("-e").arg(folder.join("error.log")).arg("-c").arg(file);
        Server::start(&nginx, address, cpu)
    }

    /// farfield's origin on processor `cpu`, with the knobs of a known server.
    pub fn origin(program: &Path, knobs: &[&str], cpu: usize) -> Result<Server> {
        let address = free_address()?;
        let mut origin = Command::new(program);
        origin.arg("serve").arg(address.to_string()).args(knobs);
        Server::start(&origin, address, cpu)
    }

    /// The URL of `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn start(command: &Command, address: SocketAddr, cpu: usize) -> Result<Server> {
        let mut held = hold::held(command, cpu, None);
        let child = held
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut server = Server { child, address };
        server.await_answer()?;
        Ok(server)
    }

    fn await_answer(&mut self) -> Result<()> {
        const TRIES: u32 = 500;
        const PAUSE: Duration = Duration::from_millis(10);
        for _ in 0..TRIES {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended before it listened ({status})");
            }
            #[expect(clippy::disallowed_methods, reason = "a listener that is not there yet sends no event")]
            std::thread::sleep(PAUSE);
        }
        bail!("the server did not listen on {} within {:?}", self.address, TRIES * PAUSE)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGTERM, so that nginx ends its worker too. Both fail only if it has ended already.
        let _ = i32::try_from(self.child.id()).map(|pid| kill(Pid::from_raw(pid), Signal::SIGTERM));
        let _ = self.child.wait();
    }
}

/// Writes what nginx serves, `/1k` and `/64k`, and its configuration, whose path is returned.
pub fn nginx_files(folder: &Path, address: SocketAddr) -> Result<PathBuf> {
    let site = folder.join("site");
    fs::create_dir_all(&site)?;
    for (name, bytes) in [("1k", OBJECT_BYTES), ("64k", LARGE_OBJECT_BYTES)] {
        fs::write(site.join(name), "x".repeat(bytes))?;
    }
    let file = folder.join("nginx.conf");
    fs::write(&file, nginx_conf(folder, address, nix::unistd::geteuid().is_root()))?;
    Ok(file)
}

/// An address on loopback that is free now.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?)
}

/// One worker without access log, with room for 10,000 connections and keep-alive that never ends.
fn nginx_conf(folder: &Path, address: SocketAddr, is_root: bool) -> String {
    let folder = folder.display();
    // As root the worker would change to a user that may not read the folder.
    let user = if is_root { "user root;\n" } else { "" };
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {folder}/{kind};\n"))
        .concat();
    format!(
        "{user}daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{
    worker_connections 20000;
}}
http {{
    access_log off;
    keepalive_timeout 1h;
    keepalive_requests 1000000000;
{temporary}    server {{
        listen {address} backlog=4096;
        root {folder}/site;
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_names_the_place_and_the_address() {
        let address = "127.0.0.1:8080".parse().unwrap();
        let text = nginx_conf(Path::new("/tmp/x"), address, false);
        assert!(text.starts_with("daemon off;"));
        for line in
            ["listen 127.0.0.1:8080 backlog=4096;", "root /tmp/x/site;", "proxy_temp_path /tmp/x/proxy;"]
        {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(nginx_conf(Path::new("/tmp/x"), address, true).starts_with("user root;\n"));
    }
}
