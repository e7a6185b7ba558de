//! Objects that a server model knows, by their paths.

use super::fixed::{FixedReplies, FixedReply};
use super::http::Persistence;
use bytes::Bytes;
use farfield_base::Duration;
use farfield_http::http2::server::BodySource;
use std::collections::BTreeMap;

/// Size and cost of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectCost {
    /// Bytes of its body.
    pub size: u64,
    /// Service time of the object, beside that of any request.
    pub cost: Duration,
}

/// Objects by their paths. Whatever they are, `/bytes/N` is an object of N bytes, as it is at the built-in
/// server.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    by_path: BTreeMap<Box<str>, ObjectCost>,
    replies: FixedReplies,
}

impl FromIterator<(Box<str>, ObjectCost)> for Objects {
    fn from_iter<T: IntoIterator<Item = (Box<str>, ObjectCost)>>(objects: T) -> Objects {
        Objects { by_path: objects.into_iter().collect(), replies: FixedReplies::default() }
    }
}

impl Objects {
    /// Adds a reply that requests for `path` with `method`, or with any, get word for word, whatever object
    /// is there.
    pub fn add_reply(&mut self, path: &str, method: Option<&str>, reply: &FixedReply) {
        self.replies.add(path, method, reply);
    }

    /// The number of the reply that a request gets word for word, if it gets one; what stands behind a `?`
    /// matters only where a reply is named so.
    pub(crate) fn reply_to(&self, method: &str, path: &str) -> Option<u32> {
        self.replies.find(method, path).or_else(|| self.replies.find(method, bare(path)))
    }

    /// The reply of this number in bytes.
    pub(crate) fn reply(&self, number: u32, keeping: Persistence, head_only: bool) -> Bytes {
        self.replies.bytes(number, keeping, head_only)
    }

    /// The reply of this number on a stream of HTTP/2: its header block and its body.
    pub(crate) fn stream_reply(&self, number: u32, head_only: bool) -> (Bytes, BodySource) {
        self.replies.on_stream(number, head_only)
    }

    /// The reply of this number on a stream of HTTP/3: its field section and its body.
    pub(crate) fn section_reply(&self, number: u32, head_only: bool) -> (Bytes, BodySource) {
        self.replies.in_section(number, head_only)
    }

    /// The object at `path`, if it is known; what stands behind a `?` matters only where an object is named
    /// so.
    pub fn of(&self, path: &str) -> Option<ObjectCost> {
        let bare = bare(path);
        let named = || self.by_path.get(path).or_else(|| self.by_path.get(bare)).copied();
        let bytes = || {
            let size = bare.strip_prefix("/bytes/")?.parse().ok()?;
            Some(ObjectCost { size, cost: Duration::ZERO })
        };
        named().or_else(bytes)
    }
}

/// A path without what stands behind a `?`.
fn bare(path: &str) -> &str {
    path.split_once('?').map_or(path, |(bare, _)| bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_named_with_or_without_what_is_behind_it() {
        let mut objects = Objects::default();
        let reply = FixedReply { status: 200, headers: Vec::new(), body: Bytes::new() };
        objects.add_reply("/a", None, &reply);
        objects.add_reply("/a?b", None, &reply);
        let found = ["/a", "/a?b", "/a?c", "/b"].map(|path| objects.reply_to("GET", path));
        assert_eq!(found, [Some(0), Some(1), Some(0), None]);
    }

    #[test]
    fn an_object_is_found_by_its_path_and_bytes_by_their_number() {
        let known = |size| ObjectCost { size, cost: Duration::from_ms(size) };
        let objects: Objects = [("/a", 1), ("/a?b=c", 2), ("/bytes/9", 3)]
            .map(|(path, size)| (path.into(), known(size)))
            .into_iter()
            .collect();
        let size = |path| objects.of(path).map(|known| known.size);
        assert_eq!(
            ["/a", "/a?x", "/a?b=c", "/b", "/bytes/9"].map(size),
            [Some(1), Some(1), Some(2), None, Some(3)]
        );
        assert_eq!(["/bytes/77?/a", "/bytes/", "/bytes/x"].map(size), [Some(77), None, None]);
        assert_eq!(objects.of("/a?b=c"), Some(known(2)));
    }
}
