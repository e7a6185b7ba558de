//! Values of the environment kept out of what is shown of a session.

use super::text::{TextContext, write_bytes};
use bytes::BytesMut;
use farfield_traffic::session::secret::Secret;
use farfield_traffic::session::template::Escape;
use memchr::memmem;

/// Each secret in every way of writing it, and the hole that stands for it.
#[derive(Debug, Default)]
pub(super) struct Mask(Vec<(Vec<u8>, String)>);

impl Mask {
    /// A mask of these.
    pub fn of(secrets: &[Secret]) -> Mask {
        let mut looks = Vec::new();
        for secret in secrets.iter().filter(|secret| !secret.value().is_empty()) {
            let ways = [Escape::Plain, Escape::Url, Escape::Form, Escape::Json, Escape::Base64];
            let bodies = ways.map(|escape| (escape, TextContext::Body));
            for (escape, place) in bodies.into_iter().chain([(Escape::Plain, TextContext::Target)]) {
                let mut look = BytesMut::new();
                write_bytes(secret.value().as_bytes(), escape, place, &mut look);
                looks.push((look.to_vec(), format!("${{env.{}}}", secret.name)));
            }
        }
        // Longer looks first: they may have another in them.
        looks.sort_by_key(|(look, _)| std::cmp::Reverse(look.len()));
        looks.dedup();
        Mask(looks)
    }

    /// True if there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without values of secrets.
    pub fn text(&self, text: String) -> String {
        String::from_utf8_lossy(&self.bytes(text.into_bytes())).into_owned()
    }

    /// The bytes without values of secrets.
    pub fn bytes(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (look, hole) in &self.0 {
            let mut shown = Vec::new();
            let mut from = 0;
            for at in memmem::find_iter(&bytes, look) {
                shown.extend_from_slice(&bytes[from..at]);
                shown.extend_from_slice(hole.as_bytes());
                from = at + look.len();
            }
            if from > 0 {
                shown.extend_from_slice(&bytes[from..]);
                bytes = shown;
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::TraceEvent;
    use super::*;
    use farfield_traffic::session::SessionSpec;

    #[test]
    fn a_secret_is_covered_in_every_way_of_writing() {
        let toml = "[[state]]\nname = 'a'\npath = '/${env.CARGO_MANIFEST_DIR}'";
        let spec: SessionSpec = toml::from_str(toml).expect(toml);
        let seed = farfield_base::random::Seed(1);
        let session = spec.resolve(&mut |_| unreachable!("no files"), seed).expect("a session");
        let mask = Mask::of(&session.environment);
        let value = env!("CARGO_MANIFEST_DIR");
        for text in [format!("x={value}&y"), format!("x={}&y", value.replace('/', "%2F"))] {
            assert_eq!(mask.text(text), "x=${env.CARGO_MANIFEST_DIR}&y");
        }
        let event = TraceEvent::Extracted { name: "n".into(), value: Some(value.into()), by_default: false };
        assert!(!format!("{:?}", event.masked(&mask)).contains(value));
    }
}
