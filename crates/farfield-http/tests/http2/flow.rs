//! Windows, in both directions.

use crate::scene::*;
use farfield_http::http2::{RequestHead, Settings};

fn post(length: u64) -> RequestHead<'static> {
    RequestHead { method: "POST", body_length: Some(length), ..get() }
}

#[test]
fn a_body_is_sent_as_the_windows_allow() {
    let mut scene = Scene::with(&Settings::default(), &[(4, 10)]);
    let id = scene.ask(&post(25), &[b'x'; 25]).expect("room");
    assert_eq!(scene.sent(), ["1 headers", "1 data #10"]);
    assert!(scene.connection.is_stalled(id));
    assert_eq!(scene.receive(&window_update(1, 5)), Ok(vec![]));
    assert_eq!(scene.sent(), ["1 data #5"]);
    // RFC 9113, 6.9.2: a smaller first window takes from what a stream has, below zero if need be.
    assert_eq!(scene.receive(&[settings(&[(4, 3)]), window_update(1, 7)].concat()), Ok(vec![]));
    assert_eq!(scene.sent(), ["settings ack"]);
    assert_eq!(scene.receive(&window_update(1, 4)), Ok(vec![]));
    assert_eq!(scene.sent(), ["1 data #4"]);
    assert_eq!(scene.receive(&settings(&[(4, 100)])), Ok(vec![]));
    assert_eq!(scene.sent(), ["settings ack", "1 data #6 end"]);
    assert!(!scene.connection.is_stalled(id));
}

#[test]
fn the_connections_window_is_shared_and_frames_have_a_limit() {
    let mut scene = Scene::with(&Settings::default(), &[(4, 1 << 20), (5, 20_000)]);
    let body = vec![b'x'; 50_000];
    scene.ask(&post(50_000), &body).expect("room");
    scene.ask(&post(50_000), &body).expect("room");
    let expected =
        ["1 headers", "1 data #20000", "1 data #20000", "1 data #10000 end", "3 headers", "3 data #15535"];
    assert_eq!(scene.sent(), expected);
    assert_eq!(scene.receive(&window_update(0, 34_465)), Ok(vec![]));
    assert_eq!(scene.sent(), ["3 data #20000", "3 data #14465 end"]);
    // An early reply ends the request.
    scene.ask(&post(50_000), &body).expect("room");
    assert_eq!(scene.sent(), ["5 headers"]);
    let events = scene.receive(&headers(5, END, &[(":status", "413")])).expect("a sound server");
    assert_eq!(events, ["5 head 413", "5 done 413 0 bytes"]);
    assert_eq!(scene.sent(), ["5 reset 0"]);
    assert_eq!(scene.receive(&[window_update(0, 1 << 20), window_update(5, 9)].concat()), Ok(vec![]));
    assert_eq!(scene.sent(), [""; 0]);
}

#[test]
fn what_comes_is_allowed_again_on_both_levels() {
    let own =
        Settings { stream_window_bytes: 40_000, connection_window_bytes: 65_535, ..Settings::default() };
    let mut scene = Scene::with(&own, &[]);
    scene.ask(&get(), b"").expect("room");
    assert_eq!(scene.receive(&headers(1, 0, &[(":status", "200")])).map(|all| all.len()), Ok(1));
    scene.to_send.clear();
    // Padding takes of the windows, too.
    let mut padded = vec![9; 10_000];
    padded[0] = 255;
    for sent in [vec![], vec!["1 window 20000"], vec![], vec!["0 window 40000", "1 window 20000"]] {
        scene.receive(&data(1, PADDED, &padded)).expect("a sound server");
        assert_eq!(scene.sent(), sent);
    }
    // Without end: a hundred windows' worth.
    for _ in 0..700 {
        scene.receive(&data(1, 0, &padded)).expect("a sound server");
    }
    let events = scene.receive(&data(1, END, b"")).expect("a sound server");
    assert_eq!(events, ["1 done 200 7038976 bytes"]);
}

#[test]
fn streams_at_once_are_limited_by_the_server() {
    let mut scene = Scene::silent(&Settings::default());
    assert_eq!(scene.connection.room(), 100);
    scene.receive(&settings(&[(3, 2)])).expect("a sound server");
    for _ in 0..2 {
        scene.ask(&get(), b"").expect("room");
    }
    assert!(scene.ask(&get(), b"").is_err());
    scene.receive(&headers(1, END, &[(":status", "200")])).expect("a sound server");
    assert_eq!(scene.connection.room(), 1);
    scene.receive(&settings(&[(3, 0)])).expect("a sound server");
    assert_eq!(scene.connection.room(), 0);
    assert_eq!(scene.connection.streams(), 1);
    scene.receive(&settings(&[(3, 7)])).expect("a sound server");
    assert_eq!(scene.connection.room(), 6);
}
