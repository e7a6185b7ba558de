//! `SHA256SUMS`: the digests of all other files of a release, as `sha256sum --check` reads them.

use super::Artifact;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The name of the file.
pub const NAME: &str = "SHA256SUMS";

/// The digest of `content` (FIPS 180-4) in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        // A text takes all that is written.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The file of the digests of `artifacts`, in order of names.
pub fn of(artifacts: &[Artifact]) -> Artifact {
    let mut lines: Vec<String> =
        artifacts.iter().map(|(name, content)| format!("{}  {name}\n", sha256(content))).collect();
    lines.sort_by(|one, other| one[64..].cmp(&other[64..]));
    (NAME.to_owned(), lines.concat().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // The example of one block in FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let (name, text) = of(&[("b".to_owned(), Vec::new()), ("a".to_owned(), b"abc".to_vec())]);
        assert_eq!(name, NAME);
        assert!(text.starts_with(format!("{abc}  a\n").as_bytes()) && text.ends_with(b"  b\n"));
    }
}
