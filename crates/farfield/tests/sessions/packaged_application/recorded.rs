//! A reader who is recorded, and others who do the same: the application's tokens are those of each.

use super::Library;
use crate::common;
use std::fs;

/// A reader of the library, by urllib: logs in by the form, and writes a section of a page by its form, which
/// browsers send in parts.
const READER: &str = r#"
import csv, html.parser, os, urllib.request
from http.cookiejar import CookieJar
from urllib.parse import urlencode, urljoin

class Forms(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.forms = []

    def handle_starttag(self, tag, pairs):
        own = dict(pairs)
        if tag == "form":
            self.forms.append((own.get("id") or own.get("name"), own.get("action"), {}))
        if tag == "input" and self.forms and own.get("type") not in ("submit", "checkbox") and own.get("name"):
            self.forms[-1][2][own["name"]] = own.get("value") or ""

base = os.environ["FARFIELD_URL"]
ask = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open

def in_parts(fields):
    part = '--XyZ\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    return "".join(part % own for own in fields.items()) + "--XyZ--\r\n"

def send(path, form, typed, kind="application/x-www-form-urlencoded", write=urlencode):
    page = ask(urljoin(base, path))
    reader = Forms()
    reader.feed(page.read().decode())
    _, action, fields = next(own for own in reader.forms if own[0] == form)
    fields.update(typed)
    headers = {"Content-Type": kind}
    to = urljoin(page.url, action or page.url)
    reply = ask(urllib.request.Request(to, write(fields).encode(), headers))
    return reply.read().decode()

reader = next(csv.DictReader(open("application-users.csv", encoding="utf-8")))
who = {"wpName": reader["name"], "wpPassword": reader["password"], "wploginattempt": "Log in"}
assert reader["name"] in send("index.php?title=Special:UserLogin", "userlogin", who)
note = {"wpTextbox1": "Lent, and brought back.", "wpSummary": "A note", "wpSave": "Save"}
kind = "multipart/form-data; boundary=XyZ"
path = "index.php?title=Notes&action=edit&section=new"
assert "brought back" in send(path, "editform", note, kind, in_parts)
"#;

#[test]
fn a_reader_is_recorded_and_others_write_with_tokens_of_their_own() {
    let test = "a_reader_is_recorded_and_others_write_with_tokens_of_their_own";
    if common::wan::find(test, "python3").is_none() {
        return;
    }
    let Some(library) = Library::new(test) else { return };
    let (served, place) = (library.wiki.serve(), &library.wiki.place);
    place.write("reader.py", READER);
    let ended = place.farfield(&format!("record {} -- python3 reader.py", served.url)).exits(0);
    println!("{}", ended.stderr);
    for name in ["`wplogintoken`", "`wpedittoken`"] {
        assert!(ended.stderr.to_lowercase().contains(name), "{name}: {}", ended.stderr);
    }
    let notes = || {
        let counted = library.wiki.ask(
            "select count(*) from wiki.revision join wiki.page on rev_page = page_id where page_title = 'Notes'",
        );
        counted[0].parse::<u32>().expect("a number")
    };
    assert_eq!(notes(), 1);
    let tried = place.farfield("try recorded.toml").exits(0);
    println!("{}", tried.stdout);
    assert_eq!(notes(), 2);
    // One after the other: the page is one for all, and whoever is overtaken is asked.
    let ended = place.run("recorded.toml -c 1 --sessions 4 --samples none");
    assert!([Some(0), Some(3)].contains(&ended.code), "{ended:?}");
    assert_eq!(notes(), 6, "{}", fs::read_to_string(place.path("recorded.toml")).unwrap_or_default());
}
