//! A page in headless Chromium.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

/// What the browser is told that a person prefers.
pub const LIGHT: &str = "1";
pub const DARK: &str = "0";
/// Sizes of the window.
pub const DESKTOP: &str = "1280,1000";
pub const PHONE: &str = "390,844";

/// Flags for a browser that nobody sees and that talks to nobody.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--dump-dom",
];

/// Notes what goes wrong from the start.
const LISTEN: &str = "<script>window.reportErrors = []; window.addEventListener('error', \
     function (event) { window.reportErrors.push(String(event.message)); });</script>\n<style>";

/// One at a time: pages are timed.
static BROWSER: Mutex<()> = Mutex::new(());

/// What a page looks like to somebody who moves a pointer over it, or `None` with a line where there is no browser.
pub fn look(page: &Path, scheme: &str, size: &str) -> Option<Value> {
    let program = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|program| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()));
    let Some(program) = program else {
        println!("there is no chromium: skipped");
        return None;
    };
    let _alone = BROWSER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let own = tempfile::tempdir().unwrap();
    let probe = format!("<script>\n{}</script>\n</body>", include_str!("probe.js"));
    let content = fs::read_to_string(page).unwrap().replacen("<style>", LISTEN, 1).replacen("</body>", &probe, 1);
    let copy = own.path().join("page.html");
    fs::write(&copy, content).unwrap();
    let output = Command::new(program)
        .args(FLAGS)
        .arg(format!("--user-data-dir={}", own.path().join("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--window-size={size}"))
        .arg(format!("file://{}", copy.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{}: {complaints:?}", page.display());
    let shown = String::from_utf8_lossy(&output.stdout);
    let seen = shown.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let Some((seen, _)) = seen else { panic!("{}: nothing was seen: {said}", page.display()) };
    let seen = seen.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    Some(serde_json::from_str(&seen).unwrap())
}
