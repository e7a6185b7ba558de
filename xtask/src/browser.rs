//! Debian's Chromium, through its driver: for pictures of pages, and for the time that a page takes.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use xtask::process;
use xtask::system::Tool;

/// Tools that the browser needs.
pub const NEEDED: [Tool; 3] = [
    Tool { program: "chromium", package: "chromium" },
    Tool { program: "chromedriver", package: "chromium-driver" },
    Tool { program: "curl", package: "curl" },
];

/// Time for the driver to say its port, and for a process to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for the driver's answer: longer than its own limit for scripts, which is 30 s (WebDriver, W3C).
const ANSWER_S_MAX: &str = "90";

/// A process that is ended with this, by SIGTERM: a process that a shell has started in the background
/// inherits that SIGINT is ignored, and hands that down.
#[derive(Debug)]
pub struct Ended(pub Child);

impl Ended {
    fn has_ended_in(&mut self, at_most: Duration) -> bool {
        let look = Duration::from_millis(20);
        (0..at_most.as_millis() / look.as_millis()).any(|_| {
            let running = matches!(self.0.try_wait(), Ok(None));
            if running {
                pause(look);
            }
            !running
        })
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let id = nix::unistd::Pid::from_raw(self.0.id() as i32);
        let _ = nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM);
        if !self.has_ended_in(PATIENCE) {
            eprintln!("process {id} has not ended {} s after SIGTERM; it is killed", PATIENCE.as_secs());
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a process ends, and a page answers, in its own time")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Chromium by its driver (WebDriver, W3C), which takes a picture once a page shows what it asked its
/// server for.
#[derive(Debug)]
pub struct Browser {
    _driver: Ended,
    session: String,
    begun: bool,
}

impl Browser {
    /// A browser without a window.
    pub fn begin() -> Result<Browser> {
        let mut driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn()?;
        let said = driver.stdout.take().context("its output")?;
        let driver = Ended(driver);
        let port = port_in(said).recv_timeout(PATIENCE);
        let port = port.with_context(|| format!("chromedriver says no port in {} s", PATIENCE.as_secs()))?;
        let mut browser =
            Browser { _driver: driver, session: format!("http://127.0.0.1:{port}/session"), begun: false };
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
        browser.begun = true;
        Ok(browser)
    }

    /// The driver's answer to a command.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut curl = curl();
        curl.args(["-X", "POST", "-d", &body.to_string()]);
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
        pause(Duration::from_secs(2));
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))?;
        pause(Duration::from_secs(seconds));
        let picture = self.answer(curl().arg(format!("{}/screenshot", self.session)))?;
        fs::write(to, STANDARD.decode(picture.as_str().context("a picture")?)?)?;
        println!("{}", to.display());
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver is ended in any case; asked like this, it ends its browser first.
        if self.begun {
            let _ = curl().args(["-X", "DELETE"]).arg(&self.session).stdout(Stdio::null()).status();
        }
    }
}

/// curl, which gives up where the driver does not answer.
fn curl() -> Command {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--max-time", ANSWER_S_MAX]);
    curl
}

/// The port that the driver says on its output, which is read to its end.
fn port_in(said: ChildStdout) -> Receiver<String> {
    let (sender, port) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            let behind = line.split_once("successfully on port ").map(|(_, behind)| behind);
            if let Some((port, _)) = behind.and_then(|behind| behind.split_once('.')) {
                // A receiver that no longer waits has given up.
                let _ = sender.send(port.to_owned());
            }
        }
    });
    port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_a_process_that_ignores_ctrl_c() {
        let script = "trap '' INT; echo ready; exec sleep 600";
        let child = Command::new("/bin/sh").args(["-c", script]).stdout(Stdio::piped()).spawn();
        let mut ended = Ended(child.unwrap());
        let mut line = String::new();
        BufReader::new(ended.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let process = format!("/proc/{}", ended.0.id());
        drop(ended);
        assert!(!Path::new(&process).exists());
    }
}
