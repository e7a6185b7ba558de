//! `farfield experiment` as people use it: the page of docs, questions that are built in, and evidence.

use crate::common::{Place, Signal, poll};
use std::fs;

const PAGE: &str = include_str!("../../../../docs/experiments-howto.md");

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    let parts = PAGE.split(opening.as_str()).skip(1);
    parts.map(|part| part.split("```").next().expect("a block")).collect()
}

/// A place with the files of the page.
fn place_of_page() -> Place {
    let place = Place::new();
    for block in blocks("toml") {
        let name = block.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a file's name");
        place.write(name, block);
    }
    place
}

/// The files of an experiment that follow from its runs.
fn computed(place: &Place, folder: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(place.path(folder)).expect("a folder").flatten();
    let mut files: Vec<_> = entries.filter(|entry| entry.path().is_file()).collect();
    files.sort_by_key(fs::DirEntry::path);
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().expect("UTF-8");
        (name, fs::read(entry.path()).expect("a file"))
    };
    files.into_iter().map(file).collect()
}

/// The page's files and commands end with a page whose claims hold; from its evidence the same files follow
/// byte for byte, also elsewhere, and a changed file is refused.
#[test]
fn the_page_of_docs_is_what_farfield_does() {
    let place = place_of_page();
    let commands = blocks("sh");
    assert_eq!(commands.len(), 2);
    let words = |block: &str| block.trim().strip_prefix("farfield ").expect("a command").to_owned();
    let text = place.farfield(&words(commands[0])).exits(0).stdout;
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let made = computed(&place, "answer");
    let page = made.iter().find(|(name, _)| name == "page.md").map(|(_, page)| page.clone());
    let page = String::from_utf8(page.expect("page.md")).expect("UTF-8");
    for part in [
        "# What closing connections costs\n\nA page for colleagues. The question is [question.toml](question.toml); ",
        "![p50, ms against rtt, ms](chart.svg)",
        "| far away, closing costs at least a tenth of the good replies | -",
        "| wherever users are, closing makes the median longer | +",
        " at rtt=",
        "| holds, 3 pairs |",
        "| curve | rtt | good replies | p99 / median | p50 | runs |",
        "| closed | 20ms | ",
        " | 3 valid",
    ] {
        assert!(page.contains(part), "`{part}` is not in:\n{page}");
    }
    for name in ["sweep.json", "page.md", "sweep.html", "table.csv", "table.parquet", "chart.svg"] {
        fs::remove_file(place.path("answer").join(name)).expect(name);
    }
    fs::rename(place.path("answer"), place.path("elsewhere")).expect("moved");
    let again = place.farfield(&words(commands[1]).replace("answer", "elsewhere")).exits(0).stdout;
    assert_eq!(again, text.replace("answer/", "elsewhere/"));
    for ((name, one), (other, two)) in made.iter().zip(&computed(&place, "elsewhere")) {
        assert!(name == other && one == two, "{name} {other}");
    }
    refuses_what_was_changed(&place);
}

/// A byte of a summary, of a histogram or of the question that is another; evidence that leads elsewhere.
fn refuses_what_was_changed(place: &Place) {
    let run = "elsewhere/point-01/repeat-1";
    for name in [&format!("{run}/summary.json"), &format!("{run}/histograms.hlog"), "elsewhere/question.toml"]
    {
        let path = place.path(name);
        let content = fs::read(&path).expect(name);
        let mut flipped = content.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        fs::write(&path, flipped).expect(name);
        let refused = place.farfield("experiment --recompute elsewhere").exits(2).stderr;
        let file = name.rsplit('/').next().expect("a name");
        assert!(refused.contains(file) && refused.contains("SHA-256 differs"), "{refused}");
        assert_eq!(refused.trim_end().lines().count(), 1, "{refused}");
        fs::write(&path, content).expect(name);
    }
    let list = place.path("elsewhere/evidence.json");
    let text = fs::read_to_string(&list).expect("evidence.json");
    for (from, to) in [
        ("\"point-01/repeat-1\"", "\"../elsewhere/point-01/repeat-1\""),
        ("\"point-01/repeat-1\"", "\"/etc\""),
        ("\"point-01/repeat-1\"", "\"\""),
        ("\"summary.json\"", "\"../repeat-1/summary.json\""),
        ("\"point\": 0", "\"point\": 4000000000"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&list, text.replacen(from, to, 1)).expect("written");
        let refused = place.farfield("experiment --recompute elsewhere").exits(2).stderr;
        assert_eq!(refused.trim_end().lines().count(), 1, "{to}: {refused}");
    }
    fs::write(&list, &text).expect("written");
    place.farfield("experiment --recompute elsewhere").exits(0);
    place.farfield("experiment --recompute nowhere").exits(2).says(&["name the folder of an experiment"]);
}

/// In an empty folder the questions of papers are there, and one is planned with its whole scenario. What is
/// no question is refused.
#[test]
fn questions_that_are_built_in_need_no_checkout() {
    let place = Place::new();
    let list = place.farfield("experiment --list").exits(0).stdout;
    assert!(list.contains("wagon/figure-15  ") && list.contains("keep-alive timeout"), "{list}");
    // Planned with all its points and claims, and begun; its runs are of an hour in virtual time each.
    let running = place.begin("experiment wagon/figure-15 --out answer -q");
    let has_run = || {
        let entries = fs::read_dir(place.path("answer")).ok()?;
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("point-")).then_some(())
    };
    poll("a run", has_run);
    running.signal(Signal::INT);
    running.ended().exits(130);
    let kept = fs::read_to_string(place.path("answer/question.toml")).expect("the question");
    assert!(kept.contains("[scenario.simulated]"), "{kept}");
    for (words, part) in [
        ("experiment wagon/figure-99", "--list shows those that are"),
        ("experiment", "--list shows these"),
        ("experiment --list --out a", "cannot be used with"),
    ] {
        let refused = place.farfield(words).exits(2).stderr;
        assert!(refused.contains(part), "{words}: {refused}");
    }
}

/// A check that a question does without stands in the row of the table, and runs that fail it count.
#[test]
fn relaxed_checks_stand_in_the_row() {
    let place = Place::new();
    // Of twenty users two are answered in the four seconds, and what the others wait for is unfinished.
    place.write(
        "slow.toml",
        "plane = 'simulated'\nload = { model = 'closed', users = 4 }\nrun = { duration = '4s', warm-up = '0s', drain = \
         '0s' }\n[simulated]\nworkers = 1\nservice-time = '1.5s'\n",
    );
    for (relax, code, row) in [
        ("", 3, "| 20 | – | – | – | – | 0 of 2 valid: unfinished |"),
        ("'unfinished'", 0, "| 2 valid; without unfinished |"),
    ] {
        let question = format!(
            "title = 'Unfinished'\nscenario = 'slow.toml'\nrepeats = 2\nrelax = [{relax}]\nvary = {{ \"load.users\" = [1, 20] }}\n\
             [[claim]]\nsays = 'a third is unfinished'\nmetric = 'errors'\nat = {{ \"load.users\" = 1 }}\nis = '> 5%'\n\
             was = [{{ says = 'a half is', seen = '33 %', verdict = 'fails', why = 'it was wrong' }}]\n"
        );
        place.write("question.toml", question);
        let folder = format!("answer-{code}");
        place.farfield(&format!("experiment question.toml -q -o {folder}")).exits(code);
        let page = fs::read_to_string(place.path(&folder).join("page.md")).expect("a page");
        // A claim that was another one is listed with both.
        let changed = "| a third is unfinished | a half is | 33 % | fails | 33.33% (13.75% to 52.92%), holds: it was wrong |";
        for row in [row, "## Claims that changed", changed] {
            assert!(page.contains(row), "`{row}` is not in:\n{page}");
        }
    }
}
