//! Documents of strangers: none takes memory or time without bound, opens what it should not, or is shown
//! with what it does to a terminal.

use super::{Run, says};
use std::os::unix::fs::symlink;

/// Documents that stand for more than they are, or go deeper than anything does.
#[test]
fn documents_without_end_are_refused() {
    let run = Run::new();
    let mut aliases = "openapi: 3.0.0\npaths: {}\na0: &a0 [lol]\n".to_owned();
    for level in 1..12 {
        aliases += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "));
    }
    let mut variables = String::new();
    for level in 1..10 {
        let many = format!("{{{{v{}}}}}", level - 1).repeat(100);
        variables += &format!(", {{\"key\": \"v{level}\", \"value\": \"{many}\"}}");
    }
    let postman = format!(
        "{{\"info\": {{}}, \"variable\": [{{\"key\": \"v0\", \"value\": \"x\"}}{variables}], \"item\": [{{\"name\": \"a\", \"request\": \"http://a/{{{{v9}}}}\"}}]}}"
    );
    let entities = "<!DOCTYPE jmeterTestPlan [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]><jmeterTestPlan>&b;</jmeterTestPlan>";
    let references = "openapi: 3.0.0\nservers: [{url: 'http://a/'}]\npaths:\n  /a:\n    get:\n      parameters: [{$ref: '#/components/parameters/A'}]\n\
         components:\n  parameters:\n    A: {$ref: '#/components/parameters/B'}\n    B: {$ref: '#/components/parameters/A'}\n";
    for (name, text, part) in [
        ("aliases.yaml", aliases, "aliases"),
        (
            "deep.json",
            format!("{{\"openapi\": \"3.0.0\", \"a\": {}", "[".repeat(1 << 20)),
            "is no OpenAPI document",
        ),
        ("deep.yaml", format!("openapi: 3.0.0\na: {}", "[".repeat(1 << 20)), "is no OpenAPI document"),
        ("variables.json", postman, "without end"),
        ("entities.jmx", entities.to_owned(), "document type"),
        ("deep.jmx", format!("<jmeterTestPlan>{}", "<hashTree>".repeat(1 << 20)), "deeper"),
        ("references.yaml", references.to_owned(), "leads to nothing"),
        ("brackets.sh", format!("curl http://a/ {}", "$(".repeat(1 << 20)), "output of another command"),
    ] {
        run.place.write(name, text);
        let ended = run.import(&[name]);
        assert_eq!(ended.code, Some(2), "{name}: {}", ended.stderr);
        says(&ended, &[name, part]);
        assert!(ended.stderr.len() < 2_000, "{name}: {} bytes", ended.stderr.len());
    }
    let large = run.place.path("large.json");
    std::fs::File::create(&large).expect("own file").set_len(33 << 20).expect("own file");
    run.import(&["large.json", "--from", "postman"]).exits(1).says(&["large.json"]);
}

/// Names of a document's are on one line, without what moves a cursor, and short.
#[test]
fn what_is_said_of_a_document_does_nothing_to_a_terminal() {
    let run = Run::new();
    let name = format!("\\u001b[2J\\nwarning: forged {}", "x".repeat(100_000));
    let text = format!(
        "{{\"info\": {{}}, \"item\": [{{\"name\": \"{name}\", \"request\": \"http://SERVER/{{{{{name}}}}}\"}}, {{\"name\": \"{name}\", \"request\": \"http://SERVER/a\"}}]}}"
    );
    let (ended, lines) = run.lines("forged.json", &text, &[]);
    assert_eq!(lines, ["GET /a"]);
    assert!(!ended.stderr.contains('\u{1b}') && ended.stderr.len() < 2_000, "{}", ended.stderr);
    assert!(!ended.stderr.lines().any(|line| line.starts_with("warning: forged")), "{}", ended.stderr);
    // And none of it ends a text or a comment of the scenario.
    assert_eq!(run.scenario().matches("[session").count(), 2, "{}", run.scenario());
}

/// Targets, methods, names and values that would be more than one request are left out, whatever wrote them.
#[test]
fn nothing_of_a_document_is_a_second_request() {
    let run = Run::new();
    let text = r#"{"info": {}, "item": [
        {"name": "field", "request": {"url": "http://SERVER/field", "header": [{"key": "X-A", "value": "1\r\nX-B: 2"}]}},
        {"name": "name", "request": {"url": "http://SERVER/name", "header": [{"key": "X-A: 1\r\nX-B", "value": "2"}]}},
        {"name": "method", "request": {"method": "GET /x HTTP/1.1\r\n", "url": "http://SERVER/method"}},
        {"name": "target", "request": {"url": "http://SERVER/a b\r\nX-B: 2"}},
        {"name": "hole", "request": {"url": "http://SERVER/$%7Benv.HOME%7D/${env.HOME}/${user}"}}]}"#;
    let (ended, lines) = run.lines("smuggled.json", text, &[]);
    assert_eq!(
        lines,
        ["GET /a%20b%0D%0AX-B:%202", "GET /$%7Benv.HOME%7D/${env.HOME}/${user}"],
        "{}",
        ended.stderr
    );
    says(&ended, &["2 of 5 entries taken", "3 that cannot be sent (first: request 1, field"]);
    assert!(run.run("--sessions 1 -c 1").iter().all(|own| own.field("x-b").is_empty()));
}

/// A link that leads out of a document's folder is no way to a file elsewhere; one that stays in it is. What
/// is typed as a command is the user's own, and may name any file.
#[test]
fn a_link_is_no_way_out_of_a_documents_folder() {
    let run = Run::new();
    run.place.write("secret", "the user's");
    run.place.write("docs/own", "its own");
    symlink("own", run.place.path("docs/inside")).expect("a link");
    symlink("../secret", run.place.path("docs/outside")).expect("a link");
    symlink("..", run.place.path("docs/up")).expect("a link");
    let body = |name: &str, file: &str| {
        format!(
            r#"{{"name": "{name}", "request": {{"method": "POST", "url": "http://SERVER/{name}", "body": {{"mode": "file", "file": {{"src": "{file}"}}}}}}}}"#
        )
    };
    let items = [body("a", "inside"), body("b", "outside"), body("c", "up/secret")].join(", ");
    let text = format!("{{\"info\": {{}}, \"item\": [{items}]}}");
    let (ended, lines) = run.lines("docs/shop.json", &text, &[]);
    assert_eq!(lines, ["POST /a its own"], "{}", ended.stderr);
    says(&ended, &["1 of 3 entries taken", "2 whose file is not in the document's folder"]);
    assert!(!run.scenario().contains("the user's"), "{}", run.scenario());

    let typed = ["--", "curl", "--data-binary", "@docs/outside", "http://SERVER/typed"]
        .map(|word| word.replace("SERVER", &run.server.address));
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    run.import(&typed).exits(0);
    let arrived: Vec<String> = run.run("--sessions 1 -c 1").iter().map(|own| own.line()).collect();
    assert_eq!(arrived, ["POST /typed the user's"]);
}
