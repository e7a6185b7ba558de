//! Numbers in a report. JSON has none that are infinite, and a statistic or a likelihood may be: those are
//! texts.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Writes `number`, or its name: `inf`, `-inf`, `NaN`.
pub(crate) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { number.serialize(serializer) } else { number.to_string().serialize(serializer) }
}

/// Reads either.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Name(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(number) => Ok(number),
        Written::Name(name) => name.parse().map_err(|_| de::Error::custom(format!("`{name}` is no number"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct One(#[serde(with = "super")] f64);

    #[test]
    fn any_number_comes_back() {
        for (number, text) in [(1.5, "1.5"), (f64::INFINITY, "\"inf\""), (f64::NEG_INFINITY, "\"-inf\"")] {
            assert_eq!(serde_json::to_string(&One(number)).expect("it writes"), text);
            assert_eq!(serde_json::from_str::<One>(text).expect("it reads"), One(number));
        }
        assert!(serde_json::from_str::<One>("\"NaN\"").expect("it reads").0.is_nan());
        assert!(serde_json::from_str::<One>("\"many\"").is_err());
    }
}
