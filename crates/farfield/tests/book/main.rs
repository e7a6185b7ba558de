//! Commands that the book prints: run in order, page by page, as a reader would type them.
//!
//! A page has a folder, a network, and processes of its own ([`script`]), so that ports that it names are
//! free, and nothing that it starts outlives it. What is not run is marked on the page with the reason.

mod page;
mod script;

use farfield_testkit::skip;
use page::Page;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A test for each page with commands that run, with the programs of the system that they need.
macro_rules! pages {
    ($($name:ident: $path:literal $(needs $($program:literal),+)?;)+) => {
        $(
            #[test]
            fn $name() {
                follow(stringify!($name), $path, &[$($($program),+)?]);
            }
        )+

        /// The pages above.
        const PAGES: &[&str] = &[$($path),+];
    };
}

pages! {
    first_page: "docs/README.md";
    start: "docs/start.md";
    tutorial_running_server: "docs/tutorials/running-server.md" needs "nginx";
    tutorial_login: "docs/tutorials/login.md" needs "python3";
    tutorial_capacity: "docs/tutorials/capacity.md";
    tutorial_compare: "docs/tutorials/compare.md";
    tutorial_study: "docs/tutorials/study.md" needs "nginx";
    tutorial_replay: "docs/tutorials/replay.md";
    tutorial_paper: "docs/tutorials/paper.md";
    coordinated_omission: "docs/explanation/coordinated-omission.md" needs "wrk";
    loops: "docs/explanation/loops.md";
    planes: "docs/explanation/planes.md";
    coming_from: "docs/coming-from.md";
    cluster: "docs/cluster.md";
    command_line: "docs/command-line.md";
    compare: "docs/compare.md";
    experiments_howto: "docs/experiments-howto.md";
    http3: "docs/http3.md";
    import: "docs/import.md";
    live: "docs/live.md";
    metrics: "docs/metrics.md";
    performance: "docs/performance.md";
    pipelines: "docs/pipelines.md";
    route: "docs/route.md";
    run_directory: "docs/run-directory.md";
    running_server: "docs/running-server.md";
    scenario: "docs/scenario.md";
    shell: "docs/shell.md" needs "traceroute";
    streams: "docs/streams.md";
    sweeps: "docs/sweeps.md";
    tls: "docs/tls.md" needs "tshark";
    websockets: "docs/websockets.md";
}

/// Runs the commands of a page; fails with the line of the first that does not do what the page says.
#[track_caller]
fn follow(test: &str, path: &str, programs: &[&str]) {
    if !rustix::process::geteuid().is_root() {
        return skip(test, "a network of its own needs root");
    }
    for program in ["unshare", "ip"].iter().chain(programs) {
        if script::find(program).is_none() {
            return skip(test, &format!("{program} is not installed"));
        }
    }
    if let Err(complaint) = script::run(&read(path), Path::new(ROOT)) {
        panic!("{path}:{complaint}");
    }
}

fn read(path: &str) -> Page {
    let text = fs::read_to_string(Path::new(ROOT).join(path)).expect("a page of the repository");
    Page::read(&text).unwrap_or_else(|error| panic!("{path}, {error}"))
}

/// All pages of the book, and the README.
fn pages() -> BTreeSet<PathBuf> {
    let (root, mut found) = (Path::new(ROOT), BTreeSet::from([PathBuf::from("README.md")]));
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).expect("a folder of the repository") {
            let entry = entry.expect("a file of the repository");
            let path = folder.join(entry.file_name());
            if root.join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.insert(path);
            }
        }
    }
    found
}

/// A block of commands is run, or says why not; and a page whose blocks run is among the tests.
#[test]
fn every_command_is_run_or_says_why_not() {
    let (mut run, mut not_run) = (0, 0);
    for path in pages() {
        let path = path.to_str().expect("a plain path");
        let page = read(path);
        for (line, reason) in &page.not_run {
            assert!(reason.len() > 5, "{path}:{line}: no reason: {reason}");
        }
        assert_eq!(page.run > 0, PAGES.contains(&path), "{path}: {} blocks run, see `pages!`", page.run);
        run += page.run;
        not_run += page.not_run.len();
    }
    println!("{run} blocks of commands are run, {not_run} are marked with the reason why not");
    assert!(run > not_run, "{run} blocks are run, {not_run} are not");
}

/// A mistyped flag, an exit code that differs, a label that is no longer printed: each is found, at its line.
#[test]
fn mistakes_planted_in_a_page_are_found() {
    let test = "mistakes_planted_in_a_page_are_found";
    if !rustix::process::geteuid().is_root() {
        return skip(test, "a network of its own needs root");
    }
    const PAGE: &str = "```console\n$ farfield serve 127.0.0.1:8080 &\n\
        $ farfield run http://127.0.0.1:8080/ -c 2 -n 20 -q\nresponse  1ms\noutcomes  20 ok\n```\n";
    let fails = |page: &str| script::run(&Page::read(page).unwrap(), Path::new(ROOT));
    assert_eq!(fails(PAGE), Ok(()));
    for (right, wrong, said) in [
        (
            "-n 20",
            "--requets 20",
            "3: `farfield run http://127.0.0.1:8080/ -c 2 --requets 20 -q` ended with exit code 2",
        ),
        ("outcomes", "results", "3: no line of its output begins with `results`"),
        ("```console", "<!-- run: exit 99 -->\n```console", "4: `farfield run"),
        ("8080 &", "8080/nothing &", "2: nothing listens"),
    ] {
        let complaint = fails(&PAGE.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(complaint.starts_with(said), "{wrong}: {complaint}");
    }
    // Of a pipeline each command counts, but for one whose reader has read enough.
    let pipe = |commands: &str| fails(&format!("```console\n$ {commands}\n```\n"));
    assert_eq!(pipe("yes | head -1"), Ok(()));
    let nowhere = pipe("farfield report nowhere | cat").expect_err("no such directory");
    assert!(nowhere.contains("ended with exit code 2 instead of 0"), "{nowhere}");
    let ended = pipe("true | sh -c 'kill -PIPE $$'").expect_err("the last one ends by the signal");
    assert!(ended.contains("ended with exit code 141"), "{ended}");
    // A file that a page writes into the scenarios is not the repository's.
    assert_eq!(pipe("echo planted > scenarios/planted.toml"), Ok(()));
    assert!(!Path::new(ROOT).join("scenarios/planted.toml").exists());
}
