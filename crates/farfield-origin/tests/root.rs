//! Files of a folder, served as they are.

mod client;

use client::{Client, start};
use farfield_origin::{Origin, OriginConfig, OriginError};
use std::fs;
use std::path::PathBuf;

/// A folder of its own for the test, below where cargo puts what tests write.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("sub")).expect("a folder");
    folder
}

#[test]
fn files_come_as_they_are_and_before_all_else() {
    let root = folder("root-files");
    let large: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    let files: [(&str, &[u8]); 5] = [
        ("index.html", b"<p>index"),
        ("a b.css", b"a{}"),
        ("sub/index.html", b"<p>sub"),
        ("sub/large.bin", &large),
        ("page/0.html", b"mine"),
    ];
    fs::create_dir(root.join("page")).expect("a folder");
    files.iter().for_each(|(path, bytes)| fs::write(root.join(path), bytes).expect("a file"));
    let origin = start(OriginConfig { root: Some(root), ..OriginConfig::default() });
    let mut client = Client::connect(origin.address());
    let mut check = |path: &str, content_type: &str, body: &[u8]| {
        let reply = client.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(content_type)), "{path}");
        assert!(reply.body == body, "{path}: {} bytes", reply.body.len());
    };
    const HTML: &str = "text/html; charset=utf-8";
    check("/", HTML, b"<p>index");
    check("/index.html?query", HTML, b"<p>index");
    check("/a%20b.css", "text/css", b"a{}");
    check("/sub/", HTML, b"<p>sub");
    check("/sub/large.bin", "application/octet-stream", &large);
    check("/page/0.html", HTML, b"mine");
    check("/bytes/3", "application/octet-stream", b"/* ");
    for path in ["/nothing.html", "/sub", "/../index.html", "/sub/../index.html"] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let root = folder("root-none").join("gone");
    let error = Origin::start(OriginConfig { root: Some(root), ..OriginConfig::default() });
    let error = error.expect_err("there is none");
    assert!(matches!(error, OriginError::Root { .. }));
    assert!(error.to_string().contains("root-none/gone"), "{error}");
}
