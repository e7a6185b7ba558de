//! Links and forms of pages: where they lead.

use super::*;

const LINK: &str = "on-failure = 'end-session'\n[[state]]\nname = 'a'\npath = '/in/a?q'\n\
    extract.link = { regex = '<(.*)>' }\n[[state]]\nname = 'b'\npath = '${link}'\n";
const FORM: &str = "on-failure = 'end-session'\n[[state]]\nname = 'a'\npath = '/in/a?q'\n\
    [[state]]\nname = 'b'\nform = {}\n";

/// A link or form that leads to another server, or to what is not HTTP, is not asked for, and least of all
/// `/`.
#[test]
fn links_that_lead_elsewhere_are_not_asked_for() {
    macro_rules! case {
        ($link:literal) => {{
            let link: fn(&str) -> String = |_| reply(200, "", concat!("<", $link, ">"));
            let form: fn(&str) -> String = |_| reply(200, "", concat!("<form action='", $link, "'></form>"));
            for (session, script) in [(LINK, link), (FORM, form)] {
                let (outcomes, asked) = led_by(session, script);
                assert!(
                    asked.len() > 5 && asked.iter().all(|line| line == "GET /in/a?q HTTP/1.1"),
                    "{asked:?}"
                );
                assert_eq!(
                    outcomes[..4],
                    [Outcome::Ok, Outcome::LinkElsewhere, Outcome::Ok, Outcome::LinkElsewhere]
                );
            }
        }};
    }
    case!("javascript:void(0)");
    case!("mailto:a@b");
    case!("//other/x");
    case!("http://other/x");
    case!("https://server/x");
    case!("http://server:8080/");
}

/// Links to the server itself are asked for as RFC 3986 has it, without their fragments.
#[test]
fn links_are_resolved() {
    macro_rules! case {
        ($link:literal, $asked:literal) => {{
            let (_, asked) = led_by(LINK, |_| reply(200, "", concat!("<", $link, ">")));
            assert_eq!(asked[1], concat!("GET ", $asked, " HTTP/1.1"), $link);
        }};
    }
    case!("/b#part", "/b");
    case!("#part", "/in/a?q");
    case!("b?x=1#part", "/in/b?x=1");
    case!("../b", "/b");
    case!("?y", "/in/a?y");
    case!("http://SERVER:80/b", "/b");
    case!("//server/b/../c d", "/c%20d");
    case!("/a?b=c&d=%20e", "/a?b=c&d=%20e");
}

/// The first `<base>` of a page counts for what it embeds and for its links, even where it is another
/// server's.
#[test]
fn the_base_of_a_page_counts() {
    let session = "page-load = 'browser'\n[[state]]\nname = 'a'\npath = '/a'\nextract.link = { css = 'a', attribute = 'href' }\n\
                   [[state]]\nname = 'b'\npath = '${link}'\n";
    let (_, asked) = led_by(session, |_| {
        let page = "<head><base href=/deep/er/><base href=/no/></head><img src=i.png><a href=next>x</a>";
        reply(200, "Content-Type: text/html\r\n", page)
    });
    assert_eq!(asked[..3], ["GET /a HTTP/1.1", "GET /deep/er/i.png HTTP/1.1", "GET /deep/er/next HTTP/1.1"]);
    let (outcomes, asked) = led_by(session, |_| {
        let page = "<head><base href=http://cdn/></head><img src=i.png><a href=next>x</a>";
        reply(200, "Content-Type: text/html\r\n", page)
    });
    assert!(asked.iter().all(|line| line == "GET /a HTTP/1.1"), "{asked:?}");
    assert_eq!(outcomes[1], Outcome::LinkElsewhere);
}
