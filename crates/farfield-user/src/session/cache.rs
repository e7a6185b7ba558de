//! A user's cache of embedded objects (RFC 9111): which are fresh, and how to ask about those that are not.
//!
//! Nothing of an object is kept but how long it is fresh and its validators: bodies are of no use here.

use super::cookie_date::date;
use farfield_base::{Duration, HostNumber, Instant};
use farfield_http::http1::Fields;

/// Objects that a cache holds; the one kept first makes room.
const OBJECTS_MAX: usize = 512;
/// Bytes of a validator; a longer one is not used.
const VALIDATOR_BYTES_MAX: usize = 256;

/// The cache of one user.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cache {
    objects: Vec<(u64, CacheEntry)>,
}

/// An object as a cache keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CacheEntry {
    fresh_until: Instant,
    etag: Option<Box<[u8]>>,
    modified: Option<Box<[u8]>>,
}

/// The kind of request for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Revalidation {
    /// Not at all: it is fresh.
    Not,
    /// With these header lines, if it has changed.
    With(Vec<u8>),
}

impl Cache {
    /// The kind of request for the object of this `key`.
    pub fn ask(&self, key: u64, now: Instant) -> Revalidation {
        let Some((_, kept)) = self.objects.iter().find(|(own, _)| *own == key) else {
            return Revalidation::With(Vec::new());
        };
        if kept.fresh_until > now {
            return Revalidation::Not;
        }
        // RFC 9110 section 13.1.3: with both, the one that is stronger is sent; a client may send both.
        let mut lines = Vec::new();
        for (name, value) in [("If-None-Match", &kept.etag), ("If-Modified-Since", &kept.modified)] {
            if let Some(value) = value {
                lines.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
            }
        }
        Revalidation::With(lines)
    }

    /// Keeps an object that came, or was said not to have changed: then it keeps validators that were not
    /// said again.
    pub fn keep(&mut self, key: u64, kept: CacheEntry, unchanged: bool) {
        if let Some((_, own)) = self.objects.iter_mut().find(|(own, _)| *own == key) {
            let CacheEntry { fresh_until, etag, modified } = kept;
            let (old_etag, old_modified) = match unchanged {
                true => (own.etag.take(), own.modified.take()),
                false => (None, None),
            };
            *own = CacheEntry { fresh_until, etag: etag.or(old_etag), modified: modified.or(old_modified) };
            return;
        }
        if self.objects.len() == OBJECTS_MAX {
            self.objects.remove(0);
        }
        self.objects.push((key, kept));
    }
}

impl CacheEntry {
    /// The object of a reply that came `now`, if its head says that it may be kept.
    pub fn of(fields: Fields<'_>, now: Instant) -> Option<CacheEntry> {
        let text = |name: &str| fields.named(name).next().and_then(|value| std::str::from_utf8(value).ok());
        let seconds = |name: &str| text(name).and_then(date);
        let mut max_age = None;
        for directive in fields.named("cache-control").flat_map(|value| value.split(|byte| *byte == b',')) {
            let directive = String::from_utf8_lossy(directive.trim_ascii()).to_ascii_lowercase();
            match directive.split_once('=') {
                _ if directive == "no-store" => return None,
                _ if directive == "no-cache" => max_age = Some(0),
                Some(("max-age", age)) if max_age.is_none() => {
                    max_age = age.trim_matches('"').parse::<i64>().ok()
                }
                _ => {}
            }
        }
        let (sent, changed) = (seconds("date"), seconds("last-modified"));
        // Section 4.2.1; without a word, a tenth of the object's age (4.2.2).
        let lifetime = max_age
            .or_else(|| {
                text("expires").map(|_| seconds("expires").zip(sent).map_or(0, |(end, sent)| end - sent))
            })
            .or_else(|| sent.zip(changed).map(|(sent, changed)| (sent - changed) / 10))
            .unwrap_or(0);
        let age = text("age").and_then(|age| age.parse::<i64>().ok()).unwrap_or(0);
        let left = u64::try_from(lifetime.saturating_sub(age)).unwrap_or(0).min(1 << 32);
        let validator = |name: &str| {
            let value = fields.named(name).next().filter(|value| value.len() <= VALIDATOR_BYTES_MAX);
            value.map(Box::from)
        };
        let kept = CacheEntry {
            fresh_until: now + Duration::from_secs(left),
            etag: validator("etag"),
            modified: validator("last-modified"),
        };
        (left > 0 || kept.etag.is_some() || kept.modified.is_some()).then_some(kept)
    }
}

/// The key of what is asked for of a host: FNV-1a, of 64 bits.
pub(crate) fn key(host: HostNumber, target: &str) -> u64 {
    std::iter::once(host.0)
        .chain(target.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_http::http1::{Answering, Event, Limits, ReplyReader};

    fn kept(lines: &str) -> Option<CacheEntry> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{lines}\r\n");
        let mut reader = ReplyReader::new();
        let (taken, event) =
            reader.read(head.as_bytes(), Answering::Other, &Limits::default()).expect("a head");
        assert!(matches!(event, Event::Head(_)));
        CacheEntry::of(reader.fields(&head.as_bytes()[..taken]), at(100))
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn fresh_s(lines: &str) -> Option<u64> {
        kept(lines).map(|kept| kept.fresh_until.since(at(100)).as_ns() / 1_000_000_000)
    }

    /// A site that names objects without end, with validators as long as they may be and longer.
    #[test]
    fn a_cache_keeps_so_many_objects() {
        let (mut cache, most) = (Cache::default(), "e".repeat(VALIDATOR_BYTES_MAX));
        for number in 0..5_000 {
            cache.keep(number, kept(&format!("ETag: {most}\r\n")).expect("a validator"), false);
            assert_eq!(kept(&format!("ETag: {most}e\r\n")), None);
        }
        assert_eq!(cache.objects.len(), OBJECTS_MAX);
    }

    #[test]
    fn freshness_follows_the_rfc() {
        const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
        let dated = |lines: &str| fresh_s(&format!("{DATE}{lines}\r\n"));
        assert_eq!(dated("Cache-Control: public, Max-Age=60"), Some(60));
        assert_eq!(
            dated("Cache-Control: max-age=60\r\nAge: 20\r\nExpires: Sun, 06 Nov 1994 09:49:37 GMT"),
            Some(40)
        );
        assert_eq!(dated("Expires: Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(dated("Expires: 0\r\nETag: x"), Some(0));
        assert_eq!(dated("Last-Modified: Sun, 06 Nov 1994 08:39:37 GMT"), Some(60));
        assert_eq!(dated("Cache-Control: no-store, max-age=60\r\nETag: x"), None);
        assert_eq!(dated("Cache-Control: max-age=60, no-cache\r\nETag: x"), Some(0));
        assert_eq!(dated("X: y"), None);
    }

    #[test]
    fn what_is_stale_is_asked_about() {
        let mut cache = Cache::default();
        assert_eq!(cache.ask(1, at(100)), Revalidation::With(Vec::new()));
        let object =
            kept("Cache-Control: max-age=10\r\nETag: \"a\"\r\nLast-Modified: then\r\n").expect("kept");
        cache.keep(1, object, false);
        assert_eq!(cache.ask(1, at(109)), Revalidation::Not);
        let lines = b"If-None-Match: \"a\"\r\nIf-Modified-Since: then\r\n".to_vec();
        assert_eq!(cache.ask(1, at(110)), Revalidation::With(lines.clone()));
        cache.keep(1, kept("Cache-Control: max-age=5\r\n").expect("kept"), true);
        assert_eq!(
            (cache.ask(1, at(104)), cache.ask(1, at(105))),
            (Revalidation::Not, Revalidation::With(lines))
        );
        for key in 2..=1 + OBJECTS_MAX as u64 {
            cache.keep(key, kept("ETag: x\r\n").expect("kept"), false);
        }
        assert_eq!((cache.objects.len(), cache.ask(1, at(0))), (OBJECTS_MAX, Revalidation::With(Vec::new())));
    }
}
