//! The Python wheel (PEP 427): the program among the scripts of an environment, and the package of
//! python/farfield, by which Python finds and runs it, and pytest its fixture.
//!
//! Its tag says which glibc the binary needs (PEP 600), so that pip installs it where it runs and nowhere
//! else.

use super::Artifact;
use super::files::{FileTree, PROGRAM};
use super::linkage::Linkage;
use super::release::{DESCRIPTION, LICENCE, Release, SUMMARY};
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The folder of the package, in the checkout.
const PACKAGE: &str = "python/farfield";

/// Plugins by which other programs find the package.
const ENTRY_POINTS: &str = "[pytest11]\nfarfield = farfield.pytest_plugin\n";

/// Oldest Python that has the syntax of the package.
const PYTHON: &str = ">=3.10";

/// Extras with what each needs of other projects; the package itself needs nothing.
const EXTRAS: [(&str, &[&str]); 4] = [
    ("arrow", &["pyarrow>=14"]),
    ("notebook", &["pyarrow>=14", "pandas>=2", "matplotlib>=3.7"]),
    ("pytest", &["pytest>=7"]),
    ("ray", &["ray>=2.9"]),
];

/// The wheel.
pub fn package(release: &Release, linkage: &Linkage, files: &FileTree, effort: u32) -> Result<Artifact> {
    let tag = tag(linkage);
    let stem = format!("farfield-{}", release.version);
    let mut members = FileTree::default();
    for (place, file) in files.iter() {
        if place == PROGRAM {
            members.add(&format!("{stem}.data/scripts/farfield"), file.mode, file.content.clone());
        } else if let Some((_, name)) = place.rsplit_once('/')
            && name.starts_with("LICENSE")
        {
            members.add(&format!("{stem}.dist-info/licenses/{name}"), file.mode, file.content.clone());
        } else if place.starts_with("share/man") {
            members.add(&format!("{stem}.data/data/{place}"), file.mode, file.content.clone());
        }
    }
    add_package(Path::new(PACKAGE), "farfield", &mut members)?;
    let metadata = metadata(release.version);
    members.add(&format!("{stem}.dist-info/METADATA"), 0o644, metadata.into_bytes());
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\nTag: {tag}\n");
    members.add(&format!("{stem}.dist-info/WHEEL"), 0o644, wheel.into_bytes());
    let entry_points = ENTRY_POINTS.as_bytes().to_vec();
    members.add(&format!("{stem}.dist-info/entry_points.txt"), 0o644, entry_points);
    let record = format!("{stem}.dist-info/RECORD");
    let list = record_of(&members, &record)?;
    members.add(&record, 0o644, list.into_bytes());
    Ok((format!("{stem}-{tag}.whl"), zip(&members, &record, release.time, effort)?))
}

/// Adds the modules in `folder`, and those of packages in it, as `place`.
///
/// Files that an interpreter or an editor has left there are no part of a release.
fn add_package(folder: &Path, place: &str, members: &mut FileTree) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        let inner = format!("{place}/{name}");
        if path.is_dir() && path.join("__init__.py").is_file() {
            add_package(&path, &inner, members)?;
        } else if path.is_file() && (name.ends_with(".py") || name == "py.typed") {
            let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            members.add(&inner, 0o644, content);
        }
    }
    Ok(())
}

/// The metadata (PEP 566 and PEP 639), with the extras.
fn metadata(version: &str) -> String {
    let mut text = format!(
        "Metadata-Version: 2.4\nName: farfield\nVersion: {version}\nSummary: {SUMMARY}\n\
         License-Expression: {LICENCE}\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         Classifier: Framework :: Pytest\nClassifier: Typing :: Typed\nRequires-Python: {PYTHON}\n"
    );
    for (extra, needs) in EXTRAS {
        let lines = needs.iter().map(|need| format!("Requires-Dist: {need}; extra == '{extra}'\n"));
        text += &format!("Provides-Extra: {extra}\n");
        text.extend(lines);
    }
    text + &format!("\n{DESCRIPTION}\n")
}

/// The tag of wheels that need any Python and this glibc.
fn tag(linkage: &Linkage) -> String {
    let architecture = linkage.architecture.linux();
    format!("py3-none-manylinux_{}_{architecture}", linkage.glibc().replace('.', "_"))
}

/// The list of files with their digests, as the wheel's `RECORD` has it: itself without one.
fn record_of(members: &FileTree, record: &str) -> Result<String> {
    let mut text = String::new();
    for (place, file) in members.iter() {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.content));
        writeln!(text, "{place},sha256={digest},{}", file.content.len())?;
    }
    writeln!(text, "{record},,")?;
    Ok(text)
}

/// The zip of `members`, `last` at its end, where readers look for it.
fn zip(members: &FileTree, last: &str, time: u64, effort: u32) -> Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(effort.max(1).into()))
        .last_modified_time(date(time));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let others = members.iter().filter(|(place, _)| *place != last);
    for (place, file) in others.chain(members.iter().filter(|(place, _)| *place == last)) {
        writer.start_file(place, options.unix_permissions(file.mode))?;
        writer.write_all(&file.content)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// The date of a time in seconds since 1970, in UTC; the first that a zip can have if it is earlier.
///
/// Days are turned into a date as H. Hinnant's `civil_from_days` does.
fn date(time: u64) -> DateTime {
    let (days, second) = (time / 86_400 + 719_468, time % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let parts = (year as u16, month as u8, day as u8);
    let clock = ((second / 3600) as u8, (second / 60 % 60) as u8, (second % 60) as u8);
    DateTime::from_date_and_time(parts.0, parts.1, parts.2, clock.0, clock.1, clock.2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (time, expected) in [
            (951_782_400, (2000, 2, 29, 0, 0, 0)),
            (1_583_020_799, (2020, 2, 29, 23, 59, 58)),
            (1_798_761_600, (2027, 1, 1, 0, 0, 0)),
            (0, (1980, 1, 1, 0, 0, 0)),
        ] {
            let date = date(time);
            let found =
                (date.year(), date.month(), date.day(), date.hour(), date.minute(), date.second() / 2 * 2);
            assert_eq!(found, expected, "{time}");
        }
    }

    #[test]
    fn the_metadata_has_nothing_that_is_needed_without_an_extra() {
        let text = metadata("1.2.3");
        let (head, description) = text.split_once("\n\n").expect("a blank line ends the head");
        assert!(head.contains("\nVersion: 1.2.3\n") && description.starts_with("farfield "), "{text}");
        let needs: Vec<&str> = head.lines().filter_map(|line| line.strip_prefix("Requires-Dist: ")).collect();
        assert!(needs.contains(&"ray>=2.9; extra == 'ray'"), "{needs:?}");
        for need in needs {
            let (_, extra) = need.split_once("; extra == ").expect("only an extra needs something");
            let provided = format!("\nProvides-Extra: {}\n", extra.trim_matches('\''));
            assert!(head.contains(&provided), "{need}");
        }
    }

    #[test]
    fn the_package_is_its_modules_and_nothing_that_was_left_there() {
        let place = tempfile::tempdir().expect("a folder");
        for name in [
            "__init__.py",
            "py.typed",
            "a.py~",
            "a.so",
            "inner/__init__.py",
            "inner/b.py",
            "__pycache__/c.py",
        ] {
            let file = place.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, name).expect("a file");
        }
        let mut members = FileTree::default();
        add_package(place.path(), "farfield", &mut members).expect("readable files");
        let found: Vec<&str> = members.iter().map(|(place, _)| place).collect();
        let expected = [
            "farfield/__init__.py",
            "farfield/inner/__init__.py",
            "farfield/inner/b.py",
            "farfield/py.typed",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_tag_says_which_glibc_is_needed() {
        let linkage = Linkage::read(&crate::dist::linkage::printed("libc.so.6 GLIBC_2.17")).unwrap();
        assert_eq!(tag(&linkage), "py3-none-manylinux_2_17_x86_64");
    }
}
