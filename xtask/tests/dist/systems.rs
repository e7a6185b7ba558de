//! Packages, the archive, the image and the wheel on systems.

use crate::release::{VERSION, file, folder, succeeds};
use crate::root::{Root, has, may_build};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The packages of Debian with the libraries that a program of this machine's linker needs.
const LIBRARIES: [&str; 2] = ["libc6", "libgcc-s1"];

/// The slowness of this machine, which is busy with other tests, makes no run invalid.
const CALM: &str = "lateness-p99=1m loop-lag-p99=1m worker-busy=1 rate-error=1 longest-stall=1m host-steal=1 \
                    machine-busy=1 server-held-up=1 throttled=1 capture-error=1m departure-lateness-p99=1m \
                    arrival-lateness-p99=1m crossing-lateness-p99=1m delivery-lateness-p99=1m \
                    pickup-lateness-p99=1m";

fn version() -> String {
    format!("farfield {VERSION}")
}

/// A person with the package, a machine without a compiler, and the time from nothing to a valid run across
/// an emulated WAN, before farfield's own server.
#[test]
#[expect(clippy::disallowed_methods, reason = "the promise is a time, far above what it takes")]
fn a_first_run_across_a_wan_is_valid_within_a_minute() {
    let test = "a_first_run_across_a_wan_is_valid_within_a_minute";
    let Some(folder) = folder(test) else { return };
    if !may_build(test) || !has(test, "dpkg") {
        return;
    }
    let root = Root::with_packages(&LIBRARIES);
    let began = Instant::now();
    let mut dpkg = Command::new("dpkg");
    dpkg.arg("--root").arg(root.path("")).arg("--install").arg(file(folder, ".deb"));
    succeeds(&mut dpkg);
    let mut words =
        vec!["/usr/bin/farfield", "run", "--rtt", "80ms", "-c", "20", "-d", "3s", "-o", "/run/first"];
    let limits: Vec<String> = CALM.split_whitespace().map(|limit| format!("verdict.{limit}")).collect();
    words.extend(limits.iter().flat_map(|limit| ["--set", limit.as_str()]));
    let text = succeeds(&mut root.run(&words));
    let took = began.elapsed();
    assert!(text.contains("VALID") && !text.contains("INVALID"), "{text}");
    assert!(root.path("run/first/report.html").is_file());
    assert!(took < Duration::from_secs(60), "{took:?}");

    // It has man pages and completions, and leaves nothing.
    let has = |place: &str| root.path(place).exists();
    assert!(
        has("usr/share/man/man1/farfield-run.1.gz") && has("usr/share/bash-completion/completions/farfield")
    );
    let mut dpkg = Command::new("dpkg");
    succeeds(dpkg.arg("--root").arg(root.path("")).args(["--purge", "farfield"]));
    assert!(!has("usr/bin/farfield") && !has("usr/share/doc/farfield"));
}

/// dpkg refuses it where a library that the program needs is not there.
#[test]
fn the_package_asks_for_what_the_program_needs() {
    let test = "the_package_asks_for_what_the_program_needs";
    let Some(folder) = folder(test) else { return };
    if !may_build(test) || !has(test, "dpkg") {
        return;
    }
    let root = Root::with_packages(&LIBRARIES[1..]);
    let mut dpkg = Command::new("dpkg");
    dpkg.arg("--root").arg(root.path("")).arg("--install").arg(file(folder, ".deb"));
    let output = dpkg.output().expect("dpkg starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("farfield depends on libc6 (>= 2."), "{errors}");
}

#[test]
fn rpm_installs_verifies_and_removes_it() {
    let test = "rpm_installs_verifies_and_removes_it";
    let Some(folder) = folder(test) else { return };
    if !may_build(test) || !has(test, "rpm") {
        return;
    }
    let (package, root) = (file(folder, ".rpm"), Root::with_packages(&LIBRARIES));
    let rpm = |words: &[&str]| {
        let mut rpm = Command::new("rpm");
        rpm.arg("--root").arg(root.path("")).args(words);
        rpm
    };
    let path = package.to_str().expect("a plain path");
    let needs = succeeds(Command::new("rpm").args(["-qp", "--requires", path]));
    assert!(needs.contains("libc.so.6(GLIBC_2.") && needs.contains("libgcc_s.so.1()(64bit)"), "{needs}");
    assert_eq!(succeeds(Command::new("rpm").args(["-qp", "--scripts", path])), "");
    // Its list of packages is empty, so that nothing there is known to provide the libraries.
    succeeds(&mut rpm(&["--install", "--nodeps", path]));
    assert_eq!(succeeds(&mut rpm(&["--query", "farfield"])).trim(), format!("farfield-{VERSION}-1.x86_64"));
    assert_eq!(succeeds(&mut rpm(&["--verify", "--nodeps", "farfield"])), "");
    assert_eq!(succeeds(&mut root.run(&["/usr/bin/farfield", "--version"])).trim(), version());
    succeeds(&mut rpm(&["--erase", "--nodeps", "farfield"]));
    assert!(!root.path("usr/bin/farfield").exists());
}

/// The image, unpacked by its own index, without a daemon.
#[test]
fn the_image_runs_on_its_own() {
    let test = "the_image_runs_on_its_own";
    let Some(folder) = folder(test) else { return };
    if !may_build(test) {
        return;
    }
    let (layout, root) = (tempfile::tempdir().expect("a folder"), Root::empty());
    let unpack = |archive: &Path, into: &Path| {
        succeeds(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(into));
    };
    unpack(&file(folder, "-oci.tar"), layout.path());
    let read = |file: &Path| -> serde_json::Value {
        serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON")
    };
    let blob = |descriptor: &serde_json::Value| {
        let digest = descriptor["digest"].as_str().expect("a digest").replace("sha256:", "");
        let file = layout.path().join("blobs/sha256").join(&digest);
        let sum = succeeds(Command::new("sha256sum").arg(&file));
        assert!(sum.starts_with(&digest), "{sum}");
        assert_eq!(descriptor["size"], fs::metadata(&file).expect("a file").len());
        file
    };
    let manifest = read(&blob(&read(&layout.path().join("index.json"))["manifests"][0]));
    let config = read(&blob(&manifest["config"]));
    unpack(&blob(&manifest["layers"][0]), &root.path(""));
    let entry = config["config"]["Entrypoint"][0].as_str().expect("a program");
    assert_eq!(succeeds(&mut root.run(&[entry, "--version"])).trim(), version());
    // A run in virtual time needs no network, and its directory is written where the image works.
    let run =
        [entry, "run", "--plane", "simulated", "--rtt", "80ms", "-c", "5", "-d", "2s", "-o", "/work/run"];
    let text = succeeds(&mut root.run(&run));
    assert!(text.contains("VALID") && !text.contains("INVALID"), "{text}");
    assert!(root.path("work/run/summary.json").is_file());
}

#[test]
fn the_script_installs_from_a_folder_and_refuses_what_is_damaged() {
    let test = "the_script_installs_from_a_folder_and_refuses_what_is_damaged";
    let Some(folder) = folder(test) else { return };
    let place = tempfile::tempdir().expect("a folder");
    let install = |from: &str, name: &str| {
        let mut sh = Command::new("sh");
        sh.arg(folder.join("install.sh")).args(["--from", from, "--prefix"]).arg(place.path().join(name));
        sh
    };
    let url = format!("file://{}", folder.display());
    for (from, name) in [(url.as_str(), "by-url"), (folder.to_str().expect("a plain path"), "by-path")] {
        let text = succeeds(&mut install(from, name));
        assert!(text.starts_with(&format!("{} is installed", version())), "{text}");
        let program = place.path().join(name).join("bin/farfield");
        assert_eq!(succeeds(Command::new(program).arg("--version")).trim(), version());
    }
    // Over an installation that there is.
    succeeds(&mut install(&url, "by-url"));

    let refused = |folder: &str, reason: &str| {
        let output = install(folder, "refused").output().expect("sh starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(reason), "{errors}");
        assert!(!place.path().join("refused").exists());
    };
    refused("file:///nowhere", "has no SHA256SUMS");
    let damaged = place.path().join("damaged");
    fs::create_dir(&damaged).expect("a folder");
    let archive = file(folder, "-linux.tar.gz");
    let name = archive.file_name().expect("a name");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).expect("sums");
    fs::write(damaged.join("SHA256SUMS"), &sums).expect("a file");
    let mut content = fs::read(&archive).expect("an archive");
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(damaged.join(name), content).expect("a file");
    refused(damaged.to_str().expect("a plain path"), "is damaged");
    fs::write(damaged.join("SHA256SUMS"), sums.replace("x86_64-linux", "m68k-linux")).expect("a file");
    refused(damaged.to_str().expect("a plain path"), "has no archive for");
}

#[test]
fn pip_installs_the_wheel_and_python_finds_the_program() {
    let test = "pip_installs_the_wheel_and_python_finds_the_program";
    let Some(folder) = folder(test) else { return };
    if !has(test, "python3") {
        return;
    }
    let is_new =
        Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status();
    if !is_new.expect("python3 starts").success() {
        return farfield_testkit::skip(test, "python3 is older than 3.10");
    }
    let place = tempfile::tempdir().expect("a folder");
    let environment = place.path().join("environment");
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let python = environment.join("bin/python");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]);
    succeeds(pip.arg(file(folder, ".whl")));
    let alone = |command: &mut Command| succeeds(command.env_clear().current_dir(place.path()));
    assert_eq!(alone(Command::new(environment.join("bin/farfield")).arg("--version")).trim(), version());
    assert_eq!(alone(Command::new(&python).args(["-m", "farfield", "--version"])).trim(), version());
    let found = alone(Command::new(&python).args(["-c", "import farfield; print(farfield.program())"]));
    assert_eq!(Path::new(found.trim()), environment.join("bin/farfield"));
    assert!(environment.join("share/man/man1/farfield.1").is_file());
    // A run by the package, with nothing but the standard library; its classes are in a folder of their own.
    let script = "import farfield\n\
                  run = farfield.run({'plane': 'simulated', 'load': {'users': 20, 'think': '10ms'}}, duration=1)\n\
                  print(run.raise_if_invalid().summary.steady.requests, len(farfield.__all__))";
    let printed = alone(Command::new(&python).args(["-c", script]));
    let requests = printed.split(' ').next().and_then(|count| count.parse::<u32>().ok());
    assert!(requests.is_some_and(|count| count > 100), "{printed}");
    let script = "import importlib.metadata as m; import os, farfield\n\
                  wheel = m.distribution('farfield')\n\
                  print([point.value for point in wheel.entry_points.select(group='pytest11')])\n\
                  print(sorted(wheel.metadata.get_all('Provides-Extra')), \
                  os.path.exists(os.path.join(os.path.dirname(farfield.__file__), 'py.typed')))";
    let facts = alone(Command::new(&python).args(["-c", script]));
    assert_eq!(facts, "['farfield.pytest_plugin']\n['arrow', 'notebook', 'pytest', 'ray'] True\n");
    // pip finds every file that the wheel's list has, and its digest.
    let mut pip = Command::new(&python);
    succeeds(pip.args(["-m", "pip", "uninstall", "--quiet", "--yes", "farfield"]));
    assert!(!environment.join("bin/farfield").exists());
}
