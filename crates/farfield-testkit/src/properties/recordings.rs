//! Recordings: sessions of pages in order of time, or a message about the file.

use farfield_traffic::session::replay::ReplaySpec;

/// Any bytes as httperf's session file.
pub fn of_wsesslog(input: &[u8]) {
    of_recording(input, "format = 'wsesslog'\ntiming = 'gaps'");
}

/// Any bytes as a browser's archive.
pub fn of_har(input: &[u8]) {
    of_recording(input, "format = 'har'");
}

/// Any bytes as an access log whose requests are asked for again.
pub fn of_log_again(input: &[u8]) {
    of_recording(input, "format = 'log'");
    of_recording(input, "format = 'log'\ntiming = 'gaps'");
}

/// A recording is sessions of pages that are there, in order of time, or a sentence about the file.
fn of_recording(input: &[u8], how: &str) {
    let spec: ReplaySpec = toml::from_str(&format!("file = 'it'\nspeed = 0.5\n{how}")).expect("a spec");
    match spec.resolve(&mut |_| Ok(input.to_vec()), None) {
        Err(error) => assert!(error.to_string().starts_with("it:"), "{error}"),
        Ok(replay) => {
            assert!(!replay.sessions.is_empty());
            let sent = replay
                .sessions
                .iter()
                .flat_map(|session| &session.pages)
                .map(|page| 1 + replay.requests.pages()[page.page as usize].embedded.len() as u64);
            assert_eq!(sent.sum::<u64>(), replay.reading.taken, "what is sent is what was read");
            for session in &replay.sessions {
                assert!(
                    session.pages.iter().all(|page| (page.page as usize) < replay.requests.pages().len())
                );
                assert!(!session.pages.is_empty() && session.pages.is_sorted_by_key(|page| page.at));
            }
            for request in replay.requests.requests() {
                assert!(
                    request.path.starts_with('/') && request.path.bytes().all(|byte| byte.is_ascii_graphic())
                );
            }
        }
    }
}
