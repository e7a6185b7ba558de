//! The release that all tests here look at, made once; and its files beside each other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Address that formula and templates are filled in with.
const RELEASES: &str = "https://releases.example/farfield";

/// The folder of the release; `None` if no farfield has been built beside these tests.
static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release");
    package(&built()?, &folder);
    Some(folder)
});

/// The farfield that has been built beside these tests.
fn built() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("a test has a path");
    let binary = test.ancestors().nth(2).expect("tests lie two folders deep").join("farfield");
    binary.is_file().then_some(binary)
}

/// The folder of the release; without a program to package, `test` is skipped.
pub fn folder(test: &str) -> Option<&'static Path> {
    let folder = FOLDER.as_deref();
    if folder.is_none() {
        farfield_testkit::skip(test, "no farfield is built: cargo build -p farfield");
    }
    folder
}

/// Runs `cargo xtask dist` for `binary` into `folder`.
fn package(binary: &Path, folder: &Path) -> String {
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--compression", "1", "--releases", RELEASES, "--binary"]).arg(binary);
    succeeds(dist.arg("--out").arg(folder))
}

/// The output of a command that succeeds.
pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ends with {}:\n{text}{errors}", output.status);
    text
}

/// The one file of the folder whose name ends so.
pub fn file(folder: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let found: Vec<PathBuf> = files.filter(|file| file.to_string_lossy().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{found:?} end with {end}");
    found.into_iter().next().expect("one file")
}

/// A small program that says to be a farfield of this version: what is packaged costs time by its size.
fn small(folder: &Path, version: &str) -> PathBuf {
    let (source, program) = (folder.join("small.c"), folder.join("small"));
    let text = format!("#include <stdio.h>\nint main(void) {{ return puts(\"farfield {version}\") < 0; }}\n");
    fs::write(&source, text).expect("a file");
    // What links Rust's programs is here.
    succeeds(Command::new("cc").arg("-o").arg(&program).arg(&source));
    program
}

#[test]
fn two_packagings_are_the_same_and_have_their_digests() {
    let place = tempfile::tempdir().expect("a folder");
    let program = small(place.path(), VERSION);
    let [one, other] = ["one", "other"].map(|name| place.path().join(name));
    package(&program, &one);
    // The second one takes the place of another release, of which nothing stays.
    fs::create_dir(&other).expect("a folder");
    for name in [
        "farfield_0.0.1_amd64.deb",
        "farfield-0.0.1-x86_64-linux.tar.gz",
        "farfield-0.0.1-1.x86_64.rpm",
        "farfield-0.0.1-py3-none-manylinux_2_17_aarch64.whl",
        "farfield-0.0.1-rc.1-x86_64-oci.tar",
        "farfield-0.0.1.cdx.json",
        "farfield.rb",
    ] {
        fs::write(other.join(name), "").expect("a file");
    }
    package(&program, &other);
    let sums = [&one, &other].map(|folder| fs::read_to_string(folder.join("SHA256SUMS")).expect("sums"));
    assert_eq!(sums[0], sums[1]);
    assert_eq!(fs::read_dir(&other).expect("a folder").count(), 9, "{}", sums[0]);
    let checked = succeeds(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&other));
    assert_eq!(checked.matches(": OK").count(), 8, "{checked}");
}

#[test]
fn what_is_of_no_release_is_refused_and_left_alone() {
    let place = tempfile::tempdir().expect("a folder");
    let out = place.path().join("out");
    fs::create_dir(&out).expect("a folder");
    let refused = |program: &Path, reason: &str| {
        let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
        dist.args(["dist", "--binary"]).arg(program).arg("--out").arg(&out);
        let output = dist.output().expect("xtask starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(reason), "{errors}");
        assert_eq!(fs::read_dir(&out).expect("a folder").count(), 1);
    };
    fs::write(out.join("thesis.txt"), "").expect("a file");
    let other_version = format!("is `farfield 0.0.1`, and the release is of `farfield {VERSION}`");
    refused(&small(place.path(), "0.0.1"), &other_version);
    let program = small(place.path(), VERSION);
    refused(&program, "thesis.txt is of no release");
    // Of a person's own files, whatever they begin with.
    for name in
        ["farfield-notes.md", "farfield-run", "farfield-0.2.0-x86_64-linux.tar.gz.part", "farfield-1.2.rpm"]
    {
        fs::remove_dir_all(&out).and_then(|()| fs::create_dir(&out)).expect("own folder");
        fs::write(out.join(name), "").expect("a file");
        refused(&program, &format!("{name} is of no release"));
    }
}

#[test]
fn the_version_is_one() {
    let test = "the_version_is_one";
    let Some(folder) = folder(test) else { return };
    let formula = fs::read_to_string(folder.join("farfield.rb")).expect("a formula");
    assert!(!formula.contains('@'), "{formula}");
    let archive = format!("{RELEASES}/v{VERSION}/farfield-{VERSION}-");
    assert!(formula.contains(&archive), "{formula}");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).expect("sums");
    let digest = sums.lines().find(|line| line.ends_with(".tar.gz")).expect("an archive").split(' ').next();
    assert!(formula.contains(digest.expect("a digest")), "{formula}");
    let bill = fs::read_to_string(file(folder, ".cdx.json")).expect("a bill");
    assert!(bill.contains(&format!("pkg:cargo/farfield@{VERSION}")), "{bill}");
    // Crates that are linked are in it, and what only builds or tests is not.
    assert!(bill.contains("pkg:cargo/rustls@") && bill.contains("pkg:cargo/aws-lc-sys@"));
    assert!(!bill.contains("pkg:cargo/proptest@") && !bill.contains("pkg:cargo/serde_derive@"));
    let changes = fs::read_to_string("../CHANGELOG.md").expect("a changelog");
    let heading = changes.lines().find(|line| line.starts_with("## ")).expect("a release");
    assert!(heading.starts_with(&format!("## {VERSION}")), "{heading}");
}
