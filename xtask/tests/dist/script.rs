//! The script that installs, on a release of a program of a few lines: from pipes, in part, beside an old
//! program, and where it must refuse.

use crate::release::{VERSION, succeeds};
use crate::root::may_build;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script of the repository.
const SCRIPT: &str = "../deploy/install.sh";

/// A release in `place` whose program says its version, and writes its words into `words` where it runs.
pub fn tiny(place: &Path) -> PathBuf {
    let release = place.join("release");
    let machine = succeeds(Command::new("uname").arg("-m"));
    let name = format!("farfield-{VERSION}-{}-linux", machine.trim());
    let tree = release.join(&name);
    for folder in ["bin", "share/man"] {
        fs::create_dir_all(tree.join(folder)).expect("a folder");
    }
    let said = format!("if [ \"$1\" = --version ]; then echo farfield {VERSION}; exit; fi");
    program(&tree.join("bin/farfield"), &format!("{said}\nprintf '<%s>' \"$@\" >> words\n"));
    fs::write(tree.join("share/man/farfield.1"), "").expect("a file");
    let archive = format!("{name}.tar.gz");
    succeeds(Command::new("tar").args(["-czf", &archive, &name]).current_dir(&release));
    fs::remove_dir_all(tree).expect("own folder");
    let sums = succeeds(Command::new("sha256sum").arg(&archive).current_dir(&release));
    fs::write(release.join("SHA256SUMS"), sums).expect("a file");
    fs::copy(SCRIPT, release.join("install.sh")).expect("a script");
    release
}

/// Writes a script of sh that runs.
pub fn program(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}")).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("own file");
}

/// A `curl` in `place/bin` that serves the files of `release` and writes its words into `place/curl`.
pub fn fake_curl(place: &Path, release: &Path) {
    fs::create_dir_all(place.join("bin")).expect("a folder");
    let (words, release) = (place.join("curl"), release.display());
    let lines = format!(
        "echo \"$*\" >> {}\nwhile [ $# -gt 1 ]; do\n[ \"$1\" = --output ] && out=$2\nshift\ndone\n\
         cp \"{release}/${{1##*/}}\" \"$out\"\n",
        words.display()
    );
    program(&place.join("bin/curl"), &lines);
}

/// The shell that installs, in `place` and below it alone.
fn sh(place: &Path) -> Command {
    let mut sh = Command::new("sh");
    sh.current_dir(place).env("HOME", place.join("home")).env_remove("FARFIELD_RELEASE");
    sh
}

#[track_caller]
fn refused(output: &Output, reason: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains(reason), "{errors}");
}

/// A script from a pipe takes nothing from the folder where it happens to run.
#[test]
fn a_script_from_a_pipe_installs_only_from_where_it_is_said() {
    let place = tempfile::tempdir().expect("a folder");
    let release = tiny(place.path());
    let prefix = place.path().join("prefix");
    let piped = |script: &Path| {
        let mut sh = sh(&release);
        sh.stdin(File::open(script).expect("a script")).args(["-s", "--", "--prefix"]).arg(&prefix);
        sh
    };
    // A file that is called as the shell is does not make its folder that of the script.
    fs::copy(SCRIPT, release.join("sh")).expect("a script");
    let output = piped(Path::new(SCRIPT)).output().expect("sh starts");
    refused(&output, "name where the release is");
    assert!(!prefix.exists());

    // Of a part of the script nothing runs, wherever it is cut.
    let (text, part) = (fs::read(SCRIPT).expect("a script"), place.path().join("part"));
    let last = text.len() - 25;
    for end in (0..last).step_by(149).chain(last..text.len() - 1) {
        fs::write(&part, &text[..end]).expect("a file");
        let output = piped(&part).arg("--from").arg(&release).output().expect("sh starts");
        // A part of the last line would call it without its words.
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!prefix.exists() && !errors.contains("name where the release is"), "{end}: {output:?}");
    }
    let said = succeeds(piped(Path::new(SCRIPT)).arg("--from").arg(&release));
    assert!(said.starts_with(&format!("farfield {VERSION} is installed")), "{said}");
    // And beside the script, whatever the folder is called from.
    succeeds(sh(&release).args(["install.sh", "--prefix"]).arg(place.path().join("beside")));
    assert!(place.path().join("beside/bin/farfield").is_file());
    let help =
        succeeds(sh(place.path()).stdin(File::open(SCRIPT).expect("a script")).args(["-s", "--", "--help"]));
    assert!(help.contains("--from FOLDER|URL [--prefix FOLDER]"), "{help}");
}

/// Files that root installs with a strict umask are for all users.
#[test]
fn a_strict_umask_hides_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let release = tiny(place.path());
    let install = "umask 077; exec sh \"$1/install.sh\" --prefix prefix";
    succeeds(sh(place.path()).args(["-c", install, "sh"]).arg(&release));
    for (name, mode) in
        [("", 0o755), ("bin", 0o755), ("bin/farfield", 0o755), ("share/man/farfield.1", 0o644)]
    {
        let file = fs::metadata(place.path().join("prefix").join(name)).expect("it is installed");
        assert_eq!(file.permissions().mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn words_that_look_like_options_are_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let release = tiny(place.path());
    let script = release.join("install.sh");
    for words in [["--prefix", "-p"], ["--from", "--prefix"]] {
        let output = sh(place.path()).arg(&script).args(words).output().expect("sh starts");
        refused(&output, "looks like an option");
    }
    assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 1);
}

/// Over https nothing is read from elsewhere than https.
#[test]
fn addresses_are_read_by_their_protocol() {
    let place = tempfile::tempdir().expect("a folder");
    let release = tiny(place.path());
    fake_curl(place.path(), &release);
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").expect("a path"));
    for (scheme, protocols) in [("https", "--proto =https,https "), ("http", "--proto =https,http ")] {
        let from = format!("{scheme}://releases.example");
        let mut sh = sh(place.path());
        sh.env("PATH", &path).arg(release.join("install.sh")).args(["--from", &from, "--prefix", scheme]);
        succeeds(&mut sh);
        let words = fs::read_to_string(place.path().join("curl")).expect("words");
        assert!(words.lines().last().is_some_and(|line| line.starts_with(protocols)), "{words}");
        assert!(place.path().join(scheme).join("bin/farfield").is_file());
    }
}

/// Runs `lines` of sh with mounts of their own.
fn with_mounts(place: &Path, lines: &str) -> Output {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-ec", lines]).current_dir(place).env_remove("FARFIELD_RELEASE");
    unshare.output().expect("unshare starts")
}

/// A disk without room leaves the program that there was, and no parts of the new one.
#[test]
fn a_full_disk_leaves_the_old_program() {
    let test = "a_full_disk_leaves_the_old_program";
    if !may_build(test) {
        return;
    }
    let place = tempfile::tempdir().expect("a folder");
    let release = tiny(place.path());
    fs::create_dir(place.path().join("prefix")).expect("a folder");
    let output = with_mounts(
        place.path(),
        "mount -t tmpfs -o size=64k tmpfs prefix; mkdir prefix/bin; echo old > prefix/bin/farfield
         head -c 1m /dev/zero > prefix/filler 2>/dev/null || true
         code=0; sh release/install.sh --prefix prefix || code=$?
         ls -A prefix/bin; cat prefix/bin/farfield; exit $code",
    );
    refused(&output, "the program cannot be copied into prefix/bin");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "farfield\nold\n");
    assert!(release.is_dir());
}

#[test]
fn a_temporary_folder_that_runs_nothing_is_named() {
    let test = "a_temporary_folder_that_runs_nothing_is_named";
    if !may_build(test) {
        return;
    }
    let place = tempfile::tempdir().expect("a folder");
    tiny(place.path());
    fs::create_dir(place.path().join("still")).expect("a folder");
    let output = with_mounts(
        place.path(),
        "mount -t tmpfs -o noexec tmpfs still; TMPDIR=$PWD/still sh release/install.sh --prefix prefix",
    );
    refused(&output, "set TMPDIR to another folder");
    assert!(!place.path().join("prefix").exists());
}
