//! `farfield site` as people use it: a model becomes files, which a server serves and a run asks for.

use crate::common::wan::{CALM_PACKETS, SHORT};
use crate::common::{Place, Signal};
use farfield_traffic::Site;
use std::collections::BTreeMap;
use std::fs;

const MODEL: &str = "pages = 20\ndocuments = 5\nembedded-objects = 40\nembedded = 3\nlinks = 4\n\
    distances = { distribution = 'lognormal', mu = 1, sigma = 0.8 }\n\
    sizes = { body = { distribution = 'lognormal', mu = 8, sigma = 1 }, max = '200kB' }\n";

/// The first `requests` over the site, each with the bytes that its object has, on the built-in server.
#[test]
fn a_site_that_was_made_is_served_and_asked_for() {
    let place = Place::new();
    place.write("model.toml", MODEL);
    let made = place.farfield("site make model.toml www --seed 4").exits(0);
    assert!(made.stdout.contains("65 objects") && made.stdout.contains("3.0 embedded"), "{}", made.stdout);
    let manifest = fs::read_to_string(place.path("www/site.json")).expect("a manifest");
    let site: Site = serde_json::from_str(&manifest).expect("a site");
    for object in site.objects() {
        let file = fs::metadata(place.path(&format!("www{}", object.path))).expect("a file");
        assert_eq!(file.len(), object.size.0, "{}", object.path);
    }
    for (order, source) in [
        ("weighted", "site = 'www/site.json'"),
        ("in-order", "site = 'www/site.json'"),
        ("stack-distance", "site = 'model.toml'\nsite-seed = 4"),
        ("walk", "site = 'www/site.json'"),
    ] {
        place.write(
            "s.toml",
            format!(
                "origin.root = 'www'\n[requests]\n{source}\norder = '{order}'\n[connections]\nparallel = 4\n"
            ),
        );
        let ended = place.run("s.toml -n 200 -c 3");
        let ended = ended.exits(0);
        let samples = ended.samples();
        assert!(samples.len() >= 200, "{order}: {} samples", samples.len());
        for sample in &samples {
            let object = &site.objects()[sample.request as usize];
            assert_eq!(sample.status, 200, "{order}: {}", object.path);
            assert_eq!(sample.body_bytes, object.size.0, "{order}: {}", object.path);
        }
    }
}

/// Without a target farfield serves the site itself, and it need not be made first: on each plane every reply
/// has the bytes of its object.
#[test]
fn a_site_without_a_target_is_served_as_it_is() {
    let planes: &[&str] = match crate::common::wan::may_build("a_site_without_a_target_is_served_as_it_is") {
        true => &["sockets", "simulated", "emulated"],
        false => &["sockets", "simulated"],
    };
    let place = Place::new();
    place.write("model.toml", MODEL);
    place.farfield("site make model.toml www --seed 4").exits(0);
    let manifest = fs::read_to_string(place.path("www/site.json")).expect("a manifest");
    let site: Site = serde_json::from_str(&manifest).expect("a site");
    place.write(
        "s.toml",
        "network.rtt = '2ms'\n[requests]\nsite = 'model.toml'\nsite-seed = 4\norder = 'walk'\n",
    );
    for plane in planes {
        // Two hundred requests of three users are over in a fraction of a second.
        let limits = [CALM_PACKETS, SHORT].join(" ");
        let ended = place.run(&format!("s.toml -n 200 -c 3 --plane {plane} {limits}")).exits(0);
        let samples = ended.samples();
        assert!(samples.len() >= 200, "{plane}: {} samples", samples.len());
        for sample in &samples {
            let object = &site.objects()[sample.request as usize];
            let got = (sample.status, sample.body_bytes);
            assert_eq!(got, (200, object.size.0), "{plane}: {}", object.path);
        }
        let scenario = fs::read_to_string(ended.directory.join("scenario.toml")).expect("a scenario");
        assert!(!scenario.contains("root"), "{plane}: a folder that is gone is no part of the scenario");
    }
}

/// The cost of an object is added to the time that a worker of the model takes.
#[test]
fn the_model_of_a_server_takes_what_an_object_costs() {
    let place = Place::new();
    let site = r#"{"seed":0,"objects":[{"path":"/a","kind":"html","size":"10B","cost":"30ms"}],"pages":[{"object":0,"weight":1}]}"#;
    place.write("site.json", site);
    place.write(
        "s.toml",
        "plane = 'simulated'\nrequests.site = 'site.json'\nsimulated.service-time = '5ms'\n[network]\nrtt = '1ms'\n",
    );
    let samples = place.run("s.toml -n 20 -c 1").exits(0).samples();
    assert!(samples.len() >= 20);
    for sample in &samples {
        let took = sample.service_time().expect("it was sent").as_secs_f64();
        assert!((0.035..0.040).contains(&took), "{took}");
    }
}

/// The way back: files that were made are read as the objects, pages and links that they were made from.
#[test]
fn a_folder_reads_as_the_site_that_it_was_made_from() {
    let place = Place::new();
    place.write("model.toml", MODEL);
    place.farfield("site make model.toml www").exits(0);
    let manifest = fs::read_to_string(place.path("www/site.json")).expect("a manifest");
    let made: Site = serde_json::from_str(&manifest).expect("a site");
    place.farfield("site read www -o read.json").exits(0);
    let read = fs::read_to_string(place.path("read.json")).expect("a site");
    let read: Site = serde_json::from_str(&read).expect("a site");
    assert_eq!(read.objects().len(), made.objects().len() + 1, "the index is an object more");
    for page in made.pages() {
        let path = &made.object(page).path;
        let names = |site: &Site, at: &[u32]| -> Vec<String> {
            at.iter().map(|at| site.objects()[*at as usize].path.clone()).collect()
        };
        let again = read.pages().iter().find(|page| read.object(page).path == *path).expect("a page");
        assert_eq!(names(&read, &again.embedded), names(&made, &page.embedded), "{path}");
        let to = |site: &Site, page: &farfield_traffic::site::SitePage| -> Vec<String> {
            let links = page.links.iter().map(|link| &site.pages()[link.page as usize]);
            links.map(|to| site.object(to).path.clone()).collect()
        };
        assert_eq!(to(&read, again), to(&made, page), "{path}");
    }
}

/// And over HTTP: what a server shows of a site is the site, with the index that leads to it.
#[test]
fn a_server_shows_the_site_that_it_serves() {
    let place = Place::new();
    place.write("model.toml", MODEL);
    place.farfield("site make model.toml www").exits(0);
    let read = |file: &str| -> Site {
        serde_json::from_str(&fs::read_to_string(place.path(file)).expect("a site")).expect("a site")
    };
    let made = read("www/site.json");
    let served = place.serve(&format!("--config root='{}'", place.path("www").display()));
    let url = format!("{}/", served.url);
    let ended = place.farfield(&format!("site crawl {url} -o seen.json")).exits(0);
    assert!(ended.stdout.contains("seen.json"), "{}", ended.stdout);
    let seen = read("seen.json");
    let named = |site: &Site| -> BTreeMap<String, (u64, Vec<String>)> {
        let path = |at: &u32| site.objects()[*at as usize].path.clone();
        let page = |page: &farfield_traffic::site::SitePage| {
            let object = &site.objects()[page.object as usize];
            (object.path.clone(), (object.size.0, page.embedded.iter().map(path).collect()))
        };
        site.pages().iter().map(page).collect()
    };
    let (mut shown, pages) = (named(&seen), named(&made));
    assert!(shown.remove("/").is_some(), "the index is a page");
    assert_eq!(shown, pages);
    let few = place.farfield(&format!("site crawl {url} -o few.json --objects-max 5")).exits(0);
    assert!(few.stdout.contains("--objects-max takes more than 5"), "{}", few.stdout);
    assert_eq!(read("few.json").objects().len(), 5);
    place.farfield("site crawl http://127.0.0.1:1/").exits(1).says(&["no answer to http://127.0.0.1:1/"]);
    place.farfield("site crawl www").exits(2).says(&["`www` is not a URL"]);
    served.end(Signal::TERM);
}

#[test]
fn a_model_that_is_shown_makes_the_same_site() {
    let place = Place::new();
    let shown = place.farfield("site show surge").exits(0).stdout;
    place.write(
        "surge.toml",
        shown.replace("pages = 600", "pages = 6").replace("= 640", "= 4").replace("= 760", "= 8"),
    );
    place.farfield("site make surge.toml www").exits(0);
    place.farfield("site make surge.toml www").exits(2).says(&["www is not empty"]);
    place.farfield("site make serge other").exits(2).says(&["`serge` names no site", "`surge`"]);
    place.farfield("site show serge").exits(2).says(&["prowgen"]);
    place.farfield("site make gone.toml other").exits(2).says(&["gone.toml: "]);
    place.write("bad.toml", "pages = 1\nsizes = { body = '1s' }\n");
    place.farfield("site make bad.toml other").exits(2).says(&["bad.toml: ", "times"]);
}

/// A server that is a stranger's: its page leads out of any folder, by encoded dots, through a path that no
/// site has, and to an answer that breaks off. What it has is kept, and made into files inside the folder
/// alone.
#[test]
fn a_hostile_server_writes_nothing_outside_the_folder() {
    let place = Place::new();
    let page = "<a href='/%2e%2e/%2E%2e/escaped.html'>up</a><a href='/a//b'>empty</a><a href='/broken.html'>cut</a>\
                <a href='%2e%2e/ok.html'>back</a><img src='/sub/%2e%2e/%2e%2e/escaped.png'>";
    let reply = |kind: &str, announced: usize, body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {announced}\r\n\r\n{body}")
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let page = reply("text/html", page.len(), page);
    let replies = move |path: &str| match path {
        "/" => page.clone(),
        "/broken.html" => reply("text/html", 1_000, "cut"),
        _ => reply("image/png", 3, "abc"),
    };
    let (tell, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match std::io::Read::read(&mut connection, &mut byte) {
                    Ok(1) => head.push(byte[0]),
                    _ => break,
                }
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let Some(path) = head.split(' ').nth(1) else { continue };
            let _ = tell.send(path.to_owned());
            let _ = std::io::Write::write_all(&mut connection, replies(path).as_bytes());
        }
    });
    let ended = place.farfield(&format!("site crawl {url} -o seen.json")).exits(0);
    assert!(
        ended.stdout.contains("1 answers did not come or broke off, such as that to /broken.html"),
        "{}",
        ended.stdout
    );
    let asked: Vec<String> = asked.try_iter().collect();
    assert!(
        asked.iter().all(|path| !path.to_lowercase().contains("%2e") && !path.contains("//")),
        "{asked:?}"
    );
    place.farfield("site make seen.json deep/er/www").exits(0);
    let files: Vec<_> = ["escaped.html", "escaped.png", "ok.html"]
        .map(|name| {
            (
                place.path(&format!("deep/er/www/{name}")).is_file(),
                place.path(&format!("deep/{name}")).exists(),
            )
        })
        .into();
    assert_eq!(files, [(true, false); 3]);
    // And a site that somebody wrote by hand.
    let written = r#"{"seed":1,"objects":[{"path":"/%2e%2e/%2e%2e/out","kind":"other","size":3}],"pages":[{"object":0,"weight":1}]}"#;
    place.write("hostile.json", written);
    place
        .farfield("site make hostile.json deep/est/www")
        .exits(2)
        .says(&["hostile.json", "/%2e%2e/%2e%2e/out"]);
    assert!(!place.path("out").exists() && !place.path("deep/out").exists());
}

/// A page with links to names that a server has and no disk: they are left out, and what is kept can be made.
#[test]
fn names_too_long_for_a_file_are_left_out_of_a_crawl() {
    let place = Place::new();
    let (name, way) = ("n".repeat(300), "/d".repeat(1_500));
    let page = format!(
        "<a href='/{name}.html'>long</a><a href='/{name}/a.html'>in it</a><a href='{way}/b.html'>deep</a>\
         <a href='/fine.html'>fine</a>"
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match std::io::Read::read(&mut connection, &mut byte) {
                    Ok(1) => head.push(byte[0]),
                    _ => break,
                }
            }
            let reply = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{page}",
                page.len()
            );
            let _ = std::io::Write::write_all(&mut connection, reply.as_bytes());
        }
    });
    let ended = place.farfield(&format!("site crawl {url} -o seen.json")).exits(0);
    assert!(ended.stdout.contains("3 paths were left out, such as /nnnn"), "{}", ended.stdout);
    place.farfield("site make seen.json www").exits(0);
    assert!(place.path("www/fine.html").is_file());
    // As another program may have written it.
    let written = format!(
        r#"{{"seed":1,"objects":[{{"path":"/","kind":"other","size":3}},{{"path":"/{name}","kind":"other","size":3}}],"pages":[{{"object":0,"weight":1}}]}}"#
    );
    place.write("long.json", written);
    let made = place.farfield("site make long.json other").exits(0);
    assert!(made.stdout.contains("1 of the site's objects have no file, such as /nnn"), "{}", made.stdout);
    place.farfield("run -n 5 -c 1 -q --set requests.site='long.json' --out run").exits(0);
}
