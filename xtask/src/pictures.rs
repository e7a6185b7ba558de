//! `cargo xtask pictures`: pictures of the live view, a report and the workbench, for docs/ and the README.
//!
//! Real runs before the built-in server, a terminal whose screen is drawn as SVG, and Debian's Chromium.
//! The figures in them are those of the machine on which they are made, and no measurement.

use crate::browser::{self, Browser, Ended};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xtask::process;
use xtask::system::{self, Tool};

/// Makes the pictures in docs/pictures/ anew.
#[derive(Debug, Args)]
pub struct PicturesArgs {
    /// A farfield that is built already; by default it is built as it is shipped.
    #[arg(long, value_name = "FILE")]
    farfield: Option<PathBuf>,
}

const FOLDER: &str = "docs/pictures";
/// Cells of the terminal.
const COLUMNS: u16 = 100;
const LINES: u16 = 28;
/// Width and height of a cell in its picture.
const CELL: (f64, f64) = (8.4, 18.0);

/// The terminal's program, beside the browser's.
const SCRIPT: Tool = Tool { program: "script", package: "bsdutils" };

/// The scenario of the pictures: sessions of two classes before a model of a server.
const SCENARIO: &str = "name = \"shop\"\nthresholds = [\"p99<400ms\"]\n[load]\nmodel = \"hybrid\"\narrivals = \"60/s\"\n\
requests = { distribution = \"geometric\", mean = 4 }\nthink = { distribution = \"lognormal\", mu = -1.0, sigma = 0.6 }\n\
[connections]\nparallel = 6\n[run]\nwarm-up = \"2s\"\nduration = \"20s\"\n";

/// The scenario of the question before programs are started.
const STARTING: &str = "name = \"starting\"\nplane = \"emulated\"\n[load]\nusers = 20\n[server]\n\
command = \"exec python3 -m http.server 80\"\nuser = \"nobody\"\n[network]\nrtt = \"40ms\"\n\
[[network.program]]\nclass = \"clients\"\ncommand = \"curl -s http://server/\"\n";
/// Opens it, and asks for a run of it.
const START: &str = "document.querySelector('#files').value = 'starting.toml'; document.querySelector('#open').click(); \
setTimeout(() => document.querySelector('#start').click(), 1500)";

/// Makes the pictures.
pub fn run(args: &PicturesArgs) -> Result<()> {
    let needed: Vec<Tool> = browser::NEEDED.into_iter().chain([SCRIPT]).collect();
    if !system::provide(&needed, true)?.is_empty() {
        bail!("programs are missing");
    }
    let farfield = match &args.farfield {
        Some(path) => fs::canonicalize(path).with_context(|| format!("no {}", path.display()))?,
        None => fs::canonicalize(process::build_farfield()?)?,
    };
    fs::create_dir_all(FOLDER)?;
    let place = tempfile::tempdir()?;
    let folder = fs::canonicalize(FOLDER)?;
    fs::write(place.path().join("shop.toml"), SCENARIO)?;
    fs::write(place.path().join("starting.toml"), STARTING)?;
    terminal(&farfield, place.path(), &folder.join("live.svg"))?;
    let browser = Browser::begin()?;
    report(&browser, &farfield, place.path(), &folder.join("report.png"))?;
    workbench(&browser, &farfield, place.path(), &folder)
}

fn farfield_in(farfield: &Path, place: &Path, words: &str) -> Command {
    let mut command = Command::new(farfield);
    command.args(words.split_whitespace()).current_dir(place);
    command
}

/// The live view after some seconds: a run in the terminal that script(1) makes.
fn terminal(farfield: &Path, place: &Path, picture: &Path) -> Result<()> {
    let line = format!(
        "stty rows {LINES} cols {COLUMNS}; exec {} run shop.toml -o runs/2026-01-31T12-00-00Z-shop",
        farfield.display()
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place).env("TERM", "xterm-256color");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("script(1)")?;
    let cells = |count: u16| NonZero::new(count).context("a terminal has cells");
    let mut screen = vt100::Parser::new(cells(LINES)?, cells(COLUMNS)?, 0);
    let mut stdout = child.stdout.take().context("its output")?;
    let (mut buffer, mut latest) = ([0; 4096], String::new());
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        screen.process(&buffer[..count]);
        // The last picture of a run in the midst of its measured part.
        if screen.screen().contents().contains("measuring, 4 s left") {
            latest = drawn(screen.screen());
        }
    }
    child.wait()?;
    if latest.is_empty() {
        bail!("the live view was never shown");
    }
    fs::write(picture, latest)?;
    println!("{}", picture.display());
    Ok(())
}

/// A screen as SVG. Colours are few, as in the live view.
fn drawn(screen: &vt100::Screen) -> String {
    let (width, height) = (f64::from(COLUMNS) * CELL.0 + 24.0, f64::from(LINES) * CELL.1 + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"The live view of farfield on a terminal\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181c\"/>\n\
         <g font-family=\"DejaVu Sans Mono, monospace\" font-size=\"14\" xml:space=\"preserve\">\n"
    );
    for row in 0..LINES {
        for column in 0..COLUMNS {
            let Some(cell) = screen.cell(row, column) else { continue };
            let (x, y) = (12.0 + f64::from(column) * CELL.0, 12.0 + f64::from(row) * CELL.1);
            let (ink, paper) = colours(cell);
            if paper != "#16181c" {
                let (width, height) = (CELL.0 + 0.3, CELL.1);
                svg.push_str(&format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"
                ));
            }
            let text = cell.contents().replace('&', "&amp;").replace('<', "&lt;");
            if !text.trim().is_empty() {
                let weight = if cell.bold() { " font-weight=\"700\"" } else { "" };
                let y = y + 14.0;
                svg.push_str(&format!(
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{ink}\"{weight}>{text}</text>"
                ));
            }
        }
        svg.push('\n');
    }
    svg.push_str("</g></svg>\n");
    svg
}

/// Ink and paper of a cell.
fn colours(cell: &vt100::Cell) -> (&'static str, &'static str) {
    let named = |colour: vt100::Color, default: &'static str| match colour {
        vt100::Color::Idx(1 | 9) => "#ff7b72",
        vt100::Color::Idx(2 | 10) => "#56d364",
        vt100::Color::Idx(3 | 11) => "#e3b341",
        vt100::Color::Idx(6 | 14) => "#39c5cf",
        _ => default,
    };
    let ink = named(cell.fgcolor(), if cell.dim() { "#8b949e" } else { "#e6edf3" });
    let paper = named(cell.bgcolor(), "#16181c");
    if cell.inverse() { (paper, ink) } else { (ink, paper) }
}

/// The page of a run.
fn report(browser: &Browser, farfield: &Path, place: &Path, picture: &Path) -> Result<()> {
    let words = "report runs/2026-01-31T12-00-00Z-shop --format html --out report.html";
    // The exit code is the run's: an invalid one has a report too.
    farfield_in(farfield, place, words).status()?;
    let url = format!("file://{}", place.join("report.html").display());
    browser.picture(&url, (1100, 2300), "", 0, picture)
}

/// The workbench: its list of runs, its form, and a run.
fn workbench(browser: &Browser, farfield: &Path, place: &Path, folder: &Path) -> Result<()> {
    for (name, words) in [
        ("2026-01-30T09-12-40Z-closed", "-c 20 --think 100ms"),
        ("2026-01-30T09-20-11Z-poisson", "-R 400"),
        ("2026-01-30T17-02-55Z-mobile", "-R 100 --access 4g"),
    ] {
        let line = format!("run --plane simulated {words} -d 10s -q -o runs/{name}");
        farfield_in(farfield, place, &line).stdout(Stdio::null()).status()?;
    }
    let mut server = Ended(farfield_in(farfield, place, "ui runs").stdout(Stdio::piped()).spawn()?);
    let mut said = String::new();
    let stdout = server.0.stdout.as_mut().context("its output")?;
    let mut byte = [0];
    while !said.contains('\n') && stdout.read(&mut byte)? == 1 {
        said.push(char::from(byte[0]));
    }
    let url = said.trim().rsplit(' ').next().context("a URL")?.to_owned();
    let (origin, token) = url.split_once("/#token=").context("a token")?;
    browser.picture(&format!("{url}&runs"), (1100, 600), "", 0, &folder.join("runs.png"))?;
    let open = "document.querySelector('#open').click()";
    browser.picture(&format!("{url}&new"), (1280, 1300), open, 1, &folder.join("form.png"))?;
    browser.picture(&format!("{url}&new"), (1100, 640), START, 4, &folder.join("confirm.png"))?;
    let mut start = Command::new("curl");
    start.args([
        "-sS",
        "--fail",
        "-H",
        &format!("Authorization: Bearer {token}"),
        "--json",
        "{\"file\": \"shop.toml\"}",
    ]);
    process::output(start.arg(format!("{origin}/api/start")))?;
    browser.picture(&format!("{url}&run/1"), (1100, 1300), "", 14, &folder.join("workbench.png"))
}
