//! Values of the environment that a session sends and that are never written out.
//!
//! A scenario names them, `${env.TOKEN}`; the value is looked up when the session is resolved, and stands in
//! no scenario that a run leaves, in no message and no debug output.

use std::fmt;

/// A variable of the environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// Name of the variable.
    pub name: String,
    value: String,
}

impl Secret {
    /// The variable `name` of this process, or what is wrong with it.
    pub(super) fn read(name: &str) -> Result<Secret, String> {
        match std::env::var(name) {
            Ok(value) => Ok(Secret { name: name.to_owned(), value }),
            Err(std::env::VarError::NotPresent) => {
                Err(format!("the environment has no `{name}`; set it for farfield, or write a value"))
            }
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(format!("`{name}` of the environment is not UTF-8 text, as templates are"))
            }
        }
    }

    /// Value of the variable.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${{env.{}}}", self.name)
    }
}
