//! What another user of the machine can do to whoever runs farfield: links planted where it is about to
//! write, files made for it in advance, names that lead to pipes and devices. Each scene is played by a
//! process of another user.

mod common;

use common::wan::{CALM_PACKETS, SHORT, may_build};
use common::{CALM, Ended, Place, shell};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Uid, mkfifoat};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// nobody's number.
const NEIGHBOUR: u32 = 65_534;

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
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder for everybody, as `/tmp` is.
fn shared(place: &Place, name: &str) -> std::path::PathBuf {
    let path = place.path(name);
    fs::create_dir(&path).expect("own folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).expect("own folder");
    path
}

/// Gives a file away, itself and not what it leads to.
fn give(path: &Path) {
    let (user, group) = (Some(Uid::from_raw(NEIGHBOUR)), Some(Gid::from_raw(NEIGHBOUR)));
    rustix::fs::chownat(CWD, path, user, group, AtFlags::SYMLINK_NOFOLLOW).expect("own file");
}

/// A file that is the user's alone.
fn victim(place: &Place) -> std::path::PathBuf {
    let path = place.write("victim", "kept");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("own file");
    path
}

fn is_kept(victim: &Path) -> bool {
    fs::read_to_string(victim).expect("own file") == "kept"
}

/// A run with a server beside the first and a program, which find one another by name.
const SERVERS: &str =
    "plane = 'emulated'\n[network]\nclients = 3\nrtt = '2ms'\n[[network.server]]\nname = 'b'\nrtt = '3ms'\n";

fn run_with_names(place: &Place, before: &str, out: &str) -> Ended {
    place.write("s.toml", SERVERS);
    let limits = [CALM, CALM_PACKETS, SHORT].join(" ");
    let line = format!(
        "{before}; exec FARFIELD run s.toml -c 1 -d 300ms --warm-up 0s -q --out {out} {limits} \
         --beside clients='cat /etc/hosts'"
    );
    shell(place, &line)
}

/// Waits for a process, makes folders of every name in the folder for temporary files that it may be about to
/// use, with links in them, and then goes through every folder there that it may enter.
const PLANT: &str = r#"
    cd "$1" || exit
    until [ -s pid ]; do sleep 0.01; done
    read pid < pid
    inode=$(stat -L -c %i /proc/self/ns/pid)
    ticks=$(cut -d ' ' -f 22 < "/proc/$pid/stat")
    for number in 0 1 2 3 4 5 6 7 8 9; do
        for name in "farfield-names-$pid-$number" "$pid-$number-$inode-$ticks" "names-$number"; do
            mkdir "$name"
            for file in hosts resolv.conf nsswitch.conf; do ln -s "$2" "$name/$file"; done
        done
    done
    echo planted > planted
    while :; do
        for folder in * .[!.]*; do
            [ -d "$folder" ] && ! [ -O "$folder" ] && ls "$folder" && echo "$folder" >> entered
        done
        sleep 0.01
    done
"#;

/// The files that show programs and servers the names of hosts, which are written as root.
#[test]
fn files_of_names_follow_no_planted_link() {
    if !may_build("files_of_names_follow_no_planted_link") {
        return;
    }
    let place = Place::new();
    let (temporary, victim) = (shared(&place, "tmp"), victim(&place));
    let _neighbour = Neighbour::start(PLANT, &[&temporary, &victim]);
    // The process has its number and its start before it is farfield, and so the neighbour comes in time.
    let before = format!(
        "umask 0; export TMPDIR={0}; echo $$ > {0}/pid; until [ -s {0}/planted ]; do sleep 0.01; done",
        temporary.display()
    );
    let ended = run_with_names(&place, &before, "run");
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    assert!(is_kept(&victim) && fs::metadata(&victim).expect("own file").mode() & 0o777 == 0o600);
    let entered = fs::read_to_string(temporary.join("entered")).unwrap_or_default();
    assert_eq!(entered, "", "folders that another user could look into");
    // The names are there all the same, and the folders are gone.
    let hosts = fs::read_to_string(place.path("run/program-1.log")).expect("a log");
    assert!(hosts.lines().any(|line| line.ends_with("\tb")), "{hosts}");
    let own = fs::read_dir(&temporary).expect("a folder").flatten();
    let left: Vec<_> = own.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == 0)).collect();
    assert!(left.iter().all(|entry| entry.file_name() == "pid"), "{left:?}");
}

/// A directory that another user made, with files that everybody may read and write, and a generous umask.
#[test]
fn files_of_a_run_are_its_owners_alone_in_a_directory_of_another_user() {
    if !may_build("files_of_a_run_are_its_owners_alone_in_a_directory_of_another_user") {
        return;
    }
    let place = Place::new();
    let run = place.path("run");
    fs::create_dir(&run).expect("own folder");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).expect("own folder");
    let names = ["server.log", "server-b.log", "program-1.log", "samples.parquet", ".summary.json.draft"];
    let mut open = Vec::new();
    for name in names {
        fs::write(run.join(name), "planted").expect("own file");
        fs::set_permissions(run.join(name), fs::Permissions::from_mode(0o666)).expect("own file");
        give(&run.join(name));
        open.push(fs::File::open(run.join(name)).expect("open"));
    }
    give(&run);
    let ended = run_with_names(&place, "umask 0", "run");
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let mut seen = 0;
    for entry in fs::read_dir(&run).expect("a folder").flatten() {
        let found = entry.metadata().expect("a file");
        let expected = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!((found.uid(), found.mode() & 0o777), (0, expected), "{:?}", entry.file_name());
        seen += 1;
    }
    assert!(seen > 8, "{seen} files");
    assert!(fs::metadata(run.join("program-1.log")).expect("a log").len() > 10);
    for (file, name) in open.into_iter().zip(names) {
        let text = std::io::read_to_string(file).expect("text");
        assert_eq!(text, "planted", "{name} is the file that the neighbour has open");
    }
}

/// Logs of servers and programs, and copies of inputs, in a directory where another user has put links, and a
/// pipe that nobody reads.
#[test]
fn links_and_pipes_in_a_run_directory_are_refused() {
    if !may_build("links_and_pipes_in_a_run_directory_are_refused") {
        return;
    }
    let place = Place::new();
    let victim = victim(&place);
    for (number, name) in ["server.log", "server-b.log", "program-1.log"].into_iter().enumerate() {
        for kind in ["a symbolic link", "a pipe"] {
            let directory = format!("run-{number}-{}", kind.len());
            let planted = place.path(&directory).join(name);
            fs::create_dir(place.path(&directory)).expect("own folder");
            match kind {
                "a pipe" => mkfifoat(CWD, &planted, Mode::from_raw_mode(0o666)).expect("a pipe"),
                _ => symlink(&victim, &planted).expect("a link"),
            }
            give(&planted);
            let ended = run_with_names(&place, "true", &directory).exits(1);
            assert!(
                ended.stderr.contains(&format!("it is no regular file, but {kind}")),
                "{name}: {ended:?}"
            );
            assert!(is_kept(&victim), "{name}");
        }
    }
    place.write("urls", "/\n");
    place.write("u.toml", "requests.file = 'urls'\n");
    fs::create_dir(place.path("copies")).expect("own folder");
    let elsewhere = shared(&place, "elsewhere");
    symlink(&elsewhere, place.path("copies/inputs")).expect("a link");
    let ended = place.farfield("run u.toml -n 1 -q --out copies");
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
    for (name, words) in [
        ("site.json", "site read www -o tmp/site.json"),
        ("report.html", "report run-1 --format html -o tmp/report.html"),
        ("report.csv", "report run-1 --format csv -o tmp/report.csv"),
    ] {
        let planted = temporary.join(name);
        symlink(&victim, &planted).expect("a link");
        give(&planted);
        let ended = place.farfield(words);
        assert_ne!(ended.code, Some(0), "{words}: {ended:?}");
        assert!(ended.stderr.contains("of another user"), "{words}: {ended:?}");
        assert!(is_kept(&victim), "{words}");
        fs::remove_file(&planted).expect("planted");
        place.farfield(words).exits(0);
    }
    for (name, words) in [("made", "site make model.toml tmp/made"), ("fit", "fit access.log -o tmp/fit")] {
        let planted = temporary.join(name);
        symlink(place.path("victims"), &planted).expect("a link");
        give(&planted);
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
