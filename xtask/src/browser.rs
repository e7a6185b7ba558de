//! Debian's Chromium, through its driver: for pictures of pages, and for the time that a page takes.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use xtask::process;
use xtask::system::Tool;

/// What it needs.
pub const NEEDED: [Tool; 3] = [
    Tool { program: "chromium", package: "chromium" },
    Tool { program: "chromedriver", package: "chromium-driver" },
    Tool { program: "curl", package: "curl" },
];

/// A process that is ended with this, as by Ctrl-C.
#[derive(Debug)]
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(self.0.id() as i32);
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT);
        let _ = self.0.wait();
    }
}

/// Chromium by its driver (WebDriver, W3C), which takes a picture once a page shows what it asked its
/// server for.
#[derive(Debug)]
pub struct Browser {
    _driver: Ended,
    session: String,
}

impl Browser {
    /// A browser without a window.
    pub fn begin() -> Result<Browser> {
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

    /// The driver's answer to a command.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
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
    pub fn picture(
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
