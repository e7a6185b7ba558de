//! `farfield site`: sites as files, from models and back, and as a server shows them.
//!
//! Memory holds the site and one block of a file's content.

mod crawl;

use crate::exit::Exit;
use crate::flags::site::{CrawlFlags, MakeFlags, SiteCommand, SiteFlags};
use crate::output;
use crate::problem::Problem;
use crawl::{CrawlLimits, CrawlResult, crawl};
use farfield_base::Bytes;
use farfield_base::random::Seed;
use farfield_engine::interrupt;
use farfield_files::Budget;
use farfield_files::input::{PAGE_MAX, SCENARIO_FILES_MAX};
use farfield_scenario::Url;
use farfield_scenario::site_folder as folder;
use farfield_traffic::request::SiteSource;
use farfield_traffic::site::files::{self, FoundFile};
use farfield_traffic::site::{ObjectKind, Preset, Site, SiteFigures};
use std::fs;
use std::io;
use std::path::Path;

/// Runs the subcommand.
pub fn site(flags: &SiteFlags) -> Result<Exit, Problem> {
    match &flags.what {
        SiteCommand::Make(flags) => make(flags),
        SiteCommand::Show { model } => show(model),
        SiteCommand::Read { directory, out } => read(directory, out),
        SiteCommand::Crawl(flags) => take_from_server(flags),
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
    let mut room = Budget::new(SCENARIO_FILES_MAX);
    let mut load = |path: &Path| match path == Path::new(&flags.model) {
        true => room.read(path),
        false => room.read(&beside.join(path)),
    };
    let site = source.site(&mut load, Seed(flags.seed)).map_err(Problem::usage)?;
    let directory = &flags.directory;
    let failed = |path: &Path, error: io::Error| {
        Problem::failed(format!(
            "cannot write {}: {error}; what is there so far is no whole site",
            path.display()
        ))
    };
    farfield_files::output::folder(directory).map_err(|error| failed(directory, error))?;
    let mut there = fs::read_dir(directory).map_err(|error| failed(directory, error))?;
    if there.next().is_some() {
        return Err(Problem::usage(format!(
            "{} is not empty; name a folder that is, or that is not there yet",
            directory.display()
        )));
    }
    let made = folder::write(&site, directory).map_err(|(path, error)| failed(&path, error))?;
    let mut text = figures(&site, &made.manifest);
    if let Some(left_out) = made.left_out() {
        text += &format!("{left_out}\n");
    }
    output::put(&text)?;
    Ok(Exit::Fine)
}

fn read(directory: &Path, out: &Path) -> Result<Exit, Problem> {
    let mut found = Vec::new();
    collect(directory, "", &mut found).map_err(|error| {
        Problem::usage(format!("cannot read the files below {}: {error}", directory.display()))
    })?;
    let site = files::read(found)
        .map_err(|error| Problem::usage(format!("{} is no site: {error}", directory.display())))?;
    farfield_files::output::put(out, &folder::as_json(&site))
        .map_err(|error| Problem::failed(format!("cannot write {}: {error}", out.display())))?;
    output::put(&figures(&site, out))?;
    Ok(Exit::Fine)
}

fn take_from_server(flags: &CrawlFlags) -> Result<Exit, Problem> {
    let CrawlFlags { url, out, objects_max } = flags;
    let start: Url = url.parse().map_err(Problem::usage)?;
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    let CrawlResult { files, refused, broken, left, too_long, ended } =
        crawl(&start, CrawlLimits::of(*objects_max), &stop)?;
    let site = files::read(files).map_err(|error| {
        let why = refused.first().map_or(String::new(), |(path, status)| format!(": {path} is {status}"));
        Problem::failed(format!("{url} shows no site{why}; {error}"))
    })?;
    farfield_files::output::put(out, &folder::as_json(&site))
        .map_err(|error| Problem::failed(format!("cannot write {}: {error}", out.display())))?;
    let mut text = figures(&site, out);
    if let Some((path, status)) = refused.first() {
        text += &format!("{} paths were refused, such as {path} with {status}\n", refused.len());
    }
    if let Some((path, why)) = broken.first() {
        text +=
            &format!("{} answers did not come or broke off, such as that to {path}: {why}\n", broken.len());
    }
    if let (count, Some(path)) = &too_long {
        text += &format!("{count} paths were left out, such as {path}: no folder has names this long\n");
    }
    match ended {
        Some(why) => {
            text += &format!("the site is what there was when {why}; {left} more paths were named\n")
        }
        None if left > 0 => {
            text += &format!("{left} more paths were named; --objects-max takes more than {objects_max}\n");
        }
        None => {}
    }
    output::put(&text)?;
    Ok(Exit::Fine)
}

/// All files below `folder`, with their paths from `path` on. Links to folders may lead back and are left
/// out.
fn collect(folder: &Path, path: &str, found: &mut Vec<FoundFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let below = format!("{path}{}", entry.file_name().to_string_lossy());
        let described = fs::metadata(entry.path())?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{below}/"), found)?;
        } else if described.is_file() {
            let html = match ObjectKind::of_path(&below) {
                ObjectKind::Html => Some(
                    String::from_utf8_lossy(&farfield_files::read(&entry.path(), PAGE_MAX)?).into_owned(),
                ),
                _ => None,
            };
            found.push(FoundFile { path: below, size: Bytes(described.len()), html });
        }
    }
    Ok(())
}

fn figures(site: &Site, file: &Path) -> String {
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
    text + &format!("all of it is written in {}\n", file.display())
}
