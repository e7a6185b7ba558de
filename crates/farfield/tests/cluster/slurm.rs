//! deploy/farfield.sbatch in a cluster of Slurm: its controller and two nodes on this machine, in
//! namespaces of their own.

use crate::common::wan::{find, may_build};
use crate::common::{Ended, Place};
use std::fs;
use std::process::Command;

/// Starts the cluster in the current folder, whose path is `$1`, and runs the script `$2` on both nodes.
/// All ends with the namespace of processes.
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
sbatch -W -N 2 -n 2 "$2" s.toml
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

#[test]
fn tasks_of_a_slurm_job_are_the_parts_of_one_run() {
    let test = "tasks_of_a_slurm_job_are_the_parts_of_one_run";
    let needs = ["slurmctld", "slurmd", "sbatch", "munged"];
    if !may_build(test) || needs.iter().any(|program| find(test, program).is_none()) {
        return;
    }
    let place = Place::new();
    let home = place.path("").display().to_string();
    let home = home.trim_end_matches('/');
    place.write("slurm.conf", config(home));
    fs::create_dir(place.path("state")).expect("own folder");
    place.write(
        "s.toml",
        "plane = 'simulated'\n[run]\nduration = '1s'\n[load]\nmodel = 'open'\narrivals = '90/s'\n",
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/farfield.sbatch");
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
    command.args(["sh", "-c", CLUSTER, "sh", home, script]).current_dir(home);
    let output = command.env("PATH", format!("{}:{path}", farfield.display())).output().expect("coreutils");
    let log = fs::read_to_string(place.path("farfield-1.log")).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{log}");
    for part in ["part 1/2: valid", "part 2/2: valid"] {
        assert!(log.contains(part), "{log}");
    }
    let whole = Ended { directory: place.path("farfield-1"), ..place.farfield("--version") };
    let parts: Vec<String> = whole.summary().parts.into_iter().map(|part| part.part).collect();
    assert_eq!(parts, ["1/2", "2/2"]);
}
