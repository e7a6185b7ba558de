//! Engines that start parts: MPI, and what Kubernetes gives the pods of an Indexed Job.

use crate::common::wan::find;
use crate::common::{Ended, Place, skip};
use crate::scene::Gathering;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const SIMULATED: &str =
    "plane = 'simulated'\n[run]\nduration = '2s'\n[load]\nmodel = 'open'\narrivals = '90/s'\n";

fn parts_of(ended: &Ended) -> Vec<String> {
    ended.summary().parts.into_iter().map(|part| part.part).collect()
}

#[test]
fn processes_of_mpirun_are_the_parts_of_one_run() {
    let test = "processes_of_mpirun_are_the_parts_of_one_run";
    let Some(mpirun) = find(test, "mpirun") else { return };
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let gathering = Gathering::begin(&place, "--parts 3");
    let mut command = Command::new(mpirun);
    command.args(["--allow-run-as-root", "--oversubscribe", "-np", "3", env!("CARGO_BIN_EXE_farfield")]);
    let words = format!("run --join {} --ticket ticket --part auto", gathering.address);
    let ran = place.begin_by(command, &words.split(' ').collect::<Vec<_>>()).ended().exits(0);
    assert_eq!(ran.stdout.lines().filter(|line| line.contains(": valid")).count(), 3, "{}", ran.stdout);
    assert_eq!(parts_of(&gathering.ended(&place).exits(0)), ["1/3", "2/3", "3/3"]);
}

/// The List that `farfield cluster manifest` makes, of 4 parts.
fn manifest(place: &Place) -> Value {
    place.write("s.toml", SIMULATED);
    let words = "cluster manifest s.toml -n 4 --image example/farfield:1 --claim 0.results -o manifest.json";
    place.farfield(words).exits(0);
    let file = place.path("manifest.json");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    serde_json::from_str(&fs::read_to_string(file).expect("a file")).expect("JSON")
}

/// Each object by the schema of its kind, as Kubernetes publishes it.
#[test]
fn the_manifest_is_what_kubernetes_takes() {
    let test = "the_manifest_is_what_kubernetes_takes";
    let place = Place::new();
    manifest(&place);
    let python = std::env::var_os("FARFIELD_PYTHON").unwrap_or_else(|| "python3".into());
    let script = "import json, sys\ntry:\n import kubernetes_validate as k\nexcept ImportError:\n sys.exit(9)\n\
                  items = json.load(open('manifest.json'))['items']\n\
                  for item in items: k.validate(item, '1.29', strict=True)\n\
                  print(*[item['kind'] for item in items])\n\
                  items[2]['spec']['backoffLimit'] = 'none'\n\
                  try: k.validate(items[2], '1.29', strict=True)\n\
                  except k.ValidationError: print('refused')";
    let output =
        Command::new(python).args(["-c", script]).current_dir(place.path("")).output().expect("python");
    if output.status.code() == Some(9) {
        return skip(test, "no kubernetes-validate");
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "Secret Service Job Job\nrefused\n", "{why}");
}

/// Processes with the arguments, the environment and the files that the Job's pods would get.
#[test]
fn pods_of_the_job_find_the_gatherer_and_are_its_parts() {
    let place = Place::new();
    let list = manifest(&place);
    let items = list["items"].as_array().expect("a list");
    let secret = items[0]["stringData"].as_object().expect("files");
    for (name, content) in secret {
        place.write(&format!("etc/{name}"), content.as_str().expect("text"));
    }
    let container = |job: usize| &items[job]["spec"]["template"]["spec"]["containers"][0];
    for job in [2, 3] {
        let pod = &items[job]["spec"]["template"]["spec"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["topologySpreadConstraints"][0]["topologyKey"], "kubernetes.io/hostname");
        assert_eq!(container(job)["resources"]["requests"]["cpu"], "1");
    }
    let words = |job: usize| -> String {
        let args = container(job)["args"].as_array().expect("arguments");
        args.iter().map(|word| word.as_str().expect("a word")).collect::<Vec<_>>().join(" ")
    };
    let here = |words: String| words.replace("/etc/farfield/", "etc/").replace("/results/", "");
    assert!(words(2).contains("--listen 0.0.0.0:9009") && words(3).contains("--join farfield-gather:9009"));
    let gathering = here(words(2)).replace("0.0.0.0:9009", "127.0.0.1:0");
    let gathering = Gathering::of(place.begin(&gathering));
    assert_eq!(items[3]["spec"]["completions"], 4);
    let pods: Vec<_> = (0..4)
        .map(|index| {
            let mut pod = Command::new(env!("CARGO_BIN_EXE_farfield"));
            pod.env("JOB_COMPLETION_INDEX", index.to_string());
            for variable in container(3)["env"].as_array().expect("variables") {
                pod.env(
                    variable["name"].as_str().expect("a name"),
                    variable["value"].as_str().expect("a value"),
                );
            }
            let words = here(words(3)).replace("farfield-gather:9009", &gathering.address);
            let words = words.replace("-o part", &format!("-o part-{index}"));
            place.begin_by(pod, &words.split(' ').collect::<Vec<_>>())
        })
        .collect();
    for (index, pod) in (1..).zip(pods) {
        let said = pod.ended().exits(0).stdout;
        assert!(said.starts_with(&format!("part {index}/4: valid")), "{said}");
    }
    let ended = Ended { directory: place.path("farfield"), ..gathering.running.ended() }.exits(0);
    assert_eq!(parts_of(&ended), ["1/4", "2/4", "3/4", "4/4"]);

    // What a Secret does not take, and what is no name.
    place.write("list.txt", "/a\n");
    place.write("l.toml", format!("{SIMULATED}[requests]\nfile = 'list.txt'\n"));
    let refused = |words: &str, says: &[&str]| {
        place.farfield(&format!("cluster manifest {words} -n 4 --image x")).exits(2).says(says);
    };
    refused("l.toml -o l.json", &["names files"]);
    refused("s.toml --name Upper", &["--name", "`Upper`"]);
    refused("s.toml --claim a..b", &["--claim", "`a..b`"]);
    // Neither a file that others read, nor one that is there, whose key may be in use.
    refused("s.toml", &["a file that others may read", "-o"]);
    let again = place.farfield("cluster manifest s.toml -n 4 --image x -o manifest.json").exits(1);
    again.says(&["manifest.json: File exists"]);
}
