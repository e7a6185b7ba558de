//! Questions that are built in: those of `experiments/` in the repository, with their scenarios.

use std::fmt::Write;
use std::path::Path;

/// A question that is built in.
pub struct BuiltIn {
    /// The name: the paper and the figure.
    pub name: &'static str,
    /// `question.toml`.
    pub text: &'static str,
}

/// The question of a folder of `experiments/`.
macro_rules! of {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../../experiments/", $name, "/question.toml")),
        }
    };
}

/// All of them, by name.
const ALL: [BuiltIn; 6] = [
    of!("s-client/figure-9"),
    of!("wagon/figure-15"),
    of!("wagon/figure-18"),
    of!("wagon/figure-20"),
    of!("wasp/figure-11"),
    of!("wasp/figure-9"),
];

/// The question of this name.
pub fn named(name: &Path) -> Option<&'static BuiltIn> {
    ALL.iter().find(|own| Path::new(own.name) == name)
}

/// The names with the titles, a line each.
pub fn listed() -> String {
    let mut text = String::new();
    for own in &ALL {
        let _ = writeln!(text, "{:<20}  {}", own.name, own.title());
    }
    text
}

impl BuiltIn {
    /// The title.
    fn title(&self) -> &'static str {
        let title = self.text.lines().find_map(|line| line.strip_prefix("title = "));
        title.unwrap_or_default().trim_matches('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::question::document::Question;

    /// Every question of the repository that farfield can ask is in the list, and can be read.
    #[test]
    fn the_list_is_complete() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut found = Vec::new();
        let folders = |folder: &Path| {
            let mut paths: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().collect();
            paths.retain(|entry| entry.path().is_dir());
            paths.sort_by_key(std::fs::DirEntry::path);
            paths
        };
        for paper in folders(&root) {
            for figure in folders(&paper.path()) {
                let Ok(text) = std::fs::read_to_string(figure.path().join("question.toml")) else { continue };
                // Those that need a server of the checkout are asked by its own program.
                if text.parse::<toml::Table>().expect("TOML").contains_key("experiment") {
                    continue;
                }
                let [paper, figure] = [&paper, &figure].map(|entry| entry.file_name().into_string());
                found.push(format!("{}/{}", paper.expect("UTF-8"), figure.expect("UTF-8")));
            }
        }
        assert_eq!(found, ALL.map(|own| own.name.to_owned()));
        for own in &ALL {
            let question = Question::read(own.text, Path::new(""));
            let question = question.unwrap_or_else(|why| panic!("{}: {why}", own.name));
            assert_eq!(question.title, own.title(), "{}", own.name);
            assert!(listed().lines().all(|line| line.chars().count() <= 80), "{}", listed());
        }
    }
}
