//! Postman collections.

use super::{Run, says};

/// Folders in folders, variables of both, credentials of the collection that a folder takes back, tests whose
/// values later requests need.
const SHOP: &str = r#"{
  "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
  "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]},
  "variable": [{"key": "baseUrl", "value": "http://SERVER/v1"}, {"key": "who", "value": "ann"}, {"key": "secretKey", "value": "GEHEIM1"}],
  "item": [
    {"name": "Account", "auth": {"type": "noauth"}, "item": [
      {"name": "Log in", "event": [{"listen": "test", "script": {"type": "text/javascript", "exec": [
          "pm.test(\"Status code is 200\", function () {",
          "    pm.response.to.have.status(200);",
          "});",
          "const data = pm.response.json();",
          "pm.test('has a user', () => pm.expect(data.user.id).to.eql(7));",
          "pm.collectionVariables.set(\"token\", data.token);",
          "pm.environment.set('user.id', data.user.id);"]}}],
        "request": {"method": "POST", "header": [{"key": "X-A", "value": "{{who}}"}, {"key": "X-B", "value": "no", "disabled": true}],
          "body": {"mode": "raw", "raw": "{\"user\": \"{{who}}\", \"password\": \"GEHEIM2\"}", "options": {"raw": {"language": "json"}}},
          "url": {"raw": "http://SERVER/login?via={{who}}", "protocol": "http", "host": ["SERVER"], "path": ["login"],
            "query": [{"key": "via", "value": "{{who}}"}, {"key": "debug", "value": "1", "disabled": true}]}}}
    ]},
    {"name": "Cart", "variable": [{"key": "who", "value": "bob"}], "item": [
      {"name": "Deep", "item": [
        {"name": "Item", "request": {"method": "GET", "url": {"raw": "{{baseUrl}}/users/:id/items/{{$randomInt}}", "host": ["{{baseUrl}}"],
          "path": ["users", ":id", "of", "{{who}}"], "variable": [{"key": "id", "value": "{{user.id}}"}]}}},
        {"name": "Old", "request": "{{baseUrl}}/plain?x=a b"}
      ]},
      {"name": "Form", "request": {"method": "POST", "auth": {"type": "basic", "basic": [
          {"key": "username", "value": "ann"}, {"key": "password", "value": "GEHEIM3"}]},
        "body": {"mode": "urlencoded", "urlencoded": [{"key": "a b", "value": "1&{{who}}"}, {"key": "off", "value": "x", "disabled": true}]},
        "url": "{{baseUrl}}/form"}},
      {"name": "Key", "request": {"method": "DELETE", "auth": {"type": "apikey", "apikey": [
          {"key": "key", "value": "X-Key"}, {"key": "value", "value": "{{secretKey}}"}, {"key": "in", "value": "header"}]}, "url": "{{baseUrl}}/key"}}
    ]},
    {"name": "Time", "request": {"method": "GET", "url": "{{baseUrl}}/at/{{$timestamp}}"}},
    {"name": "Nowhere", "request": {"method": "GET", "url": "{{baseUrl}}/{{missing}}"}},
    {"name": "Signed", "request": {"method": "GET", "auth": {"type": "awsv4", "awsv4": []}, "url": "{{baseUrl}}/signed"}},
    {"name": "Elsewhere", "request": {"method": "GET", "url": "https://elsewhere.example/"}}
  ]
}"#;

#[test]
fn a_shop_is_asked_as_postman_asks_it() {
    let run = Run::new();
    run.place.write("shop.json", SHOP.replace("SERVER", &run.server.address));
    let ended = run.import(&["shop.json"]).exits(0);
    assert!(!ended.stderr.contains("GEHEIM"), "{}", ended.stderr);
    says(
        &ended,
        &[
            "5 of 9 entries taken",
            "4 of 9 entries are left out",
            "1 with a function that a session does not have (first: request 6, Time, `$timestamp`)",
            "1 with a variable that has no value; `--value NAME=VALUE` gives it one (first: request 7, Nowhere, `missing`)",
            "1 that is signed or answers a challenge",
            "1 of another server (first: request 9, Elsewhere)",
            "`authorization`",
            "`password`",
        ],
    );
    let arrived = run.run("--sessions 1 -c 1");
    let lines: Vec<String> = arrived.iter().map(super::Arrived::line).collect();
    assert_eq!(
        lines,
        [
            "POST /login?via=ann {\"user\": \"ann\", \"password\": \"GEHEIM2\"}",
            "GET /v1/users/7/of/bob",
            "GET /v1/plain?x=a%20b",
            "POST /v1/form a+b=1%26bob",
            "DELETE /v1/key",
        ]
    );
    let fields = |name: &str| arrived.iter().map(|own| own.field(name)).collect::<Vec<_>>();
    assert_eq!(fields("authorization"), ["", "Bearer abc/1", "Bearer abc/1", "Basic YW5uOkdFSEVJTTM=", ""]);
    assert_eq!((fields("x-a")[0], fields("x-b")[0], fields("x-key")[4]), ("ann", "", "GEHEIM1"));
    assert_eq!(
        (fields("content-type")[0], fields("content-type")[3]),
        ("application/json", "application/x-www-form-urlencoded")
    );
    for line in ["check.status = [200]", "check.json = { \"/user/id\" = \"7\" }"] {
        assert!(run.scenario().contains(line), "{}", run.scenario());
    }
}

/// A check of a test fails where the server answers otherwise.
#[test]
fn tests_are_checks() {
    let run = Run::new();
    let text = r#"{"info": {"name": "x"}, "item": [{"name": "Gone", "event": [{"listen": "test", "script": {"exec": "pm.response.to.have.status(404);"}}],
        "request": "http://SERVER/missing"}, {"name": "Text", "event": [{"listen": "test", "script": {"exec": ["pm.expect(pm.response.text()).to.include('never');"]}}],
        "request": "http://SERVER/a"}]}"#;
    let (ended, lines) = run.lines("tests.json", text, &[]);
    assert_eq!(lines, ["GET /missing", "GET /a"], "{}", ended.stderr);
    let tried = run.place.farfield("try made.toml");
    assert!(tried.stdout.contains("check contains \"never\" does not hold"), "{}", tried.stdout);
    assert!(!tried.stdout.contains("check status"), "{}", tried.stdout);
}

/// Version 2.0 has objects where 2.1 has lists; forms, files and GraphQL; what a script does besides is said.
#[test]
fn bodies_of_all_kinds_are_sent() {
    let run = Run::new();
    run.place.write("note.txt", "hello ${x}");
    let text = r#"{"info": {"name": "b", "schema": "https://schema.getpostman.com/json/collection/v2.0.0/collection.json"}, "item": [
      {"name": "upload", "request": {"method": "POST", "url": "http://SERVER/upload", "body": {"mode": "formdata", "formdata": [
        {"key": "a", "value": "1", "type": "text"}, {"key": "f", "type": "file", "src": "note.txt"}]}}},
      {"name": "query", "request": {"method": "POST", "url": "{{url}}/graphql", "auth": {"type": "bearer", "bearer": {"token": "T{{$guid}}"}},
        "body": {"mode": "graphql", "graphql": {"query": "{ a(b: \"c\") }", "variables": "{\"n\": 1}"}}}},
      {"name": "file", "request": {"method": "PUT", "url": "{{url}}/file", "body": {"mode": "file", "file": {"src": "note.txt"}}}},
      {"name": "pruned", "request": {"method": "GET", "url": "{{url}}/pruned", "body": {"mode": "raw", "raw": "x"}},
        "event": [{"listen": "prerequest", "script": {"exec": ["if (1) { pm.sendRequest('x'); }"]}}]}]}"#;
    let url = format!("url=http://{}", run.server.address);
    let (ended, _) = run.lines("bodies.json", text, &["--value", &url]);
    says(
        &ended,
        &[
            "4 of 4 entries taken",
            "1 without statements of their scripts that have no equivalent (first: request 4, pruned)",
        ],
    );
    let arrived = run.run("--sessions 1 -c 1");
    assert!(
        arrived[0]
            .body
            .contains("name=\"f\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\nhello ${x}\r\n"),
        "{arrived:?}"
    );
    assert_eq!(arrived[1].body, r#"{"query":"{ a(b: \"c\") }","variables":{"n": 1}}"#);
    let token =
        arrived[1].field("authorization").strip_prefix("Bearer T").expect("a token").split('-').map(str::len);
    assert_eq!(token.collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert_eq!(
        (arrived[2].line().as_str(), arrived[3].line().as_str()),
        ("PUT /file hello ${x}", "GET /pruned")
    );
}
