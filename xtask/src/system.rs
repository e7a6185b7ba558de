//! Programs that the tests and benches take from the system: found, installed by apt where that may be done,
//! and else named with the command that installs them.

use crate::process;
use crate::services::ServicesOff;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// The name of its executable; of what has none, the path of a file that it is known by.
    pub program: &'static str,
    /// The Debian package that holds it.
    pub package: &'static str,
}

/// Programs that the tests need.
///
/// `apache2-bin` is Apache without the site that Debian would set up: tests bring their own. The same goes
/// for the database's packages that end in `-core`.
pub const FOR_TESTS: &[Tool] = &[
    Tool { program: "nginx", package: "nginx" },
    Tool { program: "apache2", package: "apache2-bin" },
    Tool { program: "lighttpd", package: "lighttpd" },
    Tool { program: "curl", package: "curl" },
    Tool { program: "wget", package: "wget" },
    Tool { program: "wrk", package: "wrk" },
    Tool { program: "httperf", package: "httperf" },
    Tool { program: "python3", package: "python3" },
    Tool { program: "node", package: "nodejs" },
    Tool { program: "/usr/share/nodejs/ws/package.json", package: "node-ws" },
    Tool { program: "chromium", package: "chromium" },
    Tool { program: "chromedriver", package: "chromium-driver" },
    Tool { program: "prometheus", package: "prometheus" },
    Tool { program: "dig", package: "bind9-dnsutils" },
    Tool { program: "haproxy", package: "haproxy" },
    Tool { program: "caddy", package: "caddy" },
    Tool { program: "tcpdump", package: "tcpdump" },
    Tool { program: "tshark", package: "tshark" },
    Tool { program: "ip", package: "iproute2" },
    Tool { program: "ping", package: "iputils-ping" },
    Tool { program: "traceroute", package: "traceroute" },
    Tool { program: "tracepath", package: "iputils-tracepath" },
    Tool { program: "mariadbd", package: "mariadb-server-core" },
    Tool { program: "mariadb", package: "mariadb-client-core" },
    Tool { program: "php", package: "libapache2-mod-php" },
    Tool { program: "/usr/share/mediawiki/index.php", package: "mediawiki" },
    Tool { program: "rpm", package: "rpm" },
    Tool { program: "ssh-keygen", package: "openssh-client" },
    Tool { program: "sshd", package: "openssh-server" },
    Tool { program: "mpirun", package: "openmpi-bin" },
    Tool { program: "slurmctld", package: "slurmctld" },
    Tool { program: "slurmd", package: "slurmd" },
    Tool { program: "sbatch", package: "slurm-client" },
    Tool { program: "munged", package: "munge" },
    Tool { program: "tcsh", package: "tcsh" },
];

/// Programs that the benches need.
pub const FOR_BENCHES: &[Tool] = &[
    Tool { program: "nginx", package: "nginx" },
    Tool { program: "openssl", package: "openssl" },
    Tool { program: "wrk", package: "wrk" },
    Tool { program: "h2load", package: "nghttp2-client" },
    Tool { program: "ab", package: "apache2-utils" },
];

/// Debian's folders of servers; on the `PATH` of root alone.
const SERVER_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Finds `program` on the `PATH` and where servers are kept, or the file if it is a path.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.starts_with('/') {
        return Path::new(program).is_file().then(|| program.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_in(program, std::env::split_paths(&path).chain(SERVER_FOLDERS.map(PathBuf::from)))
}

/// Sees to it that `tools` are there, as far as can be, and returns those that are still missing.
///
/// Only what is missing is installed, only by root with apt at hand, and only if `may_install`; it says so
/// first.
pub fn provide(tools: &[Tool], may_install: bool) -> Result<Vec<Tool>> {
    let missing = absent(tools);
    if missing.is_empty() {
        return Ok(missing);
    }
    if may_install && nix::unistd::geteuid().is_root() && find("apt-get").is_some() {
        let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
        eprintln!(
            "Installing with apt-get what is missing: {} (services are neither started nor enabled).",
            packages.join(" ")
        );
        if let Err(error) = install(&packages) {
            eprintln!("Installing failed: {error:#}");
        }
    }
    let missing = absent(tools);
    for tool in &missing {
        eprintln!("{}", remedy(tool));
    }
    Ok(missing)
}

/// One line: what is missing and the command that installs it.
fn remedy(tool: &Tool) -> String {
    format!(
        "{} is missing; on Debian and Ubuntu: sudo apt-get install --no-install-recommends {}",
        tool.program, tool.package
    )
}

fn absent(tools: &[Tool]) -> Vec<Tool> {
    tools.iter().filter(|tool| find(tool.program).is_none()).copied().collect()
}

fn find_in(program: &str, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.into_iter().map(|folder| folder.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn install(packages: &[&str]) -> Result<()> {
    let _off = ServicesOff::begin(Path::new("/"))?;
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.args(["-qq", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0"])
            .env("DEBIAN_FRONTEND", "noninteractive");
        if std::env::var_os("CI").is_some() {
            // A machine of CI that loses its power in the midst of this is made anew.
            apt.args(["-o", "Dpkg::Options::=--force-unsafe-io"]);
        }
        apt
    };
    // Without fresh lists packages may be unknown; with stale ones they may still be had.
    if let Err(error) = process::run(apt().arg("update")) {
        eprintln!("{error:#}; trying with the lists that are there");
    }
    process::run(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_can_be_run_in_the_first_folder_that_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for (place, mode) in [(&first, 0o644), (&second, 0o755)] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("nginx"), "").unwrap();
            fs::set_permissions(place.join("nginx"), fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = find_in("nginx", [first.clone(), second.clone()]);
        assert_eq!(found, Some(second.join("nginx")));
        assert_eq!(find_in("apache2", [first, second]), None);
    }

    #[test]
    fn what_cannot_be_run_is_known_by_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.php");
        let name = path.to_str().unwrap();
        assert_eq!(find(name), None);
        fs::write(&path, "").unwrap();
        assert_eq!(find(name), Some(path.clone()));
    }

    #[test]
    fn what_is_missing_is_named_with_its_command() {
        let line = remedy(&Tool { program: "ab", package: "apache2-utils" });
        assert!(line.starts_with("ab is missing;"), "{line}");
        assert!(line.ends_with("apt-get install --no-install-recommends apache2-utils"), "{line}");
    }

    #[test]
    fn nothing_missing_installs_nothing() {
        assert_eq!(provide(&[Tool { program: "sh", package: "dash" }], true).unwrap(), []);
    }
}
