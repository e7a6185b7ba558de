//! Objects of Kubernetes: an Indexed Job of the parts, a Job of the gatherer with a Service in front of it,
//! and a Secret with what both need. They are printed as one List in JSON, which kubectl takes as it takes
//! YAML.
//!
//! The Secret has the ticket, the gatherer's key and the scenario, which may hold passwords. Parts are
//! given the ticket alone. Jobs go a day after their end; the Secret and the Service stay until they are
//! deleted, since only what is made later can name an owner by its UID.

use super::super::joined::SCENARIO;
use super::super::run::read;
use crate::exit::Exit;
use crate::flags::cluster::ManifestFlags;
use crate::output;
use crate::problem::Problem;
use farfield_engine::RunDirectory;
use farfield_engine::rendezvous::GatherKey;
use farfield_files::output::put_new_private;
use farfield_files::temporary_folder;
use farfield_scenario::Overlay;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

const PORT: u16 = 9009;
/// Folder of the Secret's files in a pod.
const SECRET: &str = "/etc/farfield";
/// Folder of results in a pod.
const RESULTS: &str = "/results";
/// The most that a Secret holds, less what the keys take.
const SCENARIO_MAX: usize = 1_000_000;
/// The longest name of a Job whose pods' names are to fit.
const NAME_MAX: usize = 40;
/// The longest name of a claim.
const SUBDOMAIN_MAX: usize = 253;
/// User and group of the pods' processes, whom no image and no node has a use for.
const USER: u32 = 65_532;
/// Processors and memory that a pod is placed by. There is no limit: one would stop a part in the middle of
/// a period of the scheduler, and be measured.
const REQUESTED: [(&str, &str); 2] = [("cpu", "1"), ("memory", "512Mi")];
/// Seconds after which objects of a run that has ended are removed: a day.
const KEPT_S: u32 = 86_400;

/// Prints the objects.
pub fn print(flags: &ManifestFlags) -> Result<Exit, Problem> {
    let is_name = |name: &str| {
        let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        plain
            && name.len() <= NAME_MAX
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.ends_with('-')
    };
    if !is_name(&flags.name) {
        let sentence = "is no name of a Job: lower-case letters, digits and dashes, 40 at most";
        return Err(Problem::usage(format!("--name: `{}` {sentence}", flags.name)));
    }
    if let Some(odd) = flags.claim.as_ref().filter(|claim| !is_subdomain(claim)) {
        let sentence = "is no name of a claim: lower-case letters, digits, dashes and dots, 253 at most";
        return Err(Problem::usage(format!("--claim: `{odd}` {sentence}")));
    }
    if flags.out.is_none() && may_be_read(&std::io::stdout()) {
        return Err(Problem::usage(
            "standard output is a file that others may read, and this holds a key: name a file by -o",
        ));
    }
    let scenario = scenario(flags)?;
    let text =
        serde_json::to_string_pretty(&objects(flags, &GatherKey::generate(), &scenario)).expect("plain data");
    match &flags.out {
        None => output::put(&format!("{text}\n"))?,
        // It holds a key.
        Some(file) => put_new_private(file, text.as_bytes())
            .map_err(|error| Problem::failed(format!("-o {}: {error}", file.display())))?,
    }
    Ok(Exit::Fine)
}

/// True for the name of a claim, a DNS subdomain (RFC 1123), which may have dots.
fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let plain = label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        plain && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_label)
}

/// True for a file that others than its owner may read.
fn may_be_read(to: &impl AsFd) -> bool {
    let metadata = to.as_fd().try_clone_to_owned().and_then(|to| File::from(to).metadata());
    metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o077 != 0)
}

/// The scenario, as the gatherer reads it.
fn scenario(flags: &ManifestFlags) -> Result<String, Problem> {
    let part = format!("1/{}", flags.parts);
    let plan = read(Some(&flags.what), &Overlay::default().with("run.part", "--parts", part.as_str()))?;
    let home = temporary_folder("farfield-manifest-").map_err(Problem::failed)?;
    let folder = home.path().join("handout");
    let directory = RunDirectory::create_new(&folder).map_err(Problem::failed)?;
    let text = plan.hand_out(&directory)?;
    if folder.join("inputs").exists() {
        let sentence = "names files, which a Secret does not take: write what they hold into it, or gather from a volume";
        return Err(Problem::usage(format!("{} {sentence}", flags.what)));
    }
    if text.len() > SCENARIO_MAX {
        return Err(Problem::usage(format!("{} is larger than a Secret may be", flags.what)));
    }
    // Which part it is the gatherer says.
    let mut table: toml::Table = text.parse().expect("a scenario is TOML");
    if let Some(run) = table.get_mut("run").and_then(toml::Value::as_table_mut) {
        run.remove("part");
    }
    Ok(table.to_string())
}

fn objects(flags: &ManifestFlags, key: &GatherKey, scenario: &str) -> Value {
    let name = &flags.name;
    let gather = format!("{name}-gather");
    let meta = |name: &str| json!({ "name": name, "labels": { "app.kubernetes.io/name": "farfield", "app.kubernetes.io/instance": flags.name } });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": meta(name), "type": "Opaque",
        "stringData": { "ticket": key.ticket().to_string(), "key": key.to_text(), SCENARIO: scenario },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta(&gather),
        "spec": { "clusterIP": "None", "publishNotReadyAddresses": true, "selector": { "job-name": gather }, "ports": [{ "name": "rendezvous", "port": PORT, "protocol": "TCP" }] },
    });
    let results = match &flags.claim {
        Some(claim) => json!({ "name": "results", "persistentVolumeClaim": { "claimName": claim } }),
        None => json!({ "name": "results", "emptyDir": {} }),
    };
    let parts = flags.parts.to_string();
    let gathering = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": meta(&gather),
        "spec": { "backoffLimit": 0, "ttlSecondsAfterFinished": KEPT_S, "template": pod(flags, (&["key", SCENARIO], results), &[
            "gather", &format!("{SECRET}/{SCENARIO}"), "--parts", &parts, "--listen", &format!("0.0.0.0:{PORT}"),
            "--key", &format!("{SECRET}/key"), "-o", &format!("{RESULTS}/{name}"),
        ]) },
    });
    let joining = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": meta(name),
        "spec": {
            "completionMode": "Indexed", "completions": flags.parts, "parallelism": flags.parts, "backoffLimit": 0,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": pod(flags, (&["ticket"], json!({ "name": "results", "emptyDir": {} })), &[
                "run", "--join", &format!("{gather}:{PORT}"), "--ticket", &format!("{SECRET}/ticket"),
                "--join-within", "5m", "--part", "auto", "-o", &format!("{RESULTS}/part"),
            ]),
        },
    });
    json!({ "apiVersion": "v1", "kind": "List", "items": [secret, service, gathering, joining] })
}

/// A pod that runs farfield with these words, and these files of the Secret.
fn pod(flags: &ManifestFlags, (files, results): (&[&str], Value), words: &[&str]) -> Value {
    let items: Vec<Value> = files.iter().map(|file| json!({ "key": file, "path": file })).collect();
    let requested: Map<String, Value> =
        REQUESTED.iter().map(|(name, amount)| ((*name).to_owned(), json!(amount))).collect();
    json!({
        "metadata": { "labels": { "app.kubernetes.io/name": "farfield", "app.kubernetes.io/instance": flags.name } },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER,
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            // Two parts on one node have its processors and its network between them.
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": { "matchLabels": { "app.kubernetes.io/instance": flags.name } },
            }],
            "containers": [{
                "name": "farfield",
                "image": flags.image,
                "args": words,
                "env": [{ "name": "FARFIELD_PARTS", "value": flags.parts.to_string() }],
                "workingDir": RESULTS,
                "resources": { "requests": requested },
                "volumeMounts": [
                    { "name": "secret", "mountPath": SECRET, "readOnly": true },
                    { "name": "results", "mountPath": RESULTS },
                ],
                "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
            }],
            "volumes": [
                { "name": "secret", "secret": { "secretName": flags.name, "items": items } },
                results,
            ],
        },
    })
}
