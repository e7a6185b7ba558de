//! Documents whose parts lie between modules: which server is asked, which files are read, what is counted.

use crate::{ImportError, Imported, Kind, Source, Wishes, import, import_words};
use std::io;
use std::path::Path;

fn of(kind: Kind, text: &str, wishes: &Wishes) -> Result<Imported, ImportError> {
    let mut load = |_: &Path| -> io::Result<Vec<u8>> { Ok(b"CONTENT".to_vec()) };
    import(kind, Source { name: "a", bytes: text.as_bytes(), load: &mut load }, wishes)
}

fn curl(text: &str) -> Imported {
    of(Kind::Curl, text, &Wishes::default()).expect(text)
}

fn left_out(imported: &Imported) -> Vec<&'static str> {
    imported.reading.left_out.iter().map(|remark| remark.what).collect()
}

#[test]
fn a_document_names_no_file_elsewhere() {
    let imported =
        curl("curl http://a/1 -d @/etc/shadow\ncurl http://a/2 -d @../x\ncurl http://a/3 -d @b.txt");
    assert_eq!(left_out(&imported), [crate::files::OUTSIDE]);
    assert_eq!((imported.reading.taken, imported.files), (1, vec!["b.txt".to_owned()]));
    let item = r#"{"name": "a", "request": {"method": "POST", "url": "http://a/",
        "body": {"mode": "file", "file": {"src": "/proc/self/environ"}}}}"#;
    let text = format!(r#"{{"item": [{item}]}}"#);
    let error = of(Kind::Postman, &text, &Wishes::default()).expect_err("nothing is left");
    assert!(error.to_string().contains(crate::files::OUTSIDE), "{error}");
    let words = ["http://a/", "-d", "@/etc/motd"].map(str::to_owned);
    let mut load = |_: &Path| -> io::Result<Vec<u8>> { Ok(b"CONTENT".to_vec()) };
    let by_hand = import_words(&words, &mut load, &Wishes::default()).expect("by hand");
    assert!(by_hand.scenario.contains("CONTENT") && by_hand.files == ["/etc/motd"]);
}

#[test]
fn what_a_variable_names_goes_to_no_other_server() {
    let text = "curl http://a.example/1\ncurl \"$AUTH_URL/token\" -d secret=1";
    let imported = curl(text);
    assert!(!imported.scenario.contains("secret"), "{}", imported.scenario);
    assert_eq!((imported.reading.taken, imported.reading.left_out()), (1, 1));
    let wishes = Wishes { target: "http://127.0.0.1/".parse().ok(), ..Wishes::default() };
    let text = "curl $A/1\ncurl $A/2\ncurl $B/3\ncurl http://a.example/4";
    let imported = of(Kind::Curl, text, &wishes).expect("the target's");
    assert_eq!((imported.reading.taken, imported.reading.left_out()), (2, 2));
}

#[test]
fn what_was_asked_for_by_tls_is_not_asked_for_in_clear() {
    let imported = curl("curl http://h/1\ncurl http://h/2\ncurl https://h/3");
    assert_eq!((imported.target.as_str(), left_out(&imported)), ("http://h/", vec!["of another server"]));
}

#[test]
fn variables_of_a_query_are_sent() {
    let imported = curl("curl -G -d \"a=$X\" -d 'b=$5' http://h/\ncurl --url-query \"a=$X\" http://h/c");
    assert!(imported.scenario.contains("/?a=${env.X}&b=$$5\""), "{}", imported.scenario);
    assert!(imported.scenario.contains("/c?a=${env.X|form}"), "{}", imported.scenario);
}

#[test]
fn entries_and_their_text_are_bounded() {
    let text = format!("A={}\n{}", "x".repeat(1 << 20), "curl http://h/ -d \"$A\"\n".repeat(70));
    assert!(of(Kind::Curl, &text, &Wishes::default()).is_err(), "variables of a script");
    let example = format!(r#"{{"example": "{}"}}"#, "x".repeat(1 << 20));
    let body = r##"{"content": {"application/json": {"schema": {"$ref": "#/x-a"}}}}"##;
    let paths: Vec<String> =
        (0..70).map(|at| format!(r#""/{at}": {{"post": {{"requestBody": {body}}}}}"#)).collect();
    let paths = paths.join(", ");
    let text = format!(r#"{{"openapi": "3.0.0", "x-a": {example}, "paths": {{{paths}}}}}"#);
    let target = "http://127.0.0.1/".parse().ok();
    let imported = of(Kind::OpenApi, &text, &Wishes { target, all_methods: true, ..Wishes::default() });
    assert_eq!(imported.expect("some").reading.taken, 63);
}

#[test]
fn elements_that_are_not_known_are_counted() {
    let sampler = r#"<HTTPSamplerProxy testname="a"><stringProp name="HTTPSampler.domain">h</stringProp></HTTPSamplerProxy>
        <hashTree><HeaderManager><collectionProp name="HeaderManager.headers"><elementProp name="">
        <stringProp name="Header.name">Host</stringProp></elementProp></collectionProp></HeaderManager><hashTree/></hashTree>"#;
    let others = "<InterleaveControl/><hashTree/><RunTime/><hashTree/><IncludeController/><hashTree/><TestAction/><hashTree/>
        <ResultCollector/><hashTree/>";
    let text = format!(
        "<jmeterTestPlan><hashTree><TestPlan/><hashTree><ThreadGroup/><hashTree>{sampler}{others}</hashTree></hashTree></hashTree></jmeterTestPlan>"
    );
    let imported = of(Kind::JMeter, &text, &Wishes::default()).expect("a sampler");
    assert_eq!((imported.reading.taken, imported.reading.left_out()), (1, 4));
    assert!(imported.reading.differing[0].what.contains("`Host`"), "{:?}", imported.reading);
}
