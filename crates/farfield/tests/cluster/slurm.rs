//! deploy/farfield.sbatch, and a sweep `--on slurm`, in a cluster of Slurm: its controller and two nodes on
//! this machine, in namespaces of their own.

use crate::common::wan::{find, may_build};
use crate::common::{Ended, Place};
use std::fs;
use std::process::{Command, Output};

/// Starts the cluster in the current folder, whose path is `$1`, and does there what the other words say. All
/// ends with the namespace of processes.
const CLUSTER: &str = r#"
set -eu
PATH="$PATH:/usr/sbin:/usr/local/sbin"
hostname farfield-slurm
ip link set lo up
# Names are looked up where there is an address beside the loopback interface's.
ip link add v0 type veth peer name v1
ip addr add 10.78.0.1/24 dev v0
ip link set v0 up
printf '127.0.0.1 localhost farfield-slurm\n' >hosts
mount --bind hosts /etc/hosts
mkdir -m 755 munge
(umask 077; head -c 64 /dev/urandom >key)
munged --force --key-file="$1/key" --socket="$1/munge/socket" --pid-file="$1/munge/pid" \
    --log-file="$1/munge/log" --seed-file="$1/munge/seed" 2>munge.err
export SLURM_CONF="$1/slurm.conf"
slurmctld
slurmd -N n1
slurmd -N n2
until sinfo -h -t idle -o %D | grep -qx 2; do sleep 0.1; done
shift
"$@"
"#;

fn config(home: &str) -> String {
    format!(
        "ClusterName=farfield\nSlurmctldHost=farfield-slurm(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={home}/munge/socket\nCryptoType=crypto/munge\n\
         StateSaveLocation={home}/state\nSlurmdSpoolDir={home}/spool-%n\n\
         SlurmctldPidFile={home}/ctld.pid\nSlurmdPidFile={home}/slurmd-%n.pid\n\
         SlurmctldLogFile={home}/ctld.log\nSlurmdLogFile={home}/slurmd-%n.log\n\
         ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nMpiDefault=none\nReturnToService=2\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSchedulerParameters=batch_sched_delay=0\n\
         NodeName=n[1-2] NodeHostname=farfield-slurm NodeAddr=127.0.0.1 Port=[6821-6822] CPUs=1\n\
         PartitionName=all Nodes=ALL Default=YES State=UP\n"
    )
}

/// Starts the cluster in `place`, with a short scenario, and does there what `words` say; `None`, with `test`
/// skipped, where there is no Slurm.
fn in_cluster(test: &str, place: &Place, words: &[&str]) -> Option<Output> {
    let needs = ["slurmctld", "slurmd", "sbatch", "munged"];
    if !may_build(test) || needs.iter().any(|program| find(test, program).is_none()) {
        return None;
    }
    let home = place.path("").display().to_string();
    let home = home.trim_end_matches('/');
    place.write("slurm.conf", config(home));
    fs::create_dir(place.path("state")).expect("own folder");
    place.write(
        "s.toml",
        "plane = 'simulated'\n[run]\nduration = '1s'\n[load]\nmodel = 'open'\narrivals = '90/s'\n",
    );
    let farfield = std::path::Path::new(env!("CARGO_BIN_EXE_farfield")).parent().expect("a folder");
    let path = std::env::var("PATH").expect("a path");
    let mut command = Command::new("timeout");
    command.args([
        "-s",
        "KILL",
        "40",
        "unshare",
        "-m",
        "-n",
        "-u",
        "-p",
        "-f",
        "--kill-child",
        "--mount-proc",
    ]);
    command.args(["sh", "-c", CLUSTER, "sh", home]).args(words).current_dir(home);
    Some(command.env("PATH", format!("{}:{path}", farfield.display())).output().expect("coreutils"))
}

fn parts_of(place: &Place, directory: &str) -> Vec<String> {
    let whole = Ended { directory: place.path(directory), ..place.farfield("--version") };
    whole.summary().parts.into_iter().map(|part| part.part).collect()
}

#[test]
fn tasks_of_a_slurm_job_are_the_parts_of_one_run() {
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/farfield.sbatch");
    let words = ["sbatch", "-W", "-N", "2", "-n", "2", script, "s.toml"];
    let ran = in_cluster("tasks_of_a_slurm_job_are_the_parts_of_one_run", &place, &words);
    let Some(output) = ran else { return };
    let log = fs::read_to_string(place.path("farfield-1.log")).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{log}");
    for part in ["part 1/2: valid", "part 2/2: valid"] {
        assert!(log.contains(part), "{log}");
    }
    assert_eq!(parts_of(&place, "farfield-1"), ["1/2", "2/2"]);
}

/// Outside a job each run of a sweep waits for nodes of its own.
#[test]
fn runs_of_a_sweep_are_made_by_tasks_of_slurm() {
    let place = Place::new();
    let words = ["farfield", "sweep", "s.toml", "--repeats", "1", "--on", "slurm:2", "-q", "-o", "swept"];
    let Some(output) = in_cluster("runs_of_a_sweep_are_made_by_tasks_of_slurm", &place, &words) else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let design = fs::read_to_string(place.path("swept/point-01/repeat-1/design.json")).expect("a design");
    assert!(design.contains("\"on\": \"slurm:2\""), "{design}");
    assert_eq!(parts_of(&place, "swept/point-01/repeat-1"), ["1/2", "2/2"]);
}
