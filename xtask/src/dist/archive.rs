//! Archives that are the same whenever and by whomever they are made: tar in the ustar format with files of
//! root at one time, and gzip without a name and a time (RFC 1952).

use super::Artifact;
use super::files::FileTree;
use super::linkage::Linkage;
use super::release::Release;
use anyhow::Result;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use tar::{Builder, EntryType, Header};

/// `content` compressed with `effort`, 0 to 9.
pub fn gzip(content: &[u8], effort: u32) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(effort));
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

/// A tar of `files` and their folders, all at `time`, in the folder `prefix`, which ends in `/` or is empty.
pub fn tar(files: &FileTree, prefix: &str, time: u64) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let header = |kind, mode, size| {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root").and_then(|()| header.set_groupname("root")).map(|()| header)
    };
    let mut outer = prefix;
    // The prefix is a folder, or nothing.
    while let Some(folder) = outer.strip_suffix('/') {
        builder.append_data(&mut header(EntryType::Directory, 0o755, 0)?, format!("{folder}/"), &[][..])?;
        outer = folder.rfind('/').map_or("", |end| &folder[..=end]);
    }
    for folder in files.folders() {
        let place = format!("{prefix}{folder}/");
        builder.append_data(&mut header(EntryType::Directory, 0o755, 0)?, place, &[][..])?;
    }
    for (place, file) in files.iter() {
        let mut header = header(EntryType::Regular, file.mode, file.content.len() as u64)?;
        builder.append_data(&mut header, format!("{prefix}{place}"), file.content.as_slice())?;
    }
    Ok(builder.into_inner()?)
}

/// The archive for any Linux: one folder, to be unpacked below a prefix such as `/usr/local`.
pub fn tarball(release: &Release, linkage: &Linkage, files: &FileTree, effort: u32) -> Result<Artifact> {
    let name = format!("farfield-{}-{}-linux", release.version, linkage.architecture.linux());
    let content = gzip(&tar(files, &format!("{name}/"), release.time)?, effort)?;
    Ok((format!("{name}.tar.gz"), content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_tar_has_folders_first_and_one_time() {
        let mut files = FileTree::default();
        files.add("bin/farfield", 0o755, b"program".to_vec());
        let packed = gzip(&tar(&files, "farfield/", 7).unwrap(), 1).unwrap();
        assert_eq!(packed[4..8], [0; 4], "no time in the header of gzip");
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (7, 0));
            let place = entry.path().unwrap().display().to_string();
            found.push((place, entry.header().mode().unwrap(), content));
        }
        let own = |place: &str, mode, content: &str| (place.to_owned(), mode, content.to_owned());
        let expected = [
            own("farfield/", 0o755, ""),
            own("farfield/bin/", 0o755, ""),
            own("farfield/bin/farfield", 0o755, "program"),
        ];
        assert_eq!(found, expected);
    }
}
