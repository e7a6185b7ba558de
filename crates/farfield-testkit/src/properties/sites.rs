//! Sites: a site that is read can be walked and reads back, and a path that a page names can be requested.

use farfield_base::Bytes;
use farfield_base::random::{Purpose, Seed};
use farfield_traffic::site::files::{self, FoundFile};
use farfield_traffic::site::walk::TransitionTable;
use farfield_traffic::site::{Site, SiteFigures, path};
use std::path::{Component, Path};

/// Reads a site's manifest.
pub fn of_manifest(input: &[u8]) {
    let Ok(site) = serde_json::from_slice::<Site>(input) else { return };
    let text = serde_json::to_string(&site).expect("a site is JSON");
    assert_eq!(serde_json::from_str::<Site>(&text).expect("a site reads back"), site);
    of_a_site(&site);
}

/// Reads a path, and a page's reference, of a site that is written to a folder: `site_folder`. The oracle is
/// the file system's own reading of the names, not the decoder's.
pub fn of_folder(input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    if path::is_path(&text) {
        lies_in_the_folder(&text);
    } else {
        assert_eq!(path::on_disk(&text), None);
    }
    for own in ["/", "/sub/page.html", "/a/b/c/d"] {
        let quoted = text.replace(['"', '<', '>'], "");
        for path in files::named(&format!("<a href=\"{quoted}\">"), own) {
            lies_in_the_folder(&path);
        }
    }
}

/// Each name is a child of the one before: joined to a folder, the path has the folder's parts and then
/// these.
fn lies_in_the_folder(path: &str) {
    let names = path::on_disk(path).unwrap_or_else(|| panic!("{path} cannot lie on a disk"));
    let whole = Path::new("/folder").join(names.join("/"));
    let parts: Vec<Component<'_>> = whole.components().collect();
    assert!(parts.len() == names.len() + 2 && whole.starts_with("/folder"), "{path} lies at {whole:?}");
    assert!(parts[2..].iter().all(|part| matches!(part, Component::Normal(_))), "{path} lies at {whole:?}");
    assert!(!whole.to_string_lossy().contains('\0'), "{path}");
}

/// Reads the HTML of a page among others.
pub fn of_page(input: &[u8]) {
    let html = String::from_utf8_lossy(input).into_owned();
    let own = "/sub/page.html";
    for path in files::named(&html, own) {
        let fits = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        assert!(fits && !path.contains(['?', '#']), "{path}");
        lies_in_the_folder(&path);
    }
    let file = |path: &str, html: Option<&str>| FoundFile {
        path: path.to_owned(),
        size: Bytes(html.map_or(7, |html| html.len() as u64)),
        html: html.map(str::to_owned),
    };
    let found = vec![
        file("index.html", Some("<iframe src=sub/page.html><a href=sub/a.html>a</a>")),
        file("sub/page.html", Some(&html)),
        file("sub/a.html", Some(&html)),
        file("b.png", None),
        file("sub/c d.css", None),
    ];
    of_a_site(&files::read(found).expect("these files are a site, whatever one of them says"));
}

fn of_a_site(site: &Site) {
    let (objects, pages) = (site.objects().len(), site.pages().len());
    assert!(objects > 0 && pages > 0);
    for page in site.pages() {
        assert!((page.object as usize) < objects);
        assert!(page.embedded.iter().all(|object| (*object as usize) < objects));
        assert!(page.links.iter().all(|link| (link.page as usize) < pages));
    }
    let _ = SiteFigures::of(site);
    let (walk, mut rng) = (TransitionTable::new(site), Seed(1).stream(Purpose::User, 1));
    let mut page = walk.start(&mut rng);
    for _ in 0..20 {
        assert!((page as usize) < pages);
        page = walk.next(page, &mut rng);
    }
}
