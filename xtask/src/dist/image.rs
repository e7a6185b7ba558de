//! The container image (OCI image-spec 1.1), written without a daemon: a tar of an OCI layout, which podman,
//! skopeo and containerd read, with the `manifest.json` that older `docker load` wants.
//!
//! It is made from nothing: one layer with the program, the shared libraries and the loader that it needs
//! from this machine's glibc, and this machine's certificates of authorities, if it has them. There is no
//! shell and no package list in it.

use super::Artifact;
use super::archive::{gzip, tar};
use super::checksums::sha256;
use super::files::FileTree;
use super::linkage::Linkage;
use super::release::{LICENCE, Release, SUMMARY};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::process;

/// Certificates of authorities, where systems keep them; the first is also where the image has them.
const AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Files by which the program finds itself at home. Names are looked up in files first.
const SMALL: [(&str, u32, &str); 4] = [
    ("etc/group", 0o644, "root:x:0:\n"),
    ("etc/nsswitch.conf", 0o644, "hosts: files dns\n"),
    ("etc/passwd", 0o644, "root:x:0:0:root:/root:/bin/false\n"),
    // A folder has to have a file to be in an archive; runs are kept below the working folder.
    ("work/README", 0o644, "Mount a folder here: farfield keeps its runs in it.\n"),
];

/// The image as an archive.
///
/// # Errors
///
/// If the binary does not run here, or a library that it needs is not here.
pub fn package(
    release: &Release,
    linkage: &Linkage,
    binary: &Path,
    files: &FileTree,
    effort: u32,
) -> Result<Artifact> {
    let layer = tar(&root(linkage, binary, files)?, "", release.time)?;
    let packed = gzip(&layer, effort)?;
    let mut blobs = FileTree::default();
    let mut blob = |content: Vec<u8>, kind: &str| {
        let digest = sha256(&content);
        let size = content.len();
        blobs.add(&format!("blobs/sha256/{digest}"), 0o644, content);
        json!({"mediaType": format!("application/vnd.oci.image.{kind}"), "digest": format!("sha256:{digest}"),
               "size": size})
    };
    let config = configuration(release, linkage, &sha256(&layer));
    let config = blob(serde_json::to_vec(&config)?, "config.v1+json");
    let layer = blob(packed, "layer.v1.tar+gzip");
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": &config,
        "layers": [&layer],
    });
    let mut manifest = blob(serde_json::to_vec(&manifest)?, "manifest.v1+json");
    let name = format!("farfield:{}", release.version);
    manifest["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{name}"),
        "org.opencontainers.image.ref.name": release.version,
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    let docker = json!([{"Config": path(&config), "RepoTags": [name], "Layers": [path(&layer)]}]);
    blobs.add("index.json", 0o644, serde_json::to_vec(&index)?);
    blobs.add("manifest.json", 0o644, serde_json::to_vec(&docker)?);
    blobs.add("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec());
    let file = format!("farfield-{}-{}-oci.tar", release.version, linkage.architecture.linux());
    Ok((file, tar(&blobs, "", release.time)?))
}

/// The place of a blob in the layout.
fn path(descriptor: &Value) -> String {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    format!("blobs/{}", digest.replace(':', "/"))
}

/// The configuration of the image, whose layer unpacked has the digest `layer`.
fn configuration(release: &Release, linkage: &Linkage, layer: &str) -> Value {
    json!({
        "architecture": linkage.architecture.debian(),
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/farfield"],
            "Env": ["PATH=/usr/bin", "HOME=/root"],
            "WorkingDir": "/work",
            "Labels": {
                "org.opencontainers.image.title": "farfield",
                "org.opencontainers.image.description": SUMMARY,
                "org.opencontainers.image.licenses": LICENCE,
                "org.opencontainers.image.version": release.version,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer}")]},
    })
}

/// The root of the image.
fn root(linkage: &Linkage, binary: &Path, files: &FileTree) -> Result<FileTree> {
    let mut root = files.below_usr()?;
    for (place, mode, content) in SMALL {
        root.add(place, mode, content.as_bytes().to_vec());
    }
    for file in libraries(linkage, binary)? {
        let content = fs::read(&file).with_context(|| format!("cannot read {file}"))?;
        root.add(file.trim_start_matches('/'), 0o755, content);
    }
    match AUTHORITIES.iter().find_map(|file| fs::read(file).ok()) {
        Some(certificates) => root.add(AUTHORITIES[0].trim_start_matches('/'), 0o644, certificates),
        None => eprintln!("The image has no authorities: install ca-certificates, or run it with --cacert."),
    }
    Ok(root)
}

/// Paths of the loader and of the libraries that it finds here, and so at the same paths in the image.
fn libraries(linkage: &Linkage, binary: &Path) -> Result<Vec<String>> {
    let printed = process::output(Command::new(&linkage.loader).arg("--list").arg(binary))
        .context("the binary does not run on this machine, whose libraries the image would have")?;
    let mut found = vec![linkage.loader.clone()];
    for line in String::from_utf8(printed)?.lines() {
        let Some((name, rest)) = line.trim().split_once(" => ") else { continue };
        let file = rest.split(" (").next().unwrap_or_default();
        if !file.starts_with('/') {
            bail!("the library {name} is not on this machine");
        }
        if !name.starts_with('/') {
            found.push(file.to_owned());
        }
    }
    Ok(found)
}
