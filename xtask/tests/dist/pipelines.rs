//! The steps of the GitHub Action and of GitLab's template, run by the shells that their runners have.
//!
//! The runner's part is done here: expressions are replaced, files for results are there, a step with
//! `if: always()` runs behind one that failed.

use crate::release::{VERSION, folder, succeeds};
use crate::script::{fake_curl, tiny};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A run that is the same on every machine, and a threshold that it breaks.
const RUN: &str = "--plane simulated --rtt 80ms -c 5 -d 2s --threshold 'p99 < 2 s'";
const BROKEN: &str = "--plane simulated --rtt 80ms -c 5 -d 2s --threshold 'p99 < 1 ms'";

/// A part of a template with a script: its name, its variables, and its lines.
#[derive(Debug, Default)]
struct Script {
    name: String,
    variables: BTreeMap<String, String>,
    text: String,
}

/// The version that the action installs if it is given none.
fn default_version(action: &str) -> String {
    let behind = action.lines().skip_while(|line| *line != "  version:").skip(1);
    let default =
        behind.take_while(|line| depth(line) == 4).find_map(|line| line.trim().strip_prefix("default: "));
    default.expect("a default").to_owned()
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The scripts of a template, in their order. No more of YAML is read than the templates have: names of steps
/// and keys, `env` with a variable a line, and block scalars.
fn scripts(template: &str) -> Vec<Script> {
    let (mut all, mut name, mut variables) = (Vec::new(), String::new(), BTreeMap::new());
    let mut lines = template.lines().peekable();
    while let Some(line) = lines.next() {
        let (own, text) = (depth(line), line.trim());
        let deeper = |next: &&str| depth(next) > own || next.trim().is_empty();
        if let Some(step) = text.strip_prefix("- name: ") {
            step.clone_into(&mut name);
        } else if text == "env:" {
            while let Some(line) = lines.next_if(deeper) {
                let (key, value) = line.trim().split_once(": ").expect("a variable");
                variables.insert(key.to_owned(), value.to_owned());
            }
        } else if text == "- |" || text == "run: |" {
            let body: Vec<&str> = std::iter::from_fn(|| lines.next_if(deeper)).collect();
            let text = body.iter().map(|line| format!("{}\n", line.trim_start_matches("        ")));
            let variables = std::mem::take(&mut variables);
            all.push(Script { name: name.clone(), variables, text: text.collect() });
        } else if text.ends_with(':') {
            text.trim_end_matches(':').clone_into(&mut name);
        }
    }
    all
}

/// Runs the steps of the action one after the other, as a composite action's runner does; returns what the
/// measuring one came to, and the job's summary. Programs in `place/bin` are found first.
fn act(place: &Path, release: &str, run: &str) -> (Output, String) {
    let template = fs::read_to_string("../action.yml").expect("an action");
    let root = fs::canonicalize("..").expect("a repository");
    let expressions = [
        ("${{ inputs.release }}", release),
        ("${{ inputs.version }}", &default_version(&template)),
        ("${{ inputs.run }}", run),
        ("${{ inputs.directory }}", "out"),
        ("${{ github.action_path }}", root.to_str().expect("a plain path")),
        ("${{ github.server_url }}", "https://github.example"),
        ("${{ github.action_repository || github.repository }}", "owner/farfield"),
    ];
    let files = ["GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"];
    for file in files {
        fs::write(place.join(file), "").expect("a file");
    }
    let mut measured = None;
    let steps = scripts(&template);
    assert_eq!(steps.iter().map(|step| &*step.name).collect::<Vec<_>>(), ["Install", "Measure", "Report"]);
    for step in steps {
        assert!(!step.text.contains("${{"), "an expression in a script would be code of strangers: {step:?}");
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.text]).current_dir(place);
        bash.env("RUNNER_TEMP", place);
        for file in files {
            bash.env(file, place.join(file));
        }
        let added = fs::read_to_string(place.join("GITHUB_PATH")).expect("a file");
        let path = std::env::var("PATH").expect("a path");
        bash.env("PATH", format!("{}:{}:{path}", place.join("bin").display(), added.trim()));
        for (name, value) in step.variables {
            let value = expressions.iter().fold(value, |value, (from, to)| value.replace(from, to));
            assert!(!value.contains("${{"), "{value}");
            bash.env(name, value);
        }
        match step.name.as_str() {
            "Measure" => measured = Some(bash.output().expect("bash starts")),
            _ => drop(succeeds(&mut bash)),
        }
    }
    let summary = fs::read_to_string(place.join("GITHUB_STEP_SUMMARY")).expect("a summary");
    (measured.expect("a step that measures"), summary)
}

#[test]
fn the_action_measures_and_fails_as_the_run_does() {
    let test = "the_action_measures_and_fails_as_the_run_does";
    let Some(folder) = folder(test) else { return };
    for (run, code) in [(RUN, 0), (BROKEN, 99)] {
        let place = tempfile::tempdir().expect("a folder");
        let (output, summary) = act(place.path(), folder.to_str().expect("a plain path"), run);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        let read = |name: &str| fs::read_to_string(place.path().join(name)).expect("a file");
        assert_eq!(read("GITHUB_OUTPUT"), format!("code={code}\n"));
        assert!(summary.contains("threshold `p99 < "), "{summary}");
        assert_eq!(read("out/junit.xml").contains("<failure"), code == 99);
    }
}

/// Words that a shell would expand are words.
#[test]
fn the_action_expands_nothing() {
    let test = "the_action_expands_nothing";
    let Some(folder) = folder(test) else { return };
    let place = tempfile::tempdir().expect("a folder");
    let (output, _) = act(
        place.path(),
        folder.to_str().expect("a plain path"),
        "--note '$(touch planted) `touch planted`' --plane nowhere",
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(!place.path().join("planted").exists());
}

/// Words are given as they are quoted; where they cannot be split, there is no run with those before the
/// mistake.
#[test]
fn the_action_takes_all_words_or_none() {
    for (run, given) in [
        ("--note 'two words' -n\n1 \"\" a\\ b", Some("<run><--note><two words><-n><1><><a b><-o><out>")),
        ("-n 1 --threshold 'p99 < 1 ms", None),
        ("-n 1 \"--threshold\np99<1ms\"", None),
        ("", None),
        (" \n ", None),
    ] {
        let place = tempfile::tempdir().expect("a folder");
        let release = tiny(place.path());
        let (output, _) = act(place.path(), release.to_str().expect("a plain path"), run);
        let errors = String::from_utf8_lossy(&output.stderr);
        let words = fs::read_to_string(place.path().join("words")).ok();
        let code = fs::read_to_string(place.path().join("GITHUB_OUTPUT")).expect("a file");
        assert_eq!(words.as_deref(), given, "{run}: {errors}");
        if given.is_none() {
            assert_eq!((output.status.code(), &*code), (Some(2), "code=2\n"), "{run}: {errors}");
            assert!(errors.contains("::error::farfield is not run: the "), "{run}: {errors}");
        }
    }
}

/// An action that is pinned by a commit or a branch installs a release too: its own version's.
#[test]
fn the_action_installs_the_release_of_its_version() {
    let action = fs::read_to_string("../action.yml").expect("an action");
    assert_eq!(default_version(&action), format!("v{VERSION}"));
    let page = fs::read_to_string("../docs/pipelines.md").expect("a page");
    assert!(page.contains(&format!("uses: OWNER/farfield@v{VERSION} ")), "the page names another version");
    let place = tempfile::tempdir().expect("a folder");
    fake_curl(place.path(), &tiny(place.path()));
    act(place.path(), "", "-n 1");
    let words = fs::read_to_string(place.path().join("curl")).expect("words");
    let sums = format!("https://github.example/owner/farfield/releases/download/v{VERSION}/SHA256SUMS");
    assert!(words.lines().any(|line| line.ends_with(&sums)), "{words}");
}

#[test]
fn the_template_of_gitlab_installs_and_reports() {
    let test = "the_template_of_gitlab_installs_and_reports";
    let Some(folder) = folder(test) else { return };
    let place = tempfile::tempdir().expect("a folder");
    let parts = scripts(&fs::read_to_string("../deploy/gitlab-ci.yml").expect("a template"));
    let [before, after] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!([&*before.name, &*after.name], ["before_script", "after_script"]);
    let mut unset = Command::new("sh");
    let output = unset.args(["-ec", &before.text]).env("FARFIELD_RELEASE", "").output().expect("sh starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("FARFIELD_RELEASE: is not set"), "{errors}");
    // The project's own script of that name stays.
    fs::write(place.path().join("install.sh"), "exit 1\n").expect("a file");
    // A runner runs the job's own script in the same shell, and what is behind it in another.
    let script = format!("{}farfield run {RUN} -o farfield-run\n", before.text);
    for text in [&script, &after.text] {
        let mut sh = Command::new("sh");
        sh.args(["-ec", text]).current_dir(place.path()).env("CI_PROJECT_DIR", place.path());
        sh.env("FARFIELD_RELEASE", format!("file://{}", folder.display()));
        succeeds(sh.env("FARFIELD_DIRECTORY", "farfield-run"));
    }
    let tests = fs::read_to_string(place.path().join("farfield.xml")).expect("tests");
    assert!(tests.contains("<testsuites name=\"farfield\""), "{tests}");
    assert_eq!(fs::read_to_string(place.path().join("install.sh")).expect("a script"), "exit 1\n");
}
