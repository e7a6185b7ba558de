//! States and forms by what was found: charsets, chosen items, fields, conditions, loops, the environment.

use super::{ONE, form, header, line, lines, reply, scripted};
use crate::scene::Stage;
use farfield_base::Outcome;

/// A page in Latin-1: texts are compared with it, taken from it and sent on as letters, not as bytes.
#[test]
fn text_is_looked_at_in_the_charset_that_the_reply_names() {
    let session = "[[state]]\nname = 'a'\npath = '/a'\ncheck = { contains = 'café', css = { b = 'café' } }\n\
        extract.x = { css = 'b' }\n[[state]]\nname = 'b'\npath = '/b?x=${x|url}'\n";
    // Each character is a byte.
    let script = |_: &str| {
        reply(200, "Content-Type: text/html; charset=ISO-8859-1\r\n", "<b>caf\u{e9}</b>")
            .replace("Content-Length: 12", "Content-Length: 11")
    };
    let stage = scripted(ONE, session, script).play();
    assert_eq!(lines(&stage)[..2], ["GET /a HTTP/1.1", "GET /b?x=caf%C3%A9 HTTP/1.1"]);
}

fn catalogue(request: &str) -> String {
    let item = |id: &str, price: u32| {
        format!(
            "<li data-id='{id}'><a href='/item/{price}'>see</a><form action='/buy' method=post>\
             <input type=hidden name=id value='{id}'><input name=note value=x><input type=checkbox name=gift checked>\
             <select name=size multiple><option selected>S<option>M</select></form></li>"
        )
    };
    match line(request) {
        "GET /list HTTP/1.1" => {
            let items = [item("a/1", 10), item("b\"],2", 20), item("c 3", 30)].concat();
            reply(
                200,
                "Content-Type: text/html\r\n",
                &format!("<i class=pick>b&quot;],2</i><ul>{items}</ul>"),
            )
        }
        _ => reply(200, "", "fine"),
    }
}

const CATALOGUE: &str = r#"
[[state]]
name = "list"
path = "/list"
extract.chosen = { css = "i.pick" }
extract.a-link = { css = "li[data-id='${chosen}'] a", attribute = "href" }
[[state]]
name = "buy"
form = { FORM }
"#;

fn bought(form: &str) -> Stage {
    scripted(ONE, &CATALOGUE.replace("FORM", form), catalogue).play()
}

/// The form of the item that was chosen, by a selector with holes, whatever is in their values; or the n-th,
/// or any.
#[test]
fn the_form_of_a_chosen_item_is_sent() {
    let body = |stage: &Stage| stage.sent[1].2.split("\r\n\r\n").nth(1).expect("a body").to_owned();
    let rest = "&note=x&gift=on&size=S";
    let chosen = bought("select = \"li[data-id='${chosen}'] form\"");
    assert_eq!(body(&chosen), format!("id=b%22%5D%2C2{rest}"));
    assert_eq!(body(&bought("select = 'li form', index = 3")), format!("id=c+3{rest}"));
    let ids: std::collections::BTreeSet<String> = bought("select = 'li form', random = true")
        .sent
        .iter()
        .filter_map(|(_, _, request)| request.split("\r\n\r\nid=").nth(1).map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    let linked = CATALOGUE.replace("form = { FORM }", "path = '${a-link}'");
    assert_eq!(lines(&scripted(ONE, &linked, catalogue).play())[1], "GET /item/20 HTTP/1.1");
    let none = bought("select = 'li form', index = 4");
    assert_eq!(none.samples[1].outcome, Outcome::ExtractFailed);
}

fn orders(request: &str) -> String {
    match line(request) {
        "GET /list HTTP/1.1" => reply(
            200,
            "",
            r#"{"pick": "a/b~.*", "other": "zz", "items": {"zz": {"n": 1}, "a/b~.*": {"n": 2}}}"#,
        ),
        _ => reply(200, "", "<p id='q'>zz=5</p><p id='a/b~.*'>a/b~.*=7</p> {\"n\": 2}"),
    }
}

/// A value stands for itself in an expression, a pointer or a selector, whatever is in it.
#[test]
fn a_chosen_value_is_looked_for_in_any_way() {
    let session = r#"
[[state]]
name = "list"
path = "/list"
extract.a-number = { json = "/items/${pick}/n" }
extract.pick = { json = "/pick" }
extract.other = { json = "/other" }
extract.coded = { regex = '"${other|json}": .("n")' }
[[state]]
name = "order"
path = "/order?n=${a-number}"
extract.price = { regex = '${pick}=(\d)' }
check.regex = ['>${pick}=\d<', '[0-9]}$']
check.css = { "p[id='${pick}']" = "${pick}=7" }
[[state]]
name = "paid"
path = "/paid?${price}"
check.lacks = "${pick}=8"
"#;
    let stage = scripted(ONE, session, orders).play();
    let asked = lines(&stage)[..3].to_vec();
    assert_eq!(asked, ["GET /list HTTP/1.1", "GET /order?n=2 HTTP/1.1", "GET /paid?7 HTTP/1.1"], "{asked:?}");
    assert_eq!(stage.count(Outcome::Ok) + stage.count(Outcome::Unfinished), stage.samples.len());
    let none = session.replace(r"\d<'", r"\d\d<'");
    assert_eq!(scripted(ONE, &none, orders).play().samples[1].outcome, Outcome::CheckFailed);
}

/// Fields with several values, fields that are not sent, and fields that the page does not have, which are
/// counted.
#[test]
fn fields_are_several_or_left_out() {
    let stage = bought("fields = { size = ['S', \"${chosen}\"], gift = false, note = '' }");
    assert!(
        stage.sent[1].2.ends_with("\r\n\r\nid=a%2F1&note=&size=S&size=b%22%5D%2C2"),
        "{:?}",
        stage.sent[1]
    );
    assert_eq!(stage.counts.forms_unlike, 0);
    let unlike = bought("fields = { note = 'y', colour = ['red', 'blue'] }");
    assert!(
        unlike.sent[1].2.ends_with("&note=y&gift=on&size=S&colour=red&colour=blue"),
        "{:?}",
        unlike.sent[1]
    );
    let forms = unlike.sent.iter().filter(|(_, _, request)| request.starts_with("POST")).count();
    assert_eq!(unlike.counts.forms_unlike, forms as u64);
    assert!(bought("submit = 'go'").counts.forms_unlike > 0);
}

fn pages(request: &str) -> String {
    match line(request) {
        "GET /p?1 HTTP/1.1" => reply(200, "", "<a class=next href='/p?2'>next</a>"),
        "GET /p?2 HTTP/1.1" => reply(200, "", "<a class=next href='/p?3'>next</a><b class=notice>sale</b>"),
        _ => reply(200, "", "the last"),
    }
}

/// A list is turned over page by page while there is a next, with what a page asks for only where it was
/// found.
#[test]
fn states_are_repeated_and_left_out_by_what_was_found() {
    let states = |more: &str| {
        format!(
            "[[state]]\nname = 'first'\npath = '/p?1'\nextract.next = {{ css = 'a.next', attribute = 'href' }}\n\
             [[state]]\nname = 'more'\npath = '${{next}}'\nwhile-found = 'next'\n{more}\n\
             extract.next = {{ css = 'a.next', attribute = 'href', default = '' }}\n\
             extract.notice = {{ css = '.notice', default = '' }}\n\
             [[state]]\nname = 'seen'\npath = '/seen?${{notice}}'\nif-found = 'notice'\n\
             [[state]]\nname = 'none'\npath = '/none'\nunless-found = 'notice'\n\
             [[state]]\nname = 'twice'\npath = '/twice?${{click}}'\nrepeat = 2\n"
        )
    };
    let asked = |more: &str| {
        let stage = scripted(ONE, &states(more), pages).play();
        assert!(stage.samples.iter().all(|sample| sample.outcome == Outcome::Ok));
        let lines = lines(&stage);
        let end =
            lines.iter().skip(1).position(|line| *line == "GET /p?1 HTTP/1.1").expect("a second session");
        let path = |line: &&str| line.trim_start_matches("GET ").trim_end_matches(" HTTP/1.1").to_owned();
        lines[..=end].iter().map(path).collect::<Vec<_>>().join(" ")
    };
    // The third page has no notice: what was found on the second is written over.
    assert_eq!(asked(""), "/p?1 /p?2 /p?3 /none /twice?4 /twice?5");
    assert_eq!(asked("repeat = 1"), "/p?1 /p?2 /seen?sale /twice?3 /twice?4");
}

/// A form goes to the state that sends it over one between that is left out.
#[test]
fn a_form_is_kept_over_a_state_that_is_left_out() {
    let session = "[[state]]\nname = 'a'\npath = '/in/form'\nextract.no = { css = '.no', default = '' }\n\
        [[state]]\nname = 'b'\npath = '/b'\nif-found = 'no'\n\
        [[state]]\nname = 'c'\nform = { select = '#f', fields = { user = 'ann' } }";
    let stage = scripted(ONE, session, form).play();
    assert_eq!(lines(&stage)[..2], ["GET /in/form HTTP/1.1", "POST /do HTTP/1.1"]);
}

/// A value of the environment is sent, and stands nowhere that a session is written out.
#[test]
fn the_environment_is_sent_and_not_shown() {
    let value = env!("CARGO_MANIFEST_DIR");
    let session = "[[state]]\nname = 'a'\npath = '/a'\nheaders = { x-t = '${env.CARGO_MANIFEST_DIR}' }\n\
        body = '${env.CARGO_MANIFEST_DIR|url}'";
    let scene = scripted(ONE, session, |_| reply(200, "", ""));
    let stage = scene.play();
    assert_eq!(header(&stage.sent[0].2, "x-t"), Some(value));
    assert!(stage.sent[0].2.ends_with(&value.replace('/', "%2F")), "{:?}", stage.sent[0]);
    let shown = format!("{:?}", scene.session);
    assert!(shown.contains("${env.CARGO_MANIFEST_DIR}") && !shown.contains(value), "{shown}");
}
