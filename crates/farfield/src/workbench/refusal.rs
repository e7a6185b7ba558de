//! A refusal that names the key that it is about, so that the page shows it at the key's field.

use farfield_base::printable;
use serde_json::{Value, json};
use std::fmt;

/// A mistake in a scenario or in the values of its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRefusal {
    /// The whole sentence, with file, line and key as far as there are any.
    whole: String,
    /// The key, and the sentence about its value.
    at: Option<(String, String)>,
}

impl KeyRefusal {
    /// A value of this key is wrong.
    pub fn at(key: impl Into<String>, sentence: impl fmt::Display) -> KeyRefusal {
        let key = key.into();
        KeyRefusal { whole: format!("{key}: {sentence}"), at: Some((key, sentence.to_string())) }
    }

    /// Itself, in these words.
    #[must_use]
    pub fn in_words(self, whole: String) -> KeyRefusal {
        KeyRefusal { whole, ..self }
    }

    /// The refusal for the page. Texts have no control characters but ends of lines, and no turns of the
    /// direction of writing.
    pub fn json(&self) -> Value {
        let plain = |text: &str| printable(text, &['\n']).into_owned();
        match &self.at {
            Some((key, sentence)) => {
                json!({ "error": plain(&self.whole), "key": key, "sentence": plain(sentence) })
            }
            None => json!({ "error": plain(&self.whole) }),
        }
    }
}

impl From<String> for KeyRefusal {
    fn from(whole: String) -> KeyRefusal {
        KeyRefusal { whole, at: None }
    }
}

impl fmt::Display for KeyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole)
    }
}
