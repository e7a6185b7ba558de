//! The workbench: `farfield ui` in a browser, and the page of a single run (`farfield run --ui`).
//!
//! The [`site`] answers requests: the files of its page, the runs of a folder and their reports, the
//! scenario files of a folder, and commands to start and stop runs. A run that it starts is a
//! [child process](children) `farfield run FILE --format jsonl`, so that nothing of the workbench is in the
//! run's figures; what it writes each second is [`shown`] as the live view shows it. The [`form`]
//! writes scenario files, with the help of docs/scenario.md.
//!
//! The page is plain HTML, CSS and JavaScript, without a build step: `workbench/page/`.

mod children;
mod draw;
mod experiments;
mod fields;
mod files;
mod form;
mod kept;
mod programs;
mod refusal;
pub mod shown;
pub mod single;
mod site;
#[cfg(test)]
mod tests;

use crate::exit::Exit;
use crate::flags::ui::UiFlags;
use crate::metrics::listen;
use crate::output;
use crate::problem::Problem;
use crate::web::guard::Guard;
use crate::web::{Priority, Server};
use children::WorkbenchRuns;
use farfield_base::Duration;
use farfield_engine::{descriptors, interrupt};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The workbench, until Ctrl-C.
pub fn ui(flags: &UiFlags) -> Result<Exit, Problem> {
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    if !flags.scenarios.is_dir() {
        let sentence = format!("--scenarios {}: there is no such folder", flags.scenarios.display());
        return Err(Problem::usage(sentence));
    }
    if flags.folder.exists() && !flags.folder.is_dir() {
        return Err(Problem::usage(format!("{} is no folder", flags.folder.display())));
    }
    let failed = |error: std::io::Error| Problem::failed(format!("the workbench: {error}"));
    let listener = listen(&flags.listen, "--listen")?;
    let (guard, url) = guarded(&listener).map_err(failed)?;
    let children = Arc::new(WorkbenchRuns::new(flags.folder.clone(), flags.scenarios.clone()));
    let (folder, scenarios) = (flags.folder.clone(), flags.scenarios.clone());
    let access = if flags.read_only { site::Access::ReadOnly } else { site::Access::Whole };
    let site = Arc::new(site::Workbench::new(folder, scenarios, Arc::clone(&children), access));
    let server = Server::begin(listener, Priority::Normal, guard, site).map_err(failed)?;
    let ends =
        if flags.read_only { "Ctrl-C ends it" } else { "Ctrl-C ends it, and the runs that it has started" };
    output::put(&format!("the workbench is at {url}\n{ends}\n"))?;
    let died = wait(&stop, &server);
    let under_way = children.under_way();
    if under_way > 0 {
        output::put_error(format_args!(
            "farfield: {under_way} runs are ending; what they have measured is kept\n"
        ));
    }
    children.end_all();
    children.hub().wait_until_taken(Duration::from_secs(1));
    drop(server);
    if died {
        let sentence = "the workbench has ended by itself, by a defect of farfield that is reported above; start it again";
        return Err(Problem::failed(sentence));
    }
    Ok(Exit::Fine)
}

/// The guard of a server, and the URL by which its user reaches it.
pub fn guarded(listener: &TcpListener) -> std::io::Result<(Guard, String)> {
    let address = listener.local_addr()?;
    let (guard, token) = Guard::with_token(address)?;
    // Behind `#`: a browser sends it to nobody, and the page stores it.
    Ok((guard, format!("http://{}/#token={token}", reachable(address))))
}

/// An address that this machine reaches a server by, which may listen on all of them.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) if address.ip().is_unspecified() => ([127, 0, 0, 1], address.port()).into(),
        SocketAddr::V6(_) if address.ip().is_unspecified() => {
            SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), address.port())
        }
        address => address,
    }
}

/// Waits for Ctrl-C, or for the end of the server by itself, which it returns.
fn wait(stop: &AtomicBool, server: &Server) -> bool {
    while !stop.load(Ordering::Relaxed) {
        if server.has_died() {
            return true;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    false
}
