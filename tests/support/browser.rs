//! A headless browser, controlled over a pipe by the Chrome DevTools protocol.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::need::{Need, found_or_skip};

/// The time limit for every wait.
const PATIENCE: Duration = Duration::from_secs(60);

const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

pub struct Browser {
    child: Child,
    orders: ChildStdin,
    messages: Receiver<Value>,
    last: u64,
    session: String,
    /// Errors and warnings of the page.
    pub errors: Vec<String>,
    _profile: TempDir,
}

/// The colour scheme and size of a page.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    pub is_dark: bool,
}

impl Browser {
    /// Starts Chromium, or the browser that `CHROMIUM` names. Without one, the test is skipped.
    #[track_caller]
    pub fn start() -> Option<Self> {
        let program = std::env::var("CHROMIUM").unwrap_or("chromium".to_owned());
        let is_there = Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let is_there = is_there.is_ok_and(|status| status.success());
        found_or_skip(Need::Browser, is_there.then_some(()).ok_or_else(|| program.clone()))?;
        let profile = super::folder();
        // The browser reads commands from file descriptor 3 and writes answers to 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", &program])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let (last, session, errors) = (0, String::new(), Vec::new());
        let mut browser = Self { child, orders, messages, last, session, errors, _profile: profile };
        let target = browser.order("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.order("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.order(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a page.
    pub fn open(&mut self, address: &str, look: Look) {
        let Look { width, height, is_dark } = look;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.order("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = json!({ "name": "prefers-color-scheme", "value": if is_dark { "dark" } else { "light" } });
        self.order("Emulation.setEmulatedMedia", json!({ "features": [scheme] }));
        self.order("Page.navigate", json!({ "url": "about:blank" }));
        let answer = self.order("Page.navigate", json!({ "url": address }));
        assert!(answer.get("errorText").is_none(), "{address}: {answer}");
        self.until("document.readyState === 'complete'");
    }

    /// The value of a script.
    #[track_caller]
    pub fn evaluate(&mut self, script: &str) -> Value {
        self.try_evaluate(script).unwrap_or_else(|fault| panic!("{script}: {fault}"))
    }

    fn try_evaluate(&mut self, script: &str) -> Result<Value, Value> {
        let order = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let answer = self.try_order("Runtime.evaluate", order)?;
        match answer.get("exceptionDetails") {
            Some(fault) => Err(fault.clone()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until the value of a script is true. The script may fail while a page is loaded.
    #[track_caller]
    pub fn until(&mut self, script: &str) {
        let start = Instant::now();
        while self.try_evaluate(script) != Ok(Value::Bool(true)) {
            if start.elapsed() > PATIENCE {
                panic!("not in a minute: {script}; the page shows {}", self.evaluate("document.body.innerText"));
            }
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Types into the focused element.
    pub fn write(&mut self, text: &str) {
        self.order("Input.insertText", json!({ "text": text }));
    }

    /// Presses a special key.
    pub fn press(&mut self, key: &str) {
        let code = HashMap::from([("Enter", 13), ("ArrowDown", 40), ("Escape", 27)])[key];
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.order("Input.dispatchKeyEvent", event);
        }
    }

    /// Clicks into the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const element = document.querySelector({selector:?}); element.scrollIntoView({{ block: 'nearest' }}); \
             const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let place = self.evaluate(&place);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.order("Input.dispatchMouseEvent", event);
        }
    }

    /// A screenshot as PNG. It is saved in the folder `ISVD_SCREENSHOTS`, if that is set.
    pub fn picture(&mut self, name: &str) -> Vec<u8> {
        let answer = self.order("Page.captureScreenshot", json!({ "format": "png" }));
        let picture = from_base64(answer["data"].as_str().unwrap());
        if let Some(folder) = std::env::var_os("ISVD_SCREENSHOTS") {
            fs::write(Path::new(&folder).join(name), &picture).unwrap();
        }
        picture
    }

    #[track_caller]
    fn order(&mut self, method: &str, parameters: Value) -> Value {
        self.try_order(method, parameters).unwrap_or_else(|fault| panic!("{method}: {fault}"))
    }

    fn try_order(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.last += 1;
        let mut order = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_empty() {
            order["sessionId"] = json!(self.session);
        }
        self.orders.write_all(order.to_string().as_bytes()).unwrap();
        self.orders.write_all(&[0]).unwrap();
        loop {
            let mut message = self.messages.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if message["id"] == self.last {
                return match message.get("error") {
                    Some(fault) => Err(fault.clone()),
                    None => Ok(message["result"].take()),
                };
            }
            self.notice(&message);
        }
    }

    fn notice(&mut self, event: &Value) {
        let parameters = &event["params"];
        let is_error = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => parameters["type"] == "error",
            Some("Log.entryAdded") => parameters["entry"]["level"] == "error",
            _ => false,
        };
        if is_error {
            self.errors.push(parameters.to_string());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for letter in text.bytes().filter(|&letter| letter != b'=') {
        let six = LETTERS.iter().position(|&other| other == letter).expect("base64") as u32;
        (bits, count) = (bits << 6 | six, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
