//! Requests that a redirect led to. A recording has them as requests of their own; a session follows
//! redirects itself, as browsers do, and would ask for each twice. So they are taken into the state whose
//! reply leads there, and where a run's redirect leads elsewhere, such as to an order of its own, its user
//! goes there.

use super::StateReplies;
use super::reply::Reply;
use crate::draft::Draft;
use std::collections::BTreeMap;
use url::Position;

/// Redirects that a session follows by default.
const REDIRECTS_MAX: usize = 10;
/// Difference of such a request from what is written.
const BY_REDIRECT: &str = "by the redirect that leads to them, with the header fields of the request before";

/// Takes states that the redirect of the state before led to into that state, with their replies, which are
/// returned by the new numbers. `numbers` are the entries of the scenario in the order in which they are
/// asked for.
pub fn fold_redirects(draft: &mut Draft, numbers: &[usize], mut replies: StateReplies) -> StateReplies {
    // Each that is taken into another, with that one.
    let mut heads: BTreeMap<usize, usize> = BTreeMap::new();
    let mut head = None;
    for number in numbers {
        let is_led_to = |head: &usize| {
            let chain = replies.get(head).map_or(&[][..], Vec::as_slice);
            chain.len() <= REDIRECTS_MAX
                && replies.contains_key(number)
                && chain.last().is_some_and(|last| leads_to(last, draft, *head, *number))
        };
        match head.filter(is_led_to) {
            Some(head) => {
                let own = replies.remove(number).unwrap_or_default();
                replies.entry(head).or_default().extend(own);
                heads.insert(*number, head);
            }
            None => head = Some(*number),
        }
    }
    draft.fold(&heads, BY_REDIRECT);
    let (mut before, mut folded) = (0, heads.keys().peekable());
    let renumbered = replies.into_iter().map(|(number, own)| {
        while folded.next_if(|other| **other < number).is_some() {
            before += 1;
        }
        (number - before, own)
    });
    renumbered.collect()
}

/// True if a reply, the last to the state `head`, is a redirect that makes the request of another state
/// (RFC 9110 section 15.4; a POST becomes a GET, as browsers have it).
fn leads_to(last: &Reply, draft: &Draft, head: usize, number: usize) -> bool {
    let (head, other) = (&draft.entries()[head], &draft.entries()[number]);
    let (Some(to), Some(server)) = (last.redirect(), &other.server) else { return false };
    let is_there = to.origin() == server.origin()
        && to[Position::BeforePath..Position::AfterQuery] == *other.state.path.replace("$$", "$");
    let keeps_method = matches!(last.status, 307 | 308) || last.method == "HEAD";
    let is_asked_so = match keeps_method {
        true => other.state.method == last.method && other.state.body == head.state.body,
        false => other.state.method == "GET" && other.state.body.is_none(),
    };
    is_there && is_asked_so
}
