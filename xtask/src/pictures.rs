//! `cargo xtask pictures`: pictures of the live view, a report and the workbench, for docs/ and the README.
//!
//! Real runs before the built-in server, a terminal whose screen is drawn as SVG, and Debian's Chromium.
//! The figures in them are those of the machine on which they are made, and no measurement.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use xtask::process;
use xtask::system::{self, Tool};

/// Makes the pictures in docs/pictures/ anew.
#[derive(Debug, Args)]
pub struct PicturesArgs {
    /// A farfield that is built already; by default it is built as users have it.
    #[arg(long, value_name = "FILE")]
    farfield: Option<PathBuf>,
}

const FOLDER: &str = "docs/pictures";
/// Cells of the terminal.
const COLUMNS: u16 = 100;
const LINES: u16 = 28;
/// Width and height of a cell in its picture.
const CELL: (f64, f64) = (8.4, 18.0);

const NEEDED: &[Tool] = &[
    Tool { program: "chromium", package: "chromium" },
    Tool { program: "chromedriver", package: "chromium-driver" },
    Tool { program: "script", package: "bsdutils" },
    Tool { program: "curl", package: "curl" },
];

/// The scenario of the pictures: sessions of two classes before a model of a server.
const SCENARIO: &str = "name = \"shop\"\nthresholds = [\"p99<400ms\"]\n[load]\nmodel = \"hybrid\"\narrivals = \"60/s\"\n\
requests = { distribution = \"geometric\", mean = 4 }\nthink = { distribution = \"lognormal\", mu = -1.0, sigma = 0.6 }\n\
[connections]\nparallel = 6\n[run]\nwarm-up = \"2s\"\nduration = \"20s\"\n";

/// Makes the pictures.
pub fn run(args: &PicturesArgs) -> Result<()> {
    if !system::provide(NEEDED, true)?.is_empty() {
        bail!("programs are missing");
    }
    let farfield = match &args.farfield {
        Some(path) => fs::canonicalize(path).with_context(|| format!("no {}", path.display()))?,
        None => {
            process::run(process::cargo().args(["build", "--release", "-p", "farfield"]))?;
            fs::canonicalize(process::builds()?.join("release/farfield"))?
        }
    };
    fs::create_dir_all(FOLDER)?;
    let place = tempfile::tempdir()?;
    let folder = fs::canonicalize(FOLDER)?;
    fs::write(place.path().join("shop.toml"), SCENARIO)?;
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
    let (origin, token) = url.split_once("/?token=").context("a token")?;
    browser.picture(&format!("{url}#runs"), (1100, 600), "", 0, &folder.join("runs.png"))?;
    let open = "document.querySelector('#open').click()";
    browser.picture(&format!("{url}#new"), (1280, 1300), open, 1, &folder.join("form.png"))?;
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
    browser.picture(&format!("{url}#run/1"), (1100, 1300), "", 14, &folder.join("workbench.png"))
}

/// A process that is ended with this, as by Ctrl-C.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(self.0.id() as i32);
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT);
        let _ = self.0.wait();
    }
}

/// Chromium by its driver (WebDriver, W3C), which takes a picture once a page shows what it asked its
/// server for.
struct Browser {
    _driver: Ended,
    session: String,
}

impl Browser {
    fn begin() -> Result<Browser> {
        let mut driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn()?;
        let mut lines =
            BufReader::new(driver.stdout.take().context("its output")?).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            line.split_once("successfully on port ")?.1.split_once('.').map(|it| it.0.to_owned())
        });
        let sessions = format!("http://127.0.0.1:{}/session", port.context("chromedriver says no port")?);
        let mut browser = Browser { _driver: Ended(driver), session: sessions };
        // Its own sandbox needs rights that root's processes in a container have not; all pages are our
        // own.
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
        ];
        let options = json!({ "browserName": "chrome", "goog:chromeOptions": { "args": arguments } });
        let begun = browser.post("", &json!({ "capabilities": { "alwaysMatch": options } }))?;
        browser.session =
            format!("{}/{}", browser.session, begun["sessionId"].as_str().context("a session")?);
        Ok(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-X", "POST", "-d", &body.to_string()]);
        self.answer(curl.arg(format!("{}{path}", self.session)))
    }

    fn answer(&self, curl: &mut Command) -> Result<Value> {
        let answer: Value = serde_json::from_slice(&process::output(curl)?)?;
        if let Some(error) = answer["value"]["error"].as_str() {
            bail!("the browser: {error}: {}", answer["value"]["message"]);
        }
        Ok(answer["value"].clone())
    }

    /// A picture of the page at `url`, `seconds` after it was loaded and a script ran in it.
    #[expect(clippy::disallowed_methods, reason = "what a page shows comes when its server has answered")]
    fn picture(
        &self,
        url: &str,
        (width, height): (u32, u32),
        script: &str,
        seconds: u64,
        to: &Path,
    ) -> Result<()> {
        self.post("/window/rect", &json!({ "width": width, "height": height }))?;
        // A URL that differs by its fragment alone would not be loaded again.
        self.post("/url", &json!({ "url": "about:blank" }))?;
        self.post("/url", &json!({ "url": url }))?;
        std::thread::sleep(Duration::from_secs(2));
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))?;
        std::thread::sleep(Duration::from_secs(seconds));
        let picture =
            self.answer(Command::new("curl").arg("-sS").arg(format!("{}/screenshot", self.session)))?;
        fs::write(to, STANDARD.decode(picture.as_str().context("a picture")?)?)?;
        println!("{}", to.display());
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver is ended in any case; asked like this, it ends its browser first.
        let _ = Command::new("curl")
            .args(["-sS", "-X", "DELETE"])
            .arg(&self.session)
            .stdout(Stdio::null())
            .status();
    }
}
