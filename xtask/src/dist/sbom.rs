//! The bill of materials (CycloneDX 1.5): the crates that are linked into the program, with the licence of
//! each and the digest that Cargo.lock has of it, and which of them needs which.
//!
//! Crates that only build the program, or only test it, are not in it.

use super::Artifact;
use super::linkage::Linkage;
use super::release::{LICENCE, Release};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use xtask::process;

/// `cargo tree`'s line for a crate: its name and version, licence and repository.
const FORMAT: &str = "{p}\t{l}\t{r}";

#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

/// A package of Cargo.lock.
#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// A crate that is linked: its licence and repository.
type Linked = BTreeMap<(String, String), (String, String)>;

/// The bill of the checkout.
pub fn bill(release: &Release, linkage: &Linkage) -> Result<Artifact> {
    let target = format!("{}-unknown-linux-gnu", linkage.architecture.linux());
    let words = ["tree", "--locked", "--package", "farfield", "--edges", "normal,no-proc-macro"];
    let more = ["--prefix", "none", "--no-dedupe", "--target", &target, "--format", FORMAT];
    let printed = String::from_utf8(process::output(process::cargo().args(words).args(more))?)?;
    let lock: Lock = toml::from_str(&fs::read_to_string("Cargo.lock").context("cannot read Cargo.lock")?)?;
    let bill = bill_of(release, &linked(&printed), &lock);
    let mut text = serde_json::to_vec_pretty(&bill)?;
    text.push(b'\n');
    Ok((format!("farfield-{}.cdx.json", release.version), text))
}

/// The crates of `cargo tree`'s lines.
fn linked(printed: &str) -> Linked {
    let mut all = Linked::new();
    for line in printed.lines() {
        let mut parts = line.split('\t').map(|part| part.trim_end_matches(" (*)"));
        let (crate_, licence, repository) = (parts.next(), parts.next(), parts.next());
        let mut words = crate_.unwrap_or_default().split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let version = version.trim_start_matches('v');
        let about = [licence, repository].map(|text| text.unwrap_or_default().to_owned());
        all.insert((name.to_owned(), version.to_owned()), about.into());
    }
    all
}

fn bill_of(release: &Release, linked: &Linked, lock: &Lock) -> Value {
    let locked: BTreeMap<(&str, &str), &Locked> =
        lock.package.iter().map(|package| ((&*package.name, &*package.version), package)).collect();
    let own = |(name, version): &(String, String)| name == "farfield" && version == release.version;
    let components: Vec<Value> = linked
        .iter()
        .filter(|(crate_, _)| !own(crate_))
        .map(|(crate_, about)| {
            let digest = locked.get(&(&*crate_.0, &*crate_.1)).and_then(|locked| locked.checksum.as_deref());
            component(crate_, about, digest)
        })
        .collect();
    let needs: Vec<Value> = linked
        .keys()
        .map(|crate_| {
            let package = locked.get(&(&*crate_.0, &*crate_.1));
            let needed = package.map(|package| needed(package, linked, lock)).unwrap_or_default();
            json!({"ref": reference(&crate_.0, &crate_.1), "dependsOn": needed})
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": reference("farfield", release.version),
                "name": "farfield",
                "version": release.version,
                "licenses": [{"expression": LICENCE}],
            },
        },
        "components": components,
        "dependencies": needs,
    })
}

fn component(crate_: &(String, String), about: &(String, String), digest: Option<&str>) -> Value {
    let ((name, version), (licence, repository)) = (crate_, about);
    let reference = reference(name, version);
    let mut value = json!({"type": "library", "bom-ref": &reference, "name": name, "version": version,
                           "purl": &reference});
    if !licence.is_empty() {
        // Old packages write OR so.
        value["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(digest) = digest {
        value["hashes"] = json!([{"alg": "SHA-256", "content": digest}]);
    }
    if !repository.is_empty() {
        value["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    value
}

/// Those of the linked crates that a package of Cargo.lock needs. The file names versions only where it has
/// several.
fn needed(package: &Locked, linked: &Linked, lock: &Lock) -> BTreeSet<String> {
    let of_line = |line: &String| {
        let mut words = line.split(' ');
        let name = words.next()?;
        let version = match words.next() {
            Some(version) => version,
            None => &lock.package.iter().find(|package| package.name == name)?.version,
        };
        let is_linked = linked.contains_key(&(name.to_owned(), version.to_owned()));
        is_linked.then(|| reference(name, version))
    };
    package.dependencies.iter().filter_map(of_line).collect()
}

/// The URL of a crate (package-url).
fn reference(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_have_licence_digest_and_needs() {
        let tree = "farfield v2.0.0 (/folder)\tMIT\t\na v1.0.0\tMIT/Apache-2.0\thttps://a.example/a\n\
                    b v0.3.0\tISC\t (*)\n";
        let lock: Lock = toml::from_str(
            "[[package]]\nname = \"farfield\"\nversion = \"2.0.0\"\ndependencies = [\"a\", \"b 0.3.0\", \"cc\"]\n\
             [[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"17\"\n\
             [[package]]\nname = \"b\"\nversion = \"0.3.0\"\n[[package]]\nname = \"cc\"\nversion = \"1.1.0\"\n",
        )
        .unwrap();
        let bill = bill_of(&Release { version: "2.0.0", time: 0 }, &linked(tree), &lock);
        let expected = json!([
            {"type": "library", "bom-ref": "pkg:cargo/a@1.0.0", "name": "a", "version": "1.0.0",
             "purl": "pkg:cargo/a@1.0.0", "licenses": [{"expression": "MIT OR Apache-2.0"}],
             "hashes": [{"alg": "SHA-256", "content": "17"}],
             "externalReferences": [{"type": "vcs", "url": "https://a.example/a"}]},
            {"type": "library", "bom-ref": "pkg:cargo/b@0.3.0", "name": "b", "version": "0.3.0",
             "purl": "pkg:cargo/b@0.3.0", "licenses": [{"expression": "ISC"}]},
        ]);
        assert_eq!(bill["components"], expected);
        let own = &bill["dependencies"][2];
        assert_eq!(own["ref"], "pkg:cargo/farfield@2.0.0");
        assert_eq!(own["dependsOn"], json!(["pkg:cargo/a@1.0.0", "pkg:cargo/b@0.3.0"]));
    }
}
