//! Replies that come in pieces, in words: the same in the terminal, on the page and in Markdown.

use crate::figures::{count, rate, time};
use farfield_base::WebSocketCounts;
use farfield_measure::summary::{EventsSummary, StallsSummary};

/// Streams of events and their rate: `1,600 in 100 streams (533/s), 3 left by their users`.
pub(crate) fn events_in_words(events: &EventsSummary) -> String {
    let per_s = events.events_per_s.map_or_else(String::new, |per_s| format!(" ({})", rate(per_s)));
    let left = match events.left {
        0 => String::new(),
        left => format!(", {} left by their users", count(left)),
    };
    let streams = if events.streams == 1 { "stream" } else { "streams" };
    format!("{} in {} {streams}{per_s}{left}", count(events.events), count(events.streams))
}

/// Replies in the midst of which nothing came for long: `3 replies paused for more than 500ms, …`.
pub(crate) fn stalls_in_words(stalls: &StallsSummary) -> String {
    let replies = if stalls.replies == 1 { "reply" } else { "replies" };
    let (limit, longest) = (time(stalls.limit_ns), time(stalls.longest_ns));
    format!("{} {replies} paused for more than {limit}, {longest} at most", count(stalls.replies))
}

/// WebSockets and the messages on them: `40 opened; 185 messages sent, 260 came, 40 of them passed over`.
pub(crate) fn websockets_in_words(own: &WebSocketCounts) -> String {
    let part = |number: u64, words: &str| (number > 0).then(|| format!("{} {words}", count(number)));
    let sockets = [Some(format!("{} opened", count(own.opened))), part(own.closed, "closed by the server")];
    let messages = [
        Some(format!("{} messages sent", count(own.sent))),
        Some(format!("{} came", count(own.received))),
        part(own.passed_over, "of them passed over"),
        part(own.lost, "forgotten before a state awaited one"),
    ];
    let joined = |parts: &[Option<String>]| parts.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    format!("{}; {}", joined(&sockets), joined(&messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn websockets_are_counted_with_their_messages() {
        let counts =
            WebSocketCounts { opened: 40, sent: 1_185, received: 260, passed_over: 3, ..Default::default() };
        let words = "40 opened; 1,185 messages sent, 260 came, 3 of them passed over";
        assert_eq!(websockets_in_words(&counts), words);
    }

    #[test]
    fn one_is_a_stream_and_two_are_streams() {
        let events = EventsSummary { streams: 1, left: 0, events: 3, events_per_s: None };
        assert_eq!(events_in_words(&events), "3 in 1 stream");
        let more = EventsSummary { streams: 2, left: 1, events: 1_600, events_per_s: Some(533.0) };
        assert_eq!(events_in_words(&more), "1,600 in 2 streams (533/s), 1 left by their users");
        let stalls = StallsSummary { limit_ns: 500_000_000, replies: 1, longest_ns: 612_000_000 };
        assert_eq!(stalls_in_words(&stalls), "1 reply paused for more than 500ms, 612ms at most");
    }
}
