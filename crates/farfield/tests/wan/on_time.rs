//! A user's first run on the emulated plane is valid, and on time by what farfield chooses itself: who runs
//! on which processor, and when users begin.

use crate::common::wan::{CALM_PACKETS, DebianServer, Wan, find};
use crate::common::{CALM, Ended, poll, skip};
use farfield_base::{Duration, Instant};
use farfield_measure::verdict::{Check, CheckState};
use farfield_os::processors;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The README's command, with a server of the test's own, for three seconds. This machine may be busy with
/// other tests and other people's work: so late packets and a full processor make nothing invalid here. That
/// packets are late by no more than a millisecond on a quiet machine is for `cargo xtask bench far-valid`;
/// what decides it is held here.
fn typed(wan: &Wan, more: &str) -> Ended {
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/');
    let allowed = format!("{home}/allowed");
    let server = format!(
        "grep Cpus_allowed_list /proc/self/status > {allowed}; exec nginx -p {home} -c {home}/server.conf -g 'daemon off;'"
    );
    let directory = wan.place.path("typed");
    let out = directory.to_str().expect("a plain path");
    let words = ["run", "--server", &server, "--rtt", "80ms", "-c", "1000", "-d", "3s", "-q", "-o", out];
    let limits: Vec<&str> = CALM
        .split_whitespace()
        .chain(CALM_PACKETS.split_whitespace())
        .chain(more.split_whitespace())
        .collect();
    let ended = wan.place.farfield_with(&[&words[..], &limits].concat());
    Ended { directory, ..ended }
}

fn nginx(test: &str) -> Option<Wan> {
    let wan = Wan::configured(test, DebianServer::Nginx, |config| config.replace("daemon off;", ""))?;
    // The page that nginx welcomes with is as long.
    wan.place.write("www/index.html", [b'x'; 615]);
    Some(wan)
}

/// The instant at which each user began, in order of their numbers.
fn begun(ended: &Ended) -> Vec<Instant> {
    let mut first = vec![Instant::MAX; 1000];
    for sample in ended.samples() {
        let first = &mut first[sample.user as usize];
        *first = sample.due.min(*first);
    }
    first
}

#[test]
fn the_readmes_emulated_command_is_valid() {
    let Some(wan) = nginx("the_readmes_emulated_command_is_valid") else { return };
    let ended = typed(&wan, "").exits(0);
    // Spread over two round trips, one to connect and one to ask: the model's own instants, however busy the
    // machine is.
    let step = Duration::from_ms(160).as_ns() / 1000;
    let expected: Vec<Instant> = (0..1000).map(|user| Instant::from_ns(user * step)).collect();
    assert_eq!(begun(&ended), expected);
    assert!(ended.summary().verdict.valid);
    // The scenario that is kept says what was chosen.
    let kept = fs::read_to_string(ended.directory.join("scenario.toml")).expect("a kept scenario");
    assert!(kept.contains("ramp = \"160ms\""), "{kept}");
}

#[test]
fn lockstep_is_what_one_has_to_ask_for() {
    let Some(wan) = nginx("lockstep_is_what_one_has_to_ask_for") else { return };
    let ended = typed(&wan, "--set load.ramp=0s").exits(0);
    assert_eq!(begun(&ended), [Instant::ZERO; 1000]);
}

/// The server is where the summary says, and no shard is there.
#[test]
fn the_server_runs_on_the_processors_that_shards_leave() {
    let Some(wan) = nginx("the_server_runs_on_the_processors_that_shards_leave") else { return };
    let summary = typed(&wan, "").exits(0).summary();
    let placement = summary.generator.placement.expect("a placement");
    let own = processors::allowed().expect("a set of processors");
    let on = wan.read("allowed");
    let on = on.trim().rsplit('\t').next().unwrap_or_default();
    if let [.., last] = own[..]
        && own.len() > 1
    {
        assert_eq!(summary.generator.processors, [last as u32], "{placement}");
        assert!(placement.contains(&format!("shard on {last}")), "{placement}");
        assert!(placement.contains(&format!(" on {on},")), "server on {on}, but: {placement}");
        assert!(!on.split(',').any(|part| part == last.to_string()), "server on {on}, shard on {last}");
    } else {
        assert!(placement.starts_with("1 processor"), "{placement}");
    }

    // Asked for, it is elsewhere.
    let first = own[0].to_string();
    let summary = typed_again(&wan, &format!("--processors {first}"));
    assert_eq!(summary.generator.processors, [own[0] as u32]);
    assert!(summary.generator.placement.is_some_and(|placement| placement.contains("as asked")));
}

fn typed_again(wan: &Wan, more: &str) -> farfield_measure::Summary {
    fs::remove_dir_all(wan.place.path("typed")).expect("own folder");
    typed(wan, more).exits(0).summary()
}

/// True if a group that keeps to a set of processors can be made here, tried without farfield: below the own
/// group of version 1, or below the next one above that passes cpusets on in version 2.
fn can_keep_to(processor: usize) -> bool {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let groups = read("/proc/self/cgroup".into());
    let mounts = read("/proc/self/mounts".into());
    let mount_of = |kind: &str, option: &str| {
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let found = fields.into_iter().find(|fields| {
            fields.len() > 3
                && fields[2] == kind
                && (option.is_empty() || fields[3].split(',').any(|own| own == option))
        });
        found.map(|fields| PathBuf::from(fields[1]))
    };
    let own = |is_own: &dyn Fn(&str) -> bool| {
        let mut parts = groups.lines().map(|line| line.splitn(3, ':').collect::<Vec<_>>());
        parts
            .find(|parts| parts.len() == 3 && is_own(parts[1]))
            .map(|parts| parts[2].trim_start_matches('/').to_owned())
    };
    let above = if let Some(mount) = mount_of("cgroup", "cpuset") {
        own(&|controllers| controllers.split(',').any(|one| one == "cpuset")).map(|own| mount.join(own))
    } else {
        mount_of("cgroup2", "").and_then(|mount| {
            let own = mount.join(own(&str::is_empty)?);
            let passes_on = |folder: &&Path| {
                read(folder.join("cgroup.subtree_control")).split_whitespace().any(|one| one == "cpuset")
            };
            let mut above = own.ancestors().take_while(|folder| folder.starts_with(&mount));
            above.find(passes_on).map(Path::to_owned)
        })
    };
    let Some(group) = above.map(|above| above.join(format!("test-{}", std::process::id()))) else {
        return false;
    };
    let can =
        fs::create_dir(&group).is_ok() && fs::write(group.join("cpuset.cpus"), processor.to_string()).is_ok();
    let _ = fs::remove_dir(&group);
    can
}

/// nginx whose first worker binds itself to the last processor, which is the shard's, and whose second one
/// binds itself to the first. Its words, or nothing where this cannot be.
fn nginx_that_binds_itself(test: &str) -> Option<(Wan, String, [usize; 2])> {
    let own = processors::allowed().expect("a set of processors");
    let [first, .., last] = own[..] else {
        skip(test, "there is one processor");
        return None;
    };
    let mask = |processor: usize| format!("1{}", "0".repeat(processor));
    let binding = format!("worker_processes 2; worker_cpu_affinity {} {};", mask(last), mask(first));
    let wan = Wan::configured(test, DebianServer::Nginx, |config| {
        config.replace("daemon off; master_process off;", &binding)
    })?;
    wan.place.write("www/index.html", [b'x'; 615]);
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/').to_owned();
    let server = format!("exec nginx -p {home} -c {home}/server.conf -g 'daemon off;'");
    Some((wan, server, [first, last]))
}

/// Begins a run of ten clients before it, and returns what the kernel says of its workers' processors while
/// it lasts.
fn bound_workers(wan: &Wan, command: Command, server: &str) -> (Ended, Vec<String>) {
    let directory = wan.place.path("bound");
    let out = directory.to_str().expect("a plain path");
    let words = ["run", "--server", server, "--rtt", "10ms", "-c", "10", "-d", "1s", "-q", "-o", out];
    let limits = CALM.split_whitespace().chain(CALM_PACKETS.split_whitespace());
    let running = wan.place.begin_by(command, &words.into_iter().chain(limits).collect::<Vec<_>>());
    let home = wan.place.path("");
    let home = home.to_str().expect("a plain path").trim_end_matches('/').to_owned();
    let affinities = poll("nginx with two workers", || {
        assert!(!running.is_gone(), "it has ended: {}", running.said());
        let numbers = || fs::read_dir("/proc").expect("proc").flatten().map(|entry| entry.path());
        let line = |process: &Path| fs::read(process.join("cmdline")).unwrap_or_default();
        let is_master = |process: &PathBuf| {
            let line = String::from_utf8_lossy(&line(process)).into_owned();
            line.starts_with("nginx: master") && line.contains(&home)
        };
        let master = numbers().find(is_master)?;
        let number = master.file_name()?.to_str()?.to_owned();
        let children = fs::read_to_string(master.join(format!("task/{number}/children"))).ok()?;
        let workers: Vec<PathBuf> =
            children.split_whitespace().map(|child| Path::new("/proc").join(child)).collect();
        // They have bound themselves once they have their names.
        let are_ready =
            workers.len() == 2 && workers.iter().all(|worker| line(worker).starts_with(b"nginx: worker"));
        are_ready.then_some(())?;
        let affinity = |worker: &PathBuf| {
            let status = fs::read_to_string(worker.join("status")).ok()?;
            Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
        };
        workers.iter().map(affinity).collect::<Option<Vec<_>>>()
    });
    let ended = Ended { directory, ..running.ended() };
    // Other work on the machine may make the run invalid by checks that nothing is asked of here.
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    (ended, affinities)
}

/// True if a list of processors, as the kernel writes it, has `processor`.
fn has(list: &str, processor: usize) -> bool {
    let number = |text: &str| text.parse::<usize>().expect("a number");
    list.split(',').any(|part| match part.split_once('-') {
        Some((from, to)) => (number(from)..=number(to)).contains(&processor),
        None => number(part) == processor,
    })
}

fn apart(ended: &Ended) -> Check {
    let checks = ended.summary().verdict.checks;
    checks.into_iter().find(|check| check.name == "server-apart").expect("the check")
}

/// A server that binds itself to the shard's processor, as nginx does with `worker_cpu_affinity`, is kept off
/// it by its control group, wherever one can be made.
#[test]
fn a_server_cannot_bind_itself_to_the_shards_processor() {
    let test = "a_server_cannot_bind_itself_to_the_shards_processor";
    let Some((wan, server, [first, last])) = nginx_that_binds_itself(test) else { return };
    if !can_keep_to(first) {
        return skip(test, "no control group with a set of processors can be made");
    }
    let (ended, affinities) = bound_workers(&wan, Command::new(env!("CARGO_BIN_EXE_farfield")), &server);
    assert_eq!(ended.summary().generator.processors, [last as u32]);
    assert!(affinities.iter().all(|on| !has(on, last)), "shard on {last}, workers on {affinities:?}");
    assert_eq!(affinities[1], first.to_string(), "what is left to it, it may choose");
    let apart = apart(&ended);
    assert_eq!((apart.state, apart.measured), (CheckState::Passed, Some(0.0)), "{apart:?}");
}

/// Where no control group can be made, it is there, and it is named.
#[test]
fn a_server_that_binds_itself_to_the_shards_processor_is_named() {
    let test = "a_server_that_binds_itself_to_the_shards_processor_is_named";
    let Some((wan, server, [_, last])) = nginx_that_binds_itself(test) else { return };
    if find(test, "unshare").is_none() {
        return;
    }
    let mut command = Command::new("unshare");
    let line = "umount -l -R /sys/fs/cgroup; exec \"$0\" \"$@\"";
    command.args(["--mount", "sh", "-c", line, env!("CARGO_BIN_EXE_farfield")]);
    let (ended, affinities) = bound_workers(&wan, command, &server);
    assert_eq!(affinities[0], last.to_string(), "nothing keeps it off: {affinities:?}");
    let apart = apart(&ended);
    let note = apart.note.clone().unwrap_or_default();
    assert!(
        note.contains(&format!("nginx bound itself to processor {last}, which is a worker's")),
        "{apart:?}"
    );
}
