//! `farfield cluster run` with a program in place of ssh, which runs the lines on this machine, with a home
//! for each host; and the words by which a gatherer lets parts in.

use crate::common::{Place, Running, Signal, poll};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Scenario of a run in virtual time.
const SIMULATED: &str =
    "plane = 'simulated'\n[run]\nduration = '1s'\n[load]\nmodel = 'open'\narrivals = '90/s'\n";

/// Writes the program that stands in for ssh, for `sh ssh`. `odd` is what it does first; it knows the `host`,
/// and `what` it is asked for.
pub fn stand_in(place: &Place, odd: &str) {
    place.write(
        "ssh",
        format!(
            "while [ \"$1\" != -- ]; do shift; done\nhost=$2 line=$3\nexport HOME=\"$PWD/home-$host\"\nmkdir -p \"$HOME\"\n\
             case \"$line\" in *'cat >'*) what=put;; *--join*) what=start;; *) what=find;; esac\n{odd}\nexec sh -c \"$line\"\n"
        ),
    );
}

/// Begins a run on hosts a and b, by an ssh that does this first.
fn begin(place: &Place, odd: &str, out: &str) -> Running {
    place.write("s.toml", SIMULATED);
    stand_in(place, odd);
    let words = ["cluster", "run", "s.toml", "--hosts", "a,b", "--address", "127.0.0.1", "-o", out];
    place.begin_with(&[&words[..], &["--ssh", "sh ssh"]].concat())
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").filter_map(Result::ok);
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A host whose disk lost the end of its copy, whose next copy is cut off, and which then gets a whole one.
#[test]
fn a_copy_that_is_not_whole_is_made_again() {
    let place = Place::new();
    let kept = place.path("home-a/.cache/farfield");
    let digest = Command::new("sha256sum").arg(env!("CARGO_BIN_EXE_farfield")).output().expect("coreutils");
    let name = format!("farfield-{}", &String::from_utf8_lossy(&digest.stdout)[..24]);
    let broken = place.write(&format!("home-a/.cache/farfield/{name}"), "#!/bin/sh\nexit 0\n");
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o700)).expect("own file");
    let old = place.write("home-a/.cache/farfield/farfield-old", "");
    assert!(Command::new("touch").args(["-d", "8 days ago"]).arg(&old).status().is_ok_and(|s| s.success()));

    let cut = "[ $what$host = puta ] && { head -c 100000 | sh -c \"$line\"; exit; }";
    let cut = begin(&place, cut, "cut").ended().exits(1);
    assert!(cut.stderr.contains("farfield: a: farfield cannot be copied there"), "{}", cut.stderr);
    assert!(cut.stderr.contains("the copy is not whole") && names(&kept).len() == 2, "{:?}", names(&kept));

    begin(&place, "", "whole").ended().exits(0);
    assert_eq!(names(&kept), [name]);
    let bytes = |path: &Path| fs::metadata(path).expect("a file").len();
    assert_eq!(bytes(&broken), bytes(Path::new(env!("CARGO_BIN_EXE_farfield"))));
}

#[test]
fn ctrl_c_ends_a_copy_and_a_second_one_leaves_none_behind() {
    let place = Place::new();
    let waits = "[ $what = put ] && { echo $$ >pid-$host; exec sleep 60; }";
    let copying = begin(&place, waits, "out");
    let pids = ["a", "b"].map(|host| {
        poll("a copy", || {
            fs::read_to_string(place.path(&format!("pid-{host}"))).ok().filter(|pid| !pid.is_empty())
        })
    });
    copying.signal(Signal::INT);
    copying.ended().exits(130);
    for pid in pids {
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid}");
    }

    // One that does not listen, and takes what it is given slowly.
    let slow = "[ $what = put ] && { trap '' TERM; echo >deaf-$host; \
                while [ \"$(head -c 4096 | wc -c)\" -gt 0 ]; do sleep 0.02; done; echo >ended-$host; exit 1; }";
    let copying = begin(&place, slow, "out");
    let await_both = |what: &str| {
        poll(what, || {
            ["a", "b"].iter().all(|host| place.path(&format!("{what}-{host}")).exists()).then_some(())
        });
    };
    await_both("deaf");
    copying.signal(Signal::TERM);
    copying.signal(Signal::INT);
    copying.ended().exits(130);
    await_both("ended");
}

/// Whatever its code, a part that ends before the start has measured nothing.
#[test]
fn an_ssh_that_ends_before_the_start_says_why() {
    let place = Place::new();
    let ends = "[ $what = find ] && { echo /farfield; exit; }\n[ $host = b ] && { echo $$ >pid-b; exec sleep 60; }\n\
                until [ -s pid-b ]; do sleep 0.02; done; exec <&-; echo 'ssh: no route today' >&2; exit 3";
    let ended = begin(&place, ends, "out").ended().exits(1);
    assert!(
        ended.stderr.contains("farfield: a: ssh: no route today; nothing was measured"),
        "{}",
        ended.stderr
    );
    assert!(!place.path("out").exists());
    let pid = fs::read_to_string(place.path("pid-b")).expect("it was written");
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

/// A ticket that is there may be that of another gatherer, whose parts are about to read it.
#[test]
fn a_gatherer_names_this_machine_and_replaces_no_ticket() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    place.write("ticket", "another");
    let refused = place.farfield("gather s.toml --parts 2 --ticket ticket -o out").exits(1);
    refused.says(&["--ticket ticket: File exists"]);
    assert_eq!(fs::read_to_string(place.path("ticket")).expect("a file"), "another");
    assert!(!place.path("out").exists());

    let gathering = place.begin("gather s.toml --parts 2 --listen 0.0.0.0:0 --ticket new -o out");
    let said = poll("its address", || Some(gathering.said()).filter(|said| said.contains("--join")));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert!(said.contains(&format!("--join {}:", host.trim())), "{said}");
    gathering.signal(Signal::INT);
    gathering.ended().exits(130);
    place.farfield("run --join gatherer.example --ticket new").exits(2);
}
