//! One start of a headless browser that looks at many pages.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A page to look at, and how wide the window is.
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) width: u32,
    pub(crate) body: String,
}

/// What a look brought.
#[derive(Debug)]
pub(crate) struct Seen {
    /// What is wrong, one line each; errors of scripts included.
    pub(crate) faults: Vec<String>,
    pub(crate) frames: usize,
    pub(crate) texts: usize,
    pub(crate) links: usize,
}

/// How long a browser may take. On a busy machine its start alone takes many seconds.
const PATIENCE: Duration = Duration::from_secs(100);

/// What to do about a browser that is none.
const CURE: &str = "Cure: name a Chromium in MOONQUAKE_BROWSER, or unset it and apt-get install chromium; \
                    MOONQUAKE_NO_BROWSER=1 leaves these tests out";

/// Whether a value of `MOONQUAKE_NO_BROWSER` leaves the tests out. As with `MOONQUAKE_NO_REAL`, nothing and `0` do not.
pub(crate) fn opted_out(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

/// The browser: the one that the variable names, or Chromium where distributions put it.
pub(crate) fn chromium() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("MOONQUAKE_BROWSER") {
        let path = PathBuf::from(path);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!(
                "MOONQUAKE_BROWSER is {}, and there is no such file. {CURE}",
                path.display()
            ))
        };
    }
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("no browser is installed. {CURE}"))
}

/// Looks at all pages, each in a frame of its width.
pub(crate) fn look(browser: &Path, pages: &[Page]) -> Result<Seen, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("harness.html");
    fs::write(&file, harness(pages)).map_err(|error| error.to_string())?;
    let log = folder.path().join("log");
    let to_log = File::create(&log).map_err(|error| error.to_string())?;
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--window-size=1700,1200",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(to_log)
        .spawn()
        .map_err(|error| format!("{} does not start: {error}. {CURE}", browser.display()))?;
    let dom = written(&mut child);
    let log = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
    if dom.as_deref().is_some_and(|dom| dom.trim().is_empty()) {
        let how = child.wait().map(|status| status.to_string()).unwrap_or_default();
        return Err(format!(
            "{} showed no page ({how}). {CURE}\n{log}",
            browser.display()
        ));
    }
    let dom = dom.ok_or_else(|| format!("the browser did not end within {PATIENCE:?}:\n{log}"))?;
    read(&dom, &log)
}

/// What the browser writes until it ends; none if it takes too long, and then it is ended.
#[allow(
    clippy::disallowed_methods,
    reason = "a real process takes real time; a thread reads, so that its end is an event"
)]
fn written(child: &mut Child) -> Option<String> {
    let mut pipe = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.read_to_end(&mut bytes);
        // Nobody listens any more where it took too long.
        let _ = sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    });
    let text = receiver.recv_timeout(PATIENCE).ok().and_then(Result::ok);
    if text.is_none() {
        // It may have ended in between.
        let _ = child.kill();
    }
    let _ = child.wait();
    text
}

fn harness(pages: &[Page]) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
    let frames: String = pages
        .iter()
        .map(|page| {
            let (name, width, body) = (escape(&page.name), page.width, escape(&page.body));
            format!("<iframe title=\"{name}\" width={width} height=900 style=\"border:0\" srcdoc=\"{body}\"></iframe>\n")
        })
        .collect();
    let script = include_str!("check.js");
    format!(
        "<!DOCTYPE html><meta charset=utf-8><title>harness</title><pre id=result></pre>\n<script>{script}</script>\n{frames}"
    )
}

fn read(dom: &str, log: &str) -> Result<Seen, String> {
    let result = dom
        .split("BEGIN\n")
        .nth(1)
        .and_then(|rest| rest.split_once("\nEND "));
    let Some((faults, looked)) = result else {
        return Err(format!("the page of the test did not come to its end:\n{log}"));
    };
    let plain = |text: &str| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
    };
    let number = |name: &str| -> usize {
        let rest = looked.split(&format!("\"{name}\":")).nth(1).unwrap_or_default();
        rest.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
            .parse()
            .unwrap_or(0)
    };
    // What a console says is an error of a script, or something that a page may not do.
    let console = log.lines().filter(|line| line.contains("CONSOLE"));
    let faults = faults.lines().filter(|line| !line.is_empty()).map(plain);
    Ok(Seen {
        faults: faults.chain(console.map(str::to_owned)).collect(),
        frames: number("frames"),
        texts: number("texts"),
        links: number("links"),
    })
}
