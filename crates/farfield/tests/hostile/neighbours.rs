//! Attacks by another user of the machine on whoever runs farfield: links planted where it is about to write,
//! files made for it in advance, names that lead to pipes and devices.
//!
//! Links and files are planted by processes of another user. Where such a process races with farfield, both
//! are in namespaces of processes and mounts that end with the scene.

use crate::common::wan::{CALM_PACKETS, SHORT, find, may_build};
use crate::common::{CALM, Ended, Place, poll, shell};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// nobody's number.
const NEIGHBOUR: u32 = 65_534;
/// daemon's number, for a server that gets a user of its own.
const DAEMON: u32 = 1;

/// A process of another user that runs a script, with the words after it as its arguments. It ends with the
/// test.
struct Neighbour(Child);

impl Neighbour {
    fn start(script: &str, arguments: &[&Path]) -> Neighbour {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh"]).args(arguments).current_dir("/");
        let command = command.uid(NEIGHBOUR).gid(NEIGHBOUR).stdin(Stdio::null()).stdout(Stdio::null());
        Neighbour(command.stderr(Stdio::null()).spawn().expect("a shell"))
    }

    /// Runs a script of commands that all succeed to its end.
    fn plant(script: &str, arguments: &[&Path]) {
        let status = Neighbour::start(&format!("set -e\n{script}"), arguments).0.wait().expect("a child");
        assert!(status.success(), "it could not be planted: {script}");
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder for everybody, as `/tmp` is.
fn shared(place: &Place, name: &str) -> PathBuf {
    let path = place.path(name);
    fs::create_dir(&path).expect("own folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).expect("own folder");
    path
}

/// A file that is the user's alone.
fn victim(place: &Place) -> PathBuf {
    let path = place.write("victim", "kept");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("own file");
    path
}

/// Its content, owner and mode are as they were.
fn is_kept(victim: &Path) -> bool {
    let found = fs::metadata(victim).expect("own file");
    (found.uid(), found.mode() & 0o777) == (0, 0o600)
        && fs::read_to_string(victim).expect("own file") == "kept"
}

/// A run with a server beside the first and a program, which find one another by name.
const SERVERS: &str =
    "plane = 'emulated'\n[network]\nclients = 3\nrtt = '2ms'\n[[network.server]]\nname = 'b'\nrtt = '3ms'\n";
/// A server that runs as another user.
const OF_A_USER: &str = "plane = 'emulated'\nnetwork.rtt = '2ms'\n[server]\nuser = 'daemon'\n\
    command = 'echo own; exec sleep 60'\nready = 'started'\n";

/// The words of a run of `scenario`.
fn words(scenario: &str, out: &str) -> String {
    let beside = if scenario == "names.toml" { "--beside clients='cat /etc/hosts'" } else { "" };
    let limits = [CALM, CALM_PACKETS, SHORT].join(" ");
    format!("run {scenario} -c 1 -d 300ms --warm-up 0s -q --out {out} {limits} {beside}")
}

fn write_scenarios(place: &Place) {
    place.write("names.toml", SERVERS);
    place.write("user.toml", OF_A_USER);
}

/// Waits for a process, makes folders of every name in the folder for temporary files that it may be about to
/// use, with links in them, and then tries every folder there of another user: one that it may look into is
/// noted, and gets links.
const RACE: &str = r#"
    plant() { for file in hosts resolv.conf nsswitch.conf server.log; do ln -s "$2" "$1/$file"; done; }
    cd "$1" || exit
    until [ -s pid ]; do sleep 0.01; done
    read pid < pid
    inode=$(stat -L -c %i /proc/self/ns/pid)
    ticks=$(cut -d ' ' -f 22 < "/proc/$pid/stat")
    for number in 0 1 2 3 4 5 6 7 8 9; do
        for name in "farfield-names-$pid-$number" "$pid-$number-$inode-$ticks" "names-$number"; do
            mkdir "$name"
            plant "$name" "$2"
        done
    done
    echo planted > planted
    while :; do
        for folder in * .[!.]*; do
            [ -d "$folder" ] && ! [ -O "$folder" ] || continue
            [ -r "$folder" ] || [ -w "$folder" ] || [ -x "$folder" ] || continue
            echo "$folder" >> entered
            plant "$folder" "$2"
        done
        sleep 0.002
    done
"#;

/// Runs farfield beside a neighbour that races with it for the folder of temporary files, where `before` are
/// lines of shell before it. The process has its number and its start before it is farfield, and so the
/// neighbour comes in time.
#[track_caller]
fn raced(place: &Place, before: &str, words: &str) -> Ended {
    let (temporary, victim) = (shared(place, "tmp"), victim(place));
    let farfield = env!("CARGO_BIN_EXE_farfield");
    place.write("race.sh", RACE);
    place.write(
        "farfield.sh",
        format!(
            "{before}\necho $$ > tmp/pid\nfor wait in $(seq 1000); do [ -s tmp/planted ] && break; sleep 0.01; \
             done\nexec {farfield} {words}\n"
        ),
    );
    place.write(
        "scene.sh",
        format!(
            "umask 0\nexport TMPDIR=$PWD/tmp\nsetpriv --reuid={NEIGHBOUR} --regid={NEIGHBOUR} --clear-groups \
             sh $PWD/race.sh $PWD/tmp $PWD/victim > /dev/null 2>&1 &\nsh farfield.sh\n"
        ),
    );
    let ended = shell(place, "exec unshare --pid --fork --kill-child --mount --mount-proc sh scene.sh");
    assert!(temporary.join("planted").exists(), "the neighbour came in time: {ended:?}");
    assert!(is_kept(&victim), "{ended:?}");
    let entered = fs::read_to_string(temporary.join("entered")).unwrap_or_default();
    assert_eq!(entered, "", "folders that another user could look into");
    let own = fs::read_dir(&temporary).expect("a folder").flatten();
    let left: Vec<_> = own.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == 0)).collect();
    assert!(left.iter().all(|entry| entry.file_name() == "pid"), "{left:?}");
    ended
}

/// True if such a race can be run; if not, `test` is skipped.
fn may_race(test: &str) -> bool {
    may_build(test) && ["unshare", "setpriv"].iter().all(|program| find(test, program).is_some())
}

/// The files that show programs and servers the names of hosts, which are written as root.
#[test]
fn files_of_names_follow_no_planted_link() {
    if !may_race("files_of_names_follow_no_planted_link") {
        return;
    }
    let place = Place::new();
    write_scenarios(&place);
    let ended = raced(&place, "", &words("names.toml", "run"));
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    // The names are there all the same.
    let hosts = fs::read_to_string(place.path("run/program-1.log")).expect("a log");
    assert!(hosts.lines().any(|line| line.ends_with("\tb")), "{hosts}");
}

/// The names and the server's log of a shell, which has no run directory.
#[test]
fn a_shell_follows_no_planted_link() {
    if !may_race("a_shell_follows_no_planted_link") {
        return;
    }
    let place = Place::new();
    let ended = raced(&place, "", "shell -q --rtt 2ms -- cat /etc/hosts").exits(0);
    assert!(ended.stdout.lines().any(|line| line.ends_with("\tserver")), "{ended:?}");
}

/// A route between two hosts, and a tool before the packets that it sends: neither has temporary files.
#[test]
fn a_route_and_an_audit_follow_no_planted_link() {
    let test = "a_route_and_an_audit_follow_no_planted_link";
    if !may_race(test) || ["ip", "nsenter"].iter().any(|program| find(test, program).is_none()) {
        return;
    }
    let place = Place::new();
    // Hosts end with the scene.
    let hosts = "host() { unshare --net sh -c \"ip link set lo up; ip address add $1/32 dev lo; echo > $2; exec \
                 sleep 600\" > /dev/null 2>&1 & }\nhost 10.0.1.1 one; one=$!\nhost 10.0.2.1 two; two=$!\n\
                 until [ -e one ] && [ -e two ]; do sleep 0.01; done\n";
    let route = "route 10.0.2.1 --clients-netns /proc/$one/ns/net --server-netns /proc/$two/ns/net --rtt 2ms \
                 --duration 300ms --set verdict.departure-lateness-p99=1m";
    let ended = raced(&place, hosts, route).exits(0);
    assert!(ended.stderr.contains("farfield: routing\n"), "{ended:?}");

    let place = Place::new();
    let ended = raced(&place, "", "audit -o audit --origin service-time=1ms -- sh -c 'exit 0'");
    assert!(ended.code.is_some(), "{ended:?}");
}

/// A directory that another user made, with files that everybody may read and write and that their maker has
/// open, and a generous umask. The log of a server that has a user is that user's.
#[test]
fn files_of_a_run_are_its_owners_alone_in_a_directory_of_another_user() {
    if !may_build("files_of_a_run_are_its_owners_alone_in_a_directory_of_another_user") {
        return;
    }
    // Opens three files for each of two runs, and reads them when these have ended.
    const OPEN: &str = "set -e
        cd \"$1\"; umask 0; mkdir names user
        for name in server.log program-1.log samples.parquet .summary.json.draft; do
            echo planted > names/$name; echo planted > user/$name
        done
        exec 3< names/server.log 4< names/program-1.log 5< names/samples.parquet
        exec 6< user/server.log 7< user/.summary.json.draft
        echo > ready
        until [ -e ended ]; do sleep 0.01; done
        cat <&3 > 3; cat <&4 > 4; cat <&5 > 5; cat <&6 > 6; cat <&7 > 7; echo > read";
    let place = Place::new();
    write_scenarios(&place);
    let common = shared(&place, "common");
    let mut neighbour = Neighbour::start(OPEN, &[&common]);
    let mut await_file = |name: &str| {
        poll(name, || {
            assert!(neighbour.0.try_wait().expect("a child").is_none() || common.join(name).exists());
            common.join(name).exists().then_some(())
        });
    };
    await_file("ready");
    for (scenario, owner, least) in [("names", 0, 8), ("user", DAEMON, 4)] {
        let run = common.join(scenario);
        let words = words(&format!("{scenario}.toml"), run.to_str().expect("a plain path"));
        let ended = shell(&place, &format!("umask 0; exec FARFIELD {words}"));
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        let mut seen = 0;
        for entry in fs::read_dir(&run).expect("a folder").flatten() {
            let (found, name) = (entry.metadata().expect("a file"), entry.file_name());
            let mode = if found.is_dir() { 0o700 } else { 0o600 };
            let owner = if name == "server.log" { owner } else { 0 };
            // A file that the neighbour planted under a name that this run does not use is still its own.
            if found.uid() != NEIGHBOUR || name != "program-1.log" || scenario == "names" {
                assert_eq!((found.uid(), found.mode() & 0o777), (owner, mode), "{name:?}");
                seen += 1;
            }
        }
        assert!(seen > least, "{seen} files");
    }
    let said = fs::read_to_string(common.join("user/server.log")).expect("a log");
    assert_eq!(said, "own\n");
    assert!(fs::metadata(common.join("names/program-1.log")).expect("a log").len() > 10);
    fs::write(common.join("ended"), "").expect("own file");
    await_file("read");
    for number in 3..8 {
        let text = fs::read_to_string(common.join(number.to_string())).expect("text");
        assert_eq!(text, "planted\n", "descriptor {number} is of the file that the neighbour has open");
    }
}

/// Logs of servers and programs, captures, keys, and copies of inputs, in directories where another user has
/// put links, and pipes that nobody reads.
#[test]
fn links_and_pipes_in_a_run_directory_are_refused() {
    if !may_build("links_and_pipes_in_a_run_directory_are_refused") {
        return;
    }
    const PLANT: &str = "cd \"$1\"; umask 0
        for name in server.log server-b.log program-1.log user.log capture.pcapng keys.log tool-output.txt; do
            file=$name; [ $name = user.log ] && file=server.log
            mkdir link-$name pipe-$name; ln -s \"$2\" link-$name/$file; mkfifo pipe-$name/$file
        done
        mkdir copies; ln -s \"$3\" copies/inputs";
    let place = Place::new();
    write_scenarios(&place);
    let (victim, elsewhere) = (victim(&place), shared(&place, "elsewhere"));
    Neighbour::plant(PLANT, &[&shared(&place, "common"), &victim, &elsewhere]);
    // Something that answers, and has nothing to say.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = listener.local_addr().expect("an address");
    let command = |name: &str, out: &str| match name {
        // A log that is given away to the server's user.
        "user.log" => words("user.toml", out),
        "capture.pcapng" => format!("{} --capture", words("user.toml", out)),
        "keys.log" => {
            format!("run https://{server}/ --insecure -n 1 -q --out {out} --set tls.key-log=true")
        }
        "tool-output.txt" => format!("audit -o {out} --origin service-time=1ms -- sh -c 'exit 0'"),
        _ => words("names.toml", out),
    };
    for name in [
        "server.log",
        "server-b.log",
        "program-1.log",
        "user.log",
        "capture.pcapng",
        "keys.log",
        "tool-output.txt",
    ] {
        // All go through one door; that it refuses pipes as well is seen of most.
        let kinds = [("link", "a symbolic link"), ("pipe", "a pipe")];
        let some = if ["user.log", "keys.log", "tool-output.txt"].contains(&name) { 1 } else { 2 };
        for (planted, kind) in kinds.into_iter().take(some) {
            let words = command(name, &format!("common/{planted}-{name}"));
            let ended = shell(&place, &format!("exec FARFIELD {words}")).exits(1);
            assert!(
                ended.stderr.contains(&format!("it is no regular file, but {kind}")),
                "{name}: {ended:?}"
            );
            assert!(is_kept(&victim), "{name}");
        }
    }
    place.write("urls", "/\n");
    place.write("u.toml", "requests.file = 'urls'\n");
    let ended = place.farfield("run u.toml -n 1 -q --out common/copies");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
}

/// Files that are named for a result, in a folder where another user has put a link under the name.
#[test]
fn a_planted_link_under_a_results_name_is_refused() {
    if !may_build("a_planted_link_under_a_results_name_is_refused") {
        return;
    }
    let place = Place::new();
    let (temporary, victim) = (shared(&place, "tmp"), victim(&place));
    fs::create_dir(place.path("victims")).expect("own folder");
    place.write(
        "access.log",
        (0..200)
            .map(|n| {
                format!(
                    "10.0.0.{} - - [01/Jan/2026:10:{:02}:{:02} +0000] \"GET /{} HTTP/1.1\" 200 900\n",
                    n % 9,
                    n / 60,
                    n % 60,
                    n % 7
                )
            })
            .collect::<String>(),
    );
    place.write("model.toml", "pages = 3\ndocuments = 1\nembedded-objects = 2\nembedded = 1\nlinks = 1\nsizes = { body = { distribution = 'constant', value = 900 } }\n");
    place.farfield("site make model.toml www").exits(0);
    place.run("-n 20 -c 1").exits(0);
    Neighbour::plant(
        "cd \"$1\"; for name in site.json report.html report.csv; do ln -s \"$2\" $name; done; ln -s \"$3\" made; \
         ln -s \"$3\" fit",
        &[&temporary, &victim, &place.path("victims")],
    );
    for (name, words) in [
        ("site.json", "site read www -o tmp/site.json"),
        ("report.html", "report run-1 --format html -o tmp/report.html"),
        ("report.csv", "report run-1 --format csv -o tmp/report.csv"),
    ] {
        let planted = temporary.join(name);
        let ended = place.farfield(words);
        assert_ne!(ended.code, Some(0), "{words}: {ended:?}");
        assert!(ended.stderr.contains("of another user"), "{words}: {ended:?}");
        assert!(is_kept(&victim), "{words}");
        fs::remove_file(&planted).expect("planted");
        place.farfield(words).exits(0);
    }
    for (name, words) in [("made", "site make model.toml tmp/made"), ("fit", "fit access.log -o tmp/fit")] {
        let planted = temporary.join(name);
        let ended = place.farfield(words);
        assert!(ended.code != Some(0) && ended.stderr.contains("of another user"), "{words}: {ended:?}");
        assert_eq!(fs::read_dir(place.path("victims")).expect("own folder").count(), 0, "{words}");
        fs::remove_file(&planted).expect("planted");
        place.farfield(words).exits(0);
    }
}

/// Every file that a scenario can name, and the scenario itself, as what never ends or never begins:
/// `--show-scenario` answers at once, and says what it is.
#[test]
fn a_scenario_reads_regular_files_alone() {
    let place = Place::new();
    let at = |name: &str| place.path(name);
    // The end of a file's name says that it is a site.
    symlink("/dev/zero", at("zero.json")).expect("a link");
    mkfifoat(CWD, at("pipe.json"), Mode::RUSR | Mode::WUSR).expect("a pipe");
    fs::create_dir(at("folder.json")).expect("a folder");
    let _listener = UnixListener::bind(at("socket.json")).expect("a socket");
    fs::File::create(at("large.json")).and_then(|file| file.set_len(1 << 42)).expect("a sparse file");
    let keys = [
        "requests.file = 'FILE'\n",
        "requests.site = 'FILE'\n",
        "[[requests.request]]\nmethod = 'POST'\npath = '/'\nbody = { file = 'FILE' }\n",
        "load = { model = 'open', arrivals = { process = 'gaps', file = 'FILE' } }\n",
        "session.replay = { file = 'FILE', timing = 'exact' }\n",
        "target = 'https://127.0.0.1/'\ntls.ca = 'FILE'\n",
        "[[session.data]]\nfile = 'FILE'\n[[session.state]]\nname = 'a'\npath = '/${name}'\n",
        "[[session.state]]\nname = 'a'\npath = '/'\nmethod = 'POST'\nbody = { file = 'FILE' }\n",
    ];
    for (file, says, as_scenario) in [
        ("zero.json", "but a device", "but a device"),
        // A pipe may be a scenario where its name is typed, but this one has no writer.
        ("pipe.json", "but a pipe", "a pipe that nobody writes into"),
        ("folder.json", "but a directory", "is no run directory"),
        ("socket.json", "but a socket", "but a socket"),
        ("large.json", "more than 2GiB", "more than 16MiB"),
    ] {
        for key in keys {
            place.write("s.toml", key.replace("FILE", file));
            let ended = place.farfield("run s.toml --show-scenario").exits(2);
            assert!(ended.stderr.contains(says), "{key} with {file}: {ended:?}");
        }
        let ended = place.farfield(&format!("run {file} --show-scenario")).exits(2);
        assert!(ended.stderr.contains(as_scenario), "{file}: {ended:?}");
    }
    place.write("ok.toml", "seed = 77\n");
    let piped = shell(&place, "cat ok.toml | FARFIELD run /dev/stdin --show-scenario").exits(0);
    assert!(piped.stdout.contains("seed = 77"), "{piped:?}");
}
