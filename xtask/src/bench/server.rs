//! Servers in the background, on their own processor: nginx with one worker, and farfield's own origin.
//!
//! A server listens on a free loopback port, is awaited, and ends with the value that holds it.

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use xtask::certificate;
use xtask::hold;
use xtask::nginx::{self, Speaks};

/// The size of the object that is asked for, in bytes.
const OBJECT_BYTES: usize = 1024;
/// The size of a large one.
const LARGE_OBJECT_BYTES: usize = 64 * 1024;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    scheme: &'static str,
    /// The name by which it is asked; its address if absent.
    name: Option<&'static str>,
}

impl Server {
    /// nginx with one worker on processor `cpu`, or on any, serving `/1k` and `/64k`; its files go to
    /// `folder`.
    pub fn nginx(
        program: &Path,
        folder: &Path,
        cpu: impl Into<Option<usize>>,
        speaks: Speaks,
    ) -> Result<Server> {
        let address = free_address()?;
        let file = nginx_files(folder, address, speaks)?;
        let mut nginx = Command::new(program);
        nginx.arg("-e").arg(folder.join("nginx.log")).arg("-c").arg(file);
        Server::start(&nginx, if speaks.tls { "https" } else { "http" }, address, cpu)
    }

    /// Caddy on processor `cpu`, serving `/1k` and `/64k` over TLS; its files go to `folder`.
    pub fn caddy(program: &Path, folder: &Path, cpu: usize) -> Result<Server> {
        let address = free_address()?;
        put_site(folder)?;
        if !folder.join(certificate::KEY).exists() {
            certificate::make(folder, "localhost")?;
        }
        let (home, file) = (folder.display(), folder.join("Caddyfile"));
        let config = format!(
            "{{
    admin off
    auto_https off
    storage file_system {home}/caddy
    log {{
        output discard
    }}
}}
https://localhost:{} {{
    bind {}
    tls {home}/{} {home}/{}
    root * {home}/site
    file_server
}}
",
            address.port(),
            address.ip(),
            certificate::CERTIFICATE,
            certificate::KEY
        );
        fs::write(&file, config)?;
        // Go's threads on as many processors as it is given: there would be one for all others, too.
        let mut caddy = Command::new("/usr/bin/env");
        caddy.arg("GOMAXPROCS=1").arg(format!("XDG_CONFIG_HOME={home}")).arg(program);
        caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
        let mut server = Server::start(&caddy, "https", address, cpu)?;
        // Over HTTP/3 it answers to names alone.
        server.name = Some("localhost");
        Ok(server)
    }

    /// farfield's origin on processor `cpu`, with the knobs of a known server.
    pub fn origin(program: &Path, knobs: &[&str], cpu: impl Into<Option<usize>>) -> Result<Server> {
        let address = free_address()?;
        let mut origin = Command::new(program);
        origin.arg("serve").arg(address.to_string()).args(knobs);
        Server::start(&origin, if knobs.contains(&"--tls") { "https" } else { "http" }, address, cpu)
    }

    /// A server that floods, or a calm one beside it, by the name that the example `program` knows.
    pub fn flood(program: &Path, name: &str, scheme: &str) -> Result<Server> {
        let address = free_address()?;
        let mut flood = Command::new(program);
        flood.arg(name).arg(address.to_string());
        Server::start(&flood, if scheme == "https" { "https" } else { "http" }, address, None)
    }

    /// The URL of `path`.
    pub fn url(&self, path: &str) -> String {
        let Server { scheme, address, .. } = self;
        match self.name {
            Some(name) => format!("{scheme}://{name}:{}{path}", address.port()),
            None => format!("{scheme}://{address}{path}"),
        }
    }

    fn start(
        command: &Command,
        scheme: &'static str,
        address: SocketAddr,
        cpu: impl Into<Option<usize>>,
    ) -> Result<Server> {
        let mut held = hold::held(command, cpu, None);
        let child = held
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut server = Server { child, address, scheme, name: None };
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

/// Writes what nginx serves, `/1k` and `/64k`, its certificate if it needs one, and its configuration, whose
/// path is returned.
pub fn nginx_files(folder: &Path, address: SocketAddr, speaks: Speaks) -> Result<PathBuf> {
    put_site(folder)?;
    if speaks.tls && !folder.join(certificate::KEY).exists() {
        certificate::make(folder, "localhost")?;
    }
    let file = folder.join("nginx.conf");
    fs::write(&file, nginx::config(folder, &address.to_string(), BACKLOG, speaks))?;
    Ok(file)
}

/// Writes the files that servers serve into `site` in `folder`.
fn put_site(folder: &Path) -> Result<()> {
    let site = folder.join("site");
    fs::create_dir_all(&site)?;
    for (name, bytes) in [("1k", OBJECT_BYTES), ("64k", LARGE_OBJECT_BYTES)] {
        fs::write(site.join(name), "x".repeat(bytes))?;
    }
    Ok(())
}

/// An address on loopback that is free now.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on loopback")?;
    Ok(listener.local_addr()?)
}
