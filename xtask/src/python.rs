//! A Python with readers of Parquet, against which the samples file is tested, and with a server of HTTP/3:
//! an environment of the project's own under `target`, so that nothing is installed into the system's.

use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::system;

/// The readers that users have, servers of HTTP/3 and WebSocket that clients are tested before, a load
/// generator that they are tested beside, and what the tests of the Python package want: its plugin's pytest,
/// its types' mypy, and the plots of its pages; Kubernetes' schemas; and the reference library of RFC 9971,
/// which searches for capacity are held against, in the version whose classes of loads are in the tests.
const READERS: [&str; 12] = [
    "pandas",
    "pyarrow",
    "duckdb",
    "polars",
    "aioquic",
    "wsproto",
    "locust",
    "pytest",
    "mypy",
    "matplotlib",
    "kubernetes-validate",
    "MLRsearch==1.2.1",
];

/// A package that contains axe-core, which looks for what keeps people from using a page, as one file of
/// JavaScript. Without the packages that it depends on: only this file of it is read.
const AXE: &str = "axe-playwright-python==0.1.8";
/// The file's place in the package.
const AXE_FILE: &str = "axe_playwright_python/axe.min.js";

/// The file of axe-core beside the interpreter `python`, installed if `may_install` and it is not there.
/// `None`, with one line that says why, if there is none.
pub fn provide_axe(python: &Path, may_install: bool) -> Option<PathBuf> {
    let place = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    let output = Command::new(python).args(["-c", place]).output().ok()?;
    let file = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join(AXE_FILE);
    if file.is_file() {
        return Some(file);
    }
    if may_install {
        eprintln!("Installing with pip: {AXE}.");
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", AXE]);
        if pip.status().is_ok_and(|status| status.success()) && file.is_file() {
            return Some(file);
        }
    }
    eprintln!("axe-core is missing: {} -m pip install --no-deps {AXE}", python.display());
    None
}

/// The interpreter that has the readers, made if `may_install` and it is not there. `None`, with one line
/// that says why, if there is none: the tests that want it are then skipped by name.
pub fn provide(target: &Path, may_install: bool) -> Option<PathBuf> {
    let folder = target.join("xtask-python");
    let python = folder.join("bin/python");
    if can_import(&python) {
        return Some(python);
    }
    let Some(system) = system::find("python3") else {
        eprintln!("python3 is missing; on Debian and Ubuntu: sudo apt-get install python3-venv");
        return None;
    };
    if may_install {
        eprintln!("Installing with pip, into {}: {}.", folder.display(), READERS.join(" "));
        let made = Command::new(system).args(["-m", "venv"]).arg(&folder).status();
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        // Most of their modules are never imported, and those that are get compiled then.
        pip.arg("--no-compile").args(READERS);
        if made.is_ok_and(|status| status.success()) && pip.status().is_ok_and(|status| status.success()) {
            return Some(python);
        }
    }
    eprintln!("Python packages that tests want are missing: python3 -m pip install {}", READERS.join(" "));
    None
}

fn can_import(python: &Path) -> bool {
    let modules = READERS.map(|package| package.split("==").next().unwrap_or(package));
    let import = format!("import {}", modules.join(", ").replace('-', "_"));
    Command::new(python).args(["-c", &import]).output().is_ok_and(|output| output.status.success())
}
