//! Commands of curl: curl itself sends them first, and farfield what it made of them; the server sees the
//! same.

use super::server::Arrived;
use super::{Run, says};
use crate::common::wan::find;
use std::process::Command;

/// A request without what is each client's own: its name, and the boundary of a form.
fn comparable(mut arrived: Arrived) -> Arrived {
    arrived.fields.retain(|name, value| match name.as_str() {
        "user-agent" => !value.starts_with("curl/") && !value.starts_with("farfield"),
        // curl announces long bodies, and HTTP/1.1 keeps connections without a field.
        "expect" | "connection" => false,
        _ => true,
    });
    let boundary = arrived.field("content-type").split_once("boundary=").map(|(_, own)| own.to_owned());
    if let Some(boundary) = boundary {
        arrived.body = arrived.body.replace(&boundary, "B");
        arrived.fields.insert("content-type".into(), "multipart/form-data".into());
        arrived.fields.remove("content-length");
    }
    // curl has its own list of codings.
    if arrived.fields.contains_key("accept-encoding") {
        arrived.fields.insert("accept-encoding".into(), "some".into());
    }
    arrived
}

/// Fails unless `command` sends the same by farfield as by curl.
fn same(run: &Run, command: &str) {
    let command = command.replace("SERVER", &run.server.address);
    let output =
        Command::new("sh").args(["-c", &command]).current_dir(run.place.path("")).output().expect("a shell");
    let by_curl: Vec<Arrived> = run.server.take().into_iter().map(comparable).collect();
    assert!(!by_curl.is_empty(), "{command}: curl sent nothing: {}", String::from_utf8_lossy(&output.stderr));
    run.place.write("command.sh", &command);
    let ended = run.import(&["command.sh"]);
    assert_eq!(ended.code, Some(0), "{command}: {}", ended.stderr);
    let ours: Vec<Arrived> = run.run("--sessions 1 -c 1").into_iter().map(comparable).collect();
    assert_eq!(ours, by_curl, "{command}\n{}\n{}", run.scenario(), ended.stderr);
}

#[test]
fn commands_send_what_curl_sends() {
    if find("commands_send_what_curl_sends", "curl").is_none() {
        return;
    }
    let run = Run::new();
    run.place.write("body.json", "{\n  \"price\": \"$5\"\n}\n");
    run.place.write("note.txt", "line 1\nline 2 ${x}\n");
    for command in [
        "curl -s http://SERVER/a?b=c",
        "curl -sS SERVER",
        "curl -s 'http://SERVER/a/../b/./c?x=$y'",
        "curl -s --path-as-is 'http://SERVER/a/../b'",
        "curl -s -d a=1 -d 'b=2 3' http://SERVER/form",
        "curl -s -X PUT -H 'Content-Type: application/json' -d @body.json http://SERVER/put",
        "curl -s --data-binary @body.json -H 'Content-Type:' http://SERVER/binary",
        "curl -s --data-urlencode 'q=ä & b' --data-urlencode '=c d' --data-urlencode 'note@note.txt' http://SERVER/enc",
        "curl -s -G -d a=1 --data-urlencode 'b=x y' 'http://SERVER/get?z=0'",
        "curl -s --data-raw '@not-a-file' http://SERVER/raw",
        "curl -s -F name=ann -F 'note=@note.txt' -F 'text=<note.txt' -F 'json={\"a\":1};type=application/json' http://SERVER/upload",
        "curl -s --form-string 'a=@b;type=c' http://SERVER/upload",
        "curl -s -u 'ann:pass:word' -b 'sid=1; lang=de' -A Test/1 -e http://x/ http://SERVER/who",
        "curl -s http://ann:p%40ss@SERVER/userinfo",
        "curl -s -I http://SERVER/head",
        "curl -s -X DELETE http://SERVER/thing/1",
        "curl -s --json '{\"a\": \"b\"}' --json ' ' http://SERVER/json",
        "curl -s -H 'X-Empty;' -H 'X-Two: a:b' -r 0-99 http://SERVER/fields",
        "curl -s -T note.txt http://SERVER/put/note.txt",
        "curl -s --compressed http://SERVER/coded",
        "curl -s http://SERVER/one http://SERVER/two --next -d x http://SERVER/three",
        "A=1; B='x y'\ncurl -s \"http://SERVER/$A\" -d \"$B\"\n# done\ncurl -s http://SERVER/again > /dev/null",
        "curl -sL http://SERVER/redirect",
        "curl -s http://SERVER/redirect",
        "curl -s \\\n  -H \"X-A: \\\"quoted\\\"\" \\\n  http://SERVER/lines",
    ] {
        same(&run, command);
    }
}

/// As Chrome copies a request, with a body in bash's own quotes; nothing of its credentials is shown.
#[test]
fn a_command_of_a_browser_is_sent_and_its_secrets_are_not_shown() {
    let run = Run::new();
    let (ended, _) = run.lines(
        "copied.txt",
        r#"curl 'http://SERVER/api/cart?access_token=GEHEIM1' \
  -H 'Accept: application/json, text/plain, */*' \
  -H 'Accept-Language: de-DE,de;q=0.9' \
  -H 'Authorization: Bearer GEHEIM2' \
  -H 'Content-Type: application/json' \
  -b 'session=GEHEIM3; theme=dark' \
  -H 'Origin: http://SERVER' \
  -H 'Sec-Fetch-Mode: cors' \
  -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64)' \
  -H 'sec-ch-ua: "Chromium";v="126", "Not/A)Brand";v="8"' \
  --data-raw $'{"name":"O\'Hara","note":"5\u20ac \u0021","password":"GEHEIM4"}' \
  --compressed --insecure"#,
        &[],
    );
    says(&ended, &["1 of 1 entry taken", "`authorization`", "`cookie`", "`access_token`", "`password`"]);
    assert!(!ended.stderr.contains("GEHEIM") && !ended.stdout.contains("GEHEIM"), "{}", ended.stderr);
    let arrived = run.run("--sessions 1 -c 1").remove(0);
    assert_eq!(
        arrived.line(),
        "POST /api/cart?access_token=GEHEIM1 {\"name\":\"O'Hara\",\"note\":\"5€ !\",\"password\":\"GEHEIM4\"}"
    );
    for (name, value) in [
        ("authorization", "Bearer GEHEIM2"),
        ("cookie", "session=GEHEIM3; theme=dark"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)"),
        ("sec-ch-ua", "\"Chromium\";v=\"126\", \"Not/A)Brand\";v=\"8\""),
        ("content-type", "application/json"),
    ] {
        assert_eq!(arrived.field(name), value);
    }
    // The file with credentials is its owner's alone.
    use std::os::unix::fs::PermissionsExt;
    let again = run.place.path("again.toml");
    run.place.farfield_with(&["import", "copied.txt", "--output", "again.toml"]).exits(0);
    assert_eq!(std::fs::metadata(again).expect("it was made").permissions().mode() & 0o077, 0);
}

/// Commands that farfield has no equivalent of are left out with a reason; options that do not matter are
/// reported too.
#[test]
fn what_is_left_out_of_commands_is_said() {
    let run = Run::new();
    let text = "curl -s 'http://SERVER/{a,b}'\ncurl --digest -u a:b http://SERVER/digest\ncurl \"http://SERVER/$(date)\"\n\
                curl ftp://SERVER/x\ncurl -d @none.json http://SERVER/none\ncurl http://elsewhere.example/\n\
                curl -x socks5://proxy:1 http://SERVER/proxied\ncurl -H Accept: http://SERVER/plain\n";
    let (ended, lines) =
        run.lines("many.sh", text, &["--target", &format!("http://{}/", run.server.address)]);
    assert_eq!(lines, ["GET /proxied", "GET /plain"]);
    says(
        &ended,
        &[
            "2 of 8 entries taken",
            "6 of 8 entries are left out",
            "pattern",
            "answers a challenge",
            "output of another command",
            "of another protocol than HTTP",
            "whose file cannot be read",
            "of another server",
            "without a proxy",
            "with `Accept: */*`",
            "with `Accept: */*`",
        ],
    );
    for (text, part) in [
        ("curl -H", "`-H` lacks"),
        ("curl --nothing http://a/", "`--nothing`"),
        ("curl 'http://a/", "not closed"),
        ("curl ^\n http://a/", "cmd.exe"),
        ("curl -s", "no URL"),
    ] {
        run.place.write("bad.sh", text);
        run.import(&["bad.sh"]).exits(2).says(&["bad.sh", part]);
    }
}

/// Words behind `--` are a command, too, and variables of the environment stay.
#[test]
fn a_command_may_be_typed() {
    let run = Run::new();
    let url = format!("http://{}/typed", run.server.address);
    run.import(&["--", "curl", "-X", "PATCH", &url, "-H", "X-A: 1 $2"]).exits(0);
    let arrived = run.run("--sessions 1 -c 1");
    assert_eq!((arrived[0].line().as_str(), arrived[0].field("x-a")), ("PATCH /typed", "1 $2"));
    run.place.write(
        "env.sh",
        format!("curl -H \"Authorization: Bearer $TOKEN\" http://{}/env", run.server.address),
    );
    let ended = run.import(&["env.sh"]).exits(0);
    says(&ended, &["needs these variables of the environment: `TOKEN`"]);
    assert!(run.scenario().contains("Bearer ${env.TOKEN}"));
    run.import(&["env.sh", "--value", "TOKEN=own"]).exits(0);
    assert_eq!(run.run("--sessions 1 -c 1")[0].field("authorization"), "Bearer own");
    run.place.farfield("import -- wget http://a/").exits(2).says(&["`wget`"]);
}

/// A command that is pasted in quotes is a command, and no name of a file.
#[test]
fn a_pasted_command_is_one_word() {
    let run = Run::new();
    let command = format!("curl -X POST 'http://{}/order' \\\n  -d 'a=1 2'", run.server.address);
    for words in [vec![command.as_str()], vec!["--", command.as_str()]] {
        let ended = run.import(&words).exits(0);
        says(&ended, &["curl is a curl command: 1 of 1 entry taken"]);
        let arrived: Vec<String> = run.run("--sessions 1 -c 1").iter().map(Arrived::line).collect();
        assert_eq!(arrived, ["POST /order a=1 2"]);
    }
    // A file of that name is a file, and files that the command names are a document's.
    run.place.write("curl me.sh", "curl http://127.0.0.1:1/of-the-file");
    run.import(&["curl me.sh"]).exits(0);
    assert!(run.scenario().contains("/of-the-file"), "{}", run.scenario());
    let command = format!("curl -d @/etc/hostname http://{}/", run.server.address);
    let ended = run.import(&[command.as_str()]).exits(2);
    says(&ended, &["whose file is not in the document's folder"]);
    run.import(&["curl", "--from", "curl"]).exits(1).says(&["cannot read curl"]);
}
