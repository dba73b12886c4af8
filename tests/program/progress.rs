//! Progress: bars on a terminal, lines elsewhere.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use isvd_dist::dataset::catalog;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::server::{Server, Site, noise};
use crate::support::{folder, is_progress, run, said, text};

/// A limit on the time of each test.
const MOST: Duration = Duration::from_secs(120);

/// The program with stderr on a pseudo-terminal, and the bytes that it wrote there.
struct OnTerminal {
    child: std::process::Child,
    drawn: Receiver<Vec<u8>>,
    screen: String,
}

impl OnTerminal {
    fn start(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs: OwnedFd = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&theirs, Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder).args(arguments).env_remove("ISVD_DATA").env_remove("NO_COLOR");
        command.env("TERM", "xterm-256color").envs(environment.iter().copied()).process_group(0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
        drop(command);
        let (send, drawn) = mpsc::channel();
        thread::spawn(move || {
            let (mut terminal, mut buffer) = (File::from(ours), [0; 4096]);
            // Reading a pseudo-terminal that has no writer fails at its end.
            while let Some(count) = terminal.read(&mut buffer).ok().filter(|&count| count > 0) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, drawn, screen: String::new() }
    }

    /// Reads until a condition holds, or until the end.
    fn wait_for(&mut self, words: &str) -> bool {
        let deadline = Instant::now() + MOST;
        while !self.screen.contains(words) {
            match self.drawn.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.screen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("`{words}` was never drawn: {}", self.screen),
            }
        }
        true
    }

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// The exit code, all bytes written, and the final screen.
    fn end(mut self) -> (Option<i32>, String, String) {
        self.wait_for("\0 is never drawn");
        let code = self.child.wait().unwrap().code();
        (code, self.screen.clone(), left_on_screen(&self.screen))
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The final screen of a terminal. It interprets the control codes that bars use.
fn left_on_screen(drawn: &str) -> String {
    let (mut lines, mut row, mut column) = (vec![Vec::<char>::new()], 0usize, 0usize);
    let mut characters = drawn.chars();
    while let Some(character) = characters.next() {
        match character {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\x1b' => {
                assert_eq!(characters.next(), Some('['), "a code that bars do not use in {drawn:?}");
                let mut number = String::new();
                let code = loop {
                    match characters.next().unwrap() {
                        digit if digit.is_ascii_digit() || digit == ';' || digit == '?' => number.push(digit),
                        code => break code,
                    }
                };
                let count = number.parse().unwrap_or(1);
                match code {
                    'm' => {}
                    'A' => row = row.saturating_sub(count),
                    'B' => row = (row + count).min(lines.len() - 1),
                    'K' if number == "2" => lines[row].clear(),
                    'K' => lines[row].truncate(column),
                    'J' => {
                        lines[row].truncate(column);
                        lines.truncate(row + 1);
                    }
                    code => panic!("code {number}{code} in {drawn:?}"),
                }
            }
            character => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = character;
                column += 1;
            }
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect();
    lines.join("\n").trim_end().to_owned()
}

/// A run that is long enough to be observed and interrupted.
const LONG: &[&str] = &["--set=dataset=rmat-14", "--set=embedding.rank=64", "--workers=1", "--checkpoint=off"];
const FINETUNE: &[&str] = &["--set=finetune.kernel=gaussian", "--set=finetune.epochs=1000", "--workers=1"];

#[test]
fn bars_come_and_go_on_a_terminal() {
    let folder = folder();
    let mut run = OnTerminal::start(folder.path(), &[LONG, &["--set=embedding.iterations=12"]].concat(), &[]);
    assert!(run.wait_for("worst residual"), "an iteration with its residual: {}", run.screen);
    let (code, drawn, left) = run.end();
    assert_eq!(code, Some(0), "{drawn}");
    for stage in ["load rmat-14", "import", "embedding"] {
        assert!(drawn.contains(stage), "{stage}: {drawn:?}");
    }
    assert!(drawn.contains("\x1b["), "a bar is drawn again and again");
    assert_eq!(left, "", "nothing is left");
}

#[test]
fn training_shows_loss_and_figure() {
    let folder = folder();
    let mut run = OnTerminal::start(folder.path(), FINETUNE, &[]);
    assert!(run.wait_for("loss "), "{}", run.screen);
    assert!(run.wait_for("valid auc 0."), "{}", run.screen);
    run.interrupt();
    let (code, _, left) = run.end();
    assert_eq!((code, left.lines().count()), (Some(130), 1), "{left}");
}

#[test]
fn colours_are_drawn_unless_they_are_refused() {
    let folder = folder();
    let wrong = &["--config=nothing"];
    for (arguments, words) in [(wrong.as_slice(), "error:"), (LONG, "embedding")] {
        let arguments = [arguments, &["--set=embedding.iterations=4"]].concat();
        let (_, coloured, _) = OnTerminal::start(folder.path(), &arguments, &[]).end();
        assert!(is_coloured(&coloured) && coloured.contains(words), "{coloured:?}");
        let (_, plain, _) = OnTerminal::start(folder.path(), &arguments, &[("NO_COLOR", "1")]).end();
        assert!(!is_coloured(&plain) && plain.contains(words), "{plain:?}");
    }
}

fn is_coloured(drawn: &str) -> bool {
    let codes = drawn.split("\x1b[").skip(1);
    codes
        .filter_map(|code| code.split_once('m'))
        .any(|(number, _)| number.chars().all(|c| c.is_ascii_digit() || c == ';') && number != "0")
}

#[test]
fn quiet_shows_no_progress() {
    let folder = folder();
    let (code, drawn, _) = OnTerminal::start(folder.path(), &["--quiet"], &[]).end();
    assert_eq!((code, drawn.as_str()), (Some(0), ""));
    let output = run(folder.path(), &["--quiet"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_terminal_that_cannot_draw_gets_lines() {
    let folder = folder();
    let (code, drawn, _) = OnTerminal::start(folder.path(), &[], &[("TERM", "dumb")]).end();
    assert_eq!(code, Some(0));
    assert!(!drawn.contains('\x1b') && drawn.lines().all(is_progress), "{drawn}");
}

#[test]
fn without_a_terminal_there_are_plain_lines_with_times() {
    let folder = folder();
    let output = run(folder.path(), &["--workers=1"]);
    let stderr = text(&output.stderr);
    assert!(!stderr.contains('\x1b') && !stderr.contains('\r'), "{stderr:?}");
    assert_eq!(said(stderr), "");
    let lines: Vec<&str> = stderr.lines().map(|line| line.split_once("s] ").unwrap().1).collect();
    assert_eq!(lines.len(), 6, "{stderr}");
    for (pair, stage) in lines.chunks(2).zip(["load demo", "import", "embedding"]) {
        assert_eq!(pair[0], stage);
        assert!(pair[1].starts_with(&format!("{stage}: done in 0.")), "{}", pair[1]);
    }
    assert!(lines[1].ends_with("s, 5,000 nodes"), "{}", lines[1]);
    assert!(lines[3].ends_with("s, 50,000 edges"), "{}", lines[3]);
    assert!(lines[5].contains("worst residual "), "{}", lines[5]);
}

/// A long stage prints a line every few seconds, and not more often.
#[test]
fn a_long_stage_reports_every_few_seconds() {
    let folder = folder();
    let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
    command.current_dir(folder.path()).args(FINETUNE).arg("--checkpoint=off");
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_secs(13));
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let mut stderr = String::new();
    run.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{stderr}");
    let within = stderr.lines().filter(|line| line.contains("finetune: ") && line.contains("loss ")).count();
    assert!((1..=2).contains(&within), "{stderr}");
    assert!(!stderr.contains("finetune: done"), "{stderr}");
}

/// An interrupted run prints one line, has exit code 130, and removes its bar.
#[track_caller]
fn assert_interrupted(run: OnTerminal, stage: &str) {
    run.interrupt();
    let (code, drawn, left) = run.end();
    assert_eq!(code, Some(130), "{drawn:?}");
    assert!(left.starts_with("interrupted") && left.lines().count() == 1, "{left:?}");
    assert!(drawn.contains(stage), "{drawn:?}");
    assert!(!drawn.contains("\x1b[?25l") || drawn.ends_with("\x1b[?25h"), "the cursor is there: {drawn:?}");
}

#[test]
fn an_interrupt_is_clean_while_a_file_is_loaded() {
    let folder = folder();
    let path = folder.path().join("edges.txt");
    let mut file = std::io::BufWriter::new(File::create(&path).unwrap());
    for edge in 0..3_000_000u64 {
        writeln!(file, "node{} node{}", edge % 70_001, edge * 7 % 90_001).unwrap();
    }
    file.into_inner().unwrap();
    let mut run = OnTerminal::start(folder.path(), &["--config=links", "--set=data.path=edges.txt"], &[]);
    assert!(run.wait_for("MiB"), "a bar of bytes: {:?}", run.screen);
    assert_interrupted(run, "load edges.txt");
    // A store is complete or absent.
    let convert = ["convert", "--config=links", "--set=data.path=edges.txt", "--out=store"];
    let mut run = OnTerminal::start(folder.path(), &convert, &[]);
    assert!(run.wait_for("MiB"), "{:?}", run.screen);
    assert_interrupted(run, "load edges.txt");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "edges.txt" || name == "out"), "{left:?}");
}

#[test]
fn an_interrupt_is_clean_at_any_moment_of_a_run() {
    let folder = folder();
    for (number, stage) in ["load", "import", "embedding"].into_iter().enumerate() {
        let out = format!("--out=out{number}");
        let mut run =
            OnTerminal::start(folder.path(), &[LONG, &[&out, "--set=embedding.iterations=5000"]].concat(), &[]);
        assert!(run.wait_for(stage), "{:?}", run.screen);
        assert_interrupted(run, stage);
    }
}

#[test]
fn an_interrupt_is_clean_while_a_file_is_fetched() {
    let folder = folder();
    // The server sends half of each file and then stops.
    let mut site = Site::default();
    for file in catalog::find("ppi").unwrap().files {
        let path = format!("/ppi/{}", file.path);
        let size = file.size.unwrap() as usize;
        site.files.insert(path.clone(), noise(size, 1));
        site.fall_silent.insert(path, size / 2);
    }
    let server = Server::start(site);
    let arguments = ["datasets", "fetch", "ppi", "--data=data", "--from", &server.address()];
    let mut run = OnTerminal::start(folder.path(), &arguments, &[]);
    assert!(run.wait_for("KiB"), "{:?}", run.screen);
    assert_interrupted(run, "fetch ");
}
