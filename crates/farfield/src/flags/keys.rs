//! The macro [`keyed!`], by which a flag that is short for a key of the scenario is defined once: its words,
//! its values, and its key after `=>`. It makes a group that commands flatten, and lays that over a scenario.
//! The macro [`grouped!`] makes a group of such groups.

use farfield_scenario::Overlay;
use std::path::PathBuf;
use toml::{Table, Value};

/// A group of flags, each with its key, and a function of its value where the key takes another.
macro_rules! keyed {
    (
        $(#[$of_group:meta])*
        pub struct $group:ident {
            $($(#[$of_flag:meta])* $flag:ident: $given:ty => $key:literal $(as $written:path)?,)*
        }
    ) => {
        #[derive(Debug, Clone, Default, clap::Args)]
        $(#[$of_group])*
        pub struct $group {
            $($(#[$of_flag])* pub $flag: $given,)*
        }

        impl $group {
            /// The key of each flag.
            #[allow(dead_code, reason = "help names the groups of a run, and tests those of other commands")]
            pub const KEYS: &[(&str, &str)] = &[$((stringify!($flag), $key),)*];

            /// Lays the flags that are given over a scenario, or over a table of it.
            pub fn lay(&self, keys: &mut impl $crate::flags::keys::Keys) {
                $(
                    let value = $crate::flags::keys::keyed!(@value &self.$flag $(, $written)?);
                    if let Some(value) = value {
                        keys.lay($key, &$crate::flags::keys::flag(stringify!($flag)), value);
                    }
                )*
            }
        }
    };
    (@value $given:expr) => { $crate::flags::keys::FlagValue::value($given) };
    (@value $given:expr, $written:path) => { $written($given) };
}
pub(super) use keyed;

/// A group of groups of flags, which commands flatten as one and which is laid over a scenario as one.
macro_rules! grouped {
    (
        $(#[$of_group:meta])*
        pub struct $group:ident {
            $($part:ident: $flags:ty,)*
        }
    ) => {
        #[derive(Debug, Clone, Default, clap::Args)]
        $(#[$of_group])*
        pub struct $group {
            $(#[command(flatten)] pub $part: $flags,)*
        }

        impl $group {
            /// The key of each flag, by group.
            pub const GROUPS: &[&[(&str, &str)]] = &[$(<$flags>::KEYS,)*];

            /// Lays the flags that are given over a scenario.
            pub fn lay(&self, overlay: &mut farfield_scenario::Overlay) {
                $(self.$part.lay(overlay);)*
            }
        }
    };
}
pub(super) use grouped;

/// Keys with their values, over which flags are laid.
pub trait Keys {
    /// Sets a key to what a flag says.
    fn lay(&mut self, key: &str, flag: &str, value: Value);
}

impl Keys for Overlay {
    fn lay(&mut self, key: &str, flag: &str, value: Value) {
        self.set(key, flag, value);
    }
}

impl Keys for Table {
    fn lay(&mut self, key: &str, _flag: &str, value: Value) {
        self.insert(key.to_owned(), value);
    }
}

/// The flag of a field.
pub fn flag(field: &str) -> String {
    format!("--{}", field.replace('_', "-"))
}

/// The value of a flag, for its key.
pub trait FlagValue {
    /// The value of its key; `None` if the flag is not given.
    fn value(&self) -> Option<Value>;
}

impl FlagValue for bool {
    fn value(&self) -> Option<Value> {
        self.then(|| true.into())
    }
}

impl FlagValue for String {
    fn value(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
}

impl FlagValue for Option<String> {
    fn value(&self) -> Option<Value> {
        self.as_deref().map(Value::from)
    }
}

impl FlagValue for Option<PathBuf> {
    fn value(&self) -> Option<Value> {
        self.as_ref().map(|path| path.to_string_lossy().as_ref().into())
    }
}

impl FlagValue for Option<u64> {
    fn value(&self) -> Option<Value> {
        self.map(|count| i64::try_from(count).unwrap_or(i64::MAX).into())
    }
}

impl FlagValue for Option<u32> {
    fn value(&self) -> Option<Value> {
        self.map(Value::from)
    }
}

impl FlagValue for Option<u16> {
    fn value(&self) -> Option<Value> {
        self.map(|count| i64::from(count).into())
    }
}

impl FlagValue for Option<f64> {
    fn value(&self) -> Option<Value> {
        self.map(Value::from)
    }
}

impl FlagValue for Vec<String> {
    fn value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| self.clone().into())
    }
}

impl FlagValue for Vec<u32> {
    fn value(&self) -> Option<Value> {
        (!self.is_empty()).then(|| self.clone().into())
    }
}

/// A time; a number without a unit is of seconds, as other load generators have it.
pub fn seconds(given: &Option<String>) -> Option<Value> {
    given.as_deref().map(|text| with_seconds(text).into())
}

/// A time with its unit, which is seconds where there is none.
pub fn with_seconds(text: &str) -> String {
    if text.parse::<f64>().is_ok_and(f64::is_finite) { format!("{text}s") } else { text.to_owned() }
}

/// A flag that takes away what a key has by default.
pub fn off(given: &bool) -> Option<Value> {
    given.then(|| false.into())
}

/// A number, or a word in its place.
pub fn number_or_word(given: &Option<String>) -> Option<Value> {
    given.as_deref().map(|text| text.parse::<i64>().map_or_else(|_| text.into(), Value::from))
}
