//! Inputs that ended a run, kept among the seeds.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// An input that ended a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Effect of the input: `crash`, `hang` or `memory`.
    pub did: &'static str,
    /// The file in which it is kept.
    pub place: PathBuf,
}

/// The beginnings of the names that libFuzzer gives them, and what they did. Slow ones end no run.
const NAMES: [(&str, &str); 4] =
    [("crash-", "crash"), ("timeout-", "hang"), ("oom-", "memory"), ("leak-", "memory")];

impl Found {
    /// Moves what libFuzzer wrote to `artifacts` to `seeds`, each under what it did and the next free number.
    pub fn take(artifacts: &Path, seeds: &Path) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(artifacts)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some((_, did)) = NAMES.iter().find(|(begins, _)| name.starts_with(begins)) {
                let place = free(seeds, did);
                fs::copy(&path, &place).with_context(|| format!("cannot write {}", place.display()))?;
                found.push(Found { did, place });
            }
            fs::remove_file(&path)?;
        }
        found.sort_by(|a, b| a.place.cmp(&b.place));
        Ok(found)
    }
}

/// The first place in `folder` for something that `did` so which is not taken.
fn free(folder: &Path, did: &str) -> PathBuf {
    let mut places = (1..).map(|nth| folder.join(format!("found-{did}-{nth}")));
    places.find(|place| !place.exists()).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_inputs_are_kept_under_what_they_did() {
        let (artifacts, seeds) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(seeds.path().join("found-hang-1"), "earlier").unwrap();
        for (name, bytes) in [("timeout-9f", "a"), ("crash-01", "b"), ("oom-77", "c"), ("slow-unit-5", "d")] {
            fs::write(artifacts.path().join(name), bytes).unwrap();
        }
        let found = Found::take(artifacts.path(), seeds.path()).unwrap();
        let kept: Vec<_> = found
            .iter()
            .map(|found| {
                (found.did, fs::read_to_string(&found.place).unwrap(), found.place.file_name().unwrap())
            })
            .collect();
        let expected = [
            ("crash", "b", "found-crash-1"),
            ("hang", "a", "found-hang-2"),
            ("memory", "c", "found-memory-1"),
        ];
        assert_eq!(kept.len(), 3);
        for ((did, bytes, name), expected) in kept.iter().zip(expected) {
            assert_eq!((*did, bytes.as_str(), name.to_str().unwrap()), expected);
        }
        assert_eq!(fs::read_dir(artifacts.path()).unwrap().count(), 0, "nothing is found twice");
        assert_eq!(fs::read_to_string(seeds.path().join("found-hang-1")).unwrap(), "earlier");
    }
}
