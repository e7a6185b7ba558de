//! `farfield site`: sites as files, from models and back.
//!
//! Memory is the site's, and one block of a file's content.

use crate::exit::Exit;
use crate::flags::site::{MakeFlags, SiteCommand, SiteFlags};
use crate::output;
use crate::problem::Problem;
use farfield_base::Bytes;
use farfield_base::random::Seed;
use farfield_traffic::request::SiteSource;
use farfield_traffic::site::content::Contents;
use farfield_traffic::site::files::{self, FoundFile, INDEX, MANIFEST};
use farfield_traffic::site::{Kind, Preset, Site, SiteFigures, html};
use std::fs;
use std::io;
use std::path::Path;

/// Does what was asked for.
pub fn site(flags: &SiteFlags) -> Result<Exit, Problem> {
    match &flags.what {
        SiteCommand::Make(flags) => make(flags),
        SiteCommand::Show { model } => show(model),
        SiteCommand::Read { directory, out } => read(directory, out),
    }
}

fn show(model: &str) -> Result<Exit, Problem> {
    let preset = Preset::of_name(model).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::name).join(", ");
        Problem::usage(format!("`{model}` is no model that comes with farfield; those are {names}"))
    })?;
    output::put(preset.text())?;
    Ok(Exit::Fine)
}

fn make(flags: &MakeFlags) -> Result<Exit, Problem> {
    let source = SiteSource::try_from(flags.model.clone()).map_err(Problem::usage)?;
    let beside = Path::new(&flags.model).parent().unwrap_or(Path::new(""));
    // A file that a model names lies beside it; the model itself is named as it was typed.
    let mut load = |path: &Path| match path == Path::new(&flags.model) {
        true => fs::read(path),
        false => fs::read(beside.join(path)),
    };
    let site = source.site(&mut load, Seed(flags.seed)).map_err(Problem::usage)?;
    let directory = &flags.directory;
    let failed = |path: &Path, error: io::Error| {
        Problem::failed(format!(
            "cannot write {}: {error}; what is there so far is no whole site",
            path.display()
        ))
    };
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    let mut there = fs::read_dir(directory).map_err(|error| failed(directory, error))?;
    if there.next().is_some() {
        return Err(Problem::usage(format!(
            "{} is not empty; name a folder that is, or that is not there yet",
            directory.display()
        )));
    }
    let contents = Contents::new(&site);
    for (at, object) in (0..).zip(site.objects()) {
        let path = directory.join(on_disk(&object.path));
        let folder = path.parent().unwrap_or(directory);
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let mut file = fs::File::create_new(&path).map_err(|error| failed(&path, error))?;
        contents.write(at, &mut file).map_err(|error| failed(&path, error))?;
    }
    let index = directory.join(INDEX);
    if !index.exists() {
        let html = html::index(site.objects(), site.pages());
        fs::write(&index, html).map_err(|error| failed(&index, error))?;
    }
    // Last: where it is, the site is whole.
    let manifest = directory.join(MANIFEST);
    fs::write(&manifest, as_json(&site)).map_err(|error| failed(&manifest, error))?;
    output::put(&told(&site, &manifest))?;
    Ok(Exit::Fine)
}

/// A path of a site as one of files: what is percent-encoded is decoded.
fn on_disk(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.trim_start_matches('/').as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match decoded.filter(|decoded| *byte == b'%' && !matches!(decoded, 0 | b'/')) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.trim_start_matches('/').to_owned())
}

fn read(directory: &Path, out: &Path) -> Result<Exit, Problem> {
    let mut found = Vec::new();
    collect(directory, "", &mut found).map_err(|error| {
        Problem::usage(format!("cannot read the files below {}: {error}", directory.display()))
    })?;
    let site = files::read(found)
        .map_err(|error| Problem::usage(format!("{} is no site: {error}", directory.display())))?;
    fs::write(out, as_json(&site))
        .map_err(|error| Problem::failed(format!("cannot write {}: {error}", out.display())))?;
    output::put(&told(&site, out))?;
    Ok(Exit::Fine)
}

/// All files below `folder`, with their paths from `path` on. Links to folders may lead back and are left out.
fn collect(folder: &Path, path: &str, found: &mut Vec<FoundFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let below = format!("{path}{}", entry.file_name().to_string_lossy());
        let described = fs::metadata(entry.path())?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{below}/"), found)?;
        } else if described.is_file() {
            let html = match Kind::of_path(&below) {
                Kind::Html => Some(String::from_utf8_lossy(&fs::read(entry.path())?).into_owned()),
                _ => None,
            };
            found.push(FoundFile { path: below, size: Bytes(described.len()), html });
        }
    }
    Ok(())
}

fn as_json(site: &Site) -> Vec<u8> {
    let mut text = serde_json::to_vec(site).expect("a site is JSON");
    text.push(b'\n');
    text
}

fn told(site: &Site, file: &Path) -> String {
    let f = SiteFigures::of(site);
    let kilo = |bytes: f64| format!("{:.1} kB", bytes / 1e3);
    let mut text = format!(
        "{} objects, {:.1} MB: mean {}, median {}, largest {}\n",
        f.objects,
        f.bytes as f64 / 1e6,
        kilo(f.bytes_mean),
        kilo(f.bytes_median as f64),
        kilo(f.bytes_max as f64)
    );
    if f.html_pages > 0 {
        text += &format!(
            "{} pages, {} of them HTML: {:.1} embedded objects and {:.1} links each,\n\
             {} with all that it embeds in the mean, {} in the median\n",
            f.pages,
            f.html_pages,
            f.embedded_mean,
            f.links_mean,
            kilo(f.page_bytes_mean),
            kilo(f.page_bytes_median as f64)
        );
    }
    text + &format!("all of it is told in {}\n", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_for_the_disk() {
        for (path, file) in [
            ("/a/b.html", "a/b.html"),
            ("/a%20b.png", "a b.png"),
            ("/100%", "100%"),
            ("/a%2Fb", "a%2Fb"),
            ("/%E9.gif", "%E9.gif"),
            ("/%C3%A9.gif", "é.gif"),
        ] {
            assert_eq!(on_disk(path), file);
        }
    }
}
