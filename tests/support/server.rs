//! A small HTTP server on this machine, with configurable faults, which ends with the test.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The files of the server, and its faults.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// The files by path, such as `/ppi/train.txt.npy`.
    pub files: HashMap<String, Vec<u8>>,
    /// Whether it supports range requests.
    pub ranges: bool,
    /// The ETag of all files.
    pub etag: Option<&'static str>,
    /// It closes the connection after this number of bytes of a file.
    pub hang_up: HashMap<String, usize>,
    /// It stops sending after this number of bytes of a file.
    pub fall_silent: HashMap<String, usize>,
    /// Redirections of paths.
    pub redirects: HashMap<String, String>,
}

pub struct Server {
    port: u16,
    site: Arc<Mutex<Site>>,
    log: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(site: Site) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut server = Self {
            port: listener.local_addr().unwrap().port(),
            site: Arc::new(Mutex::new(site)),
            log: Arc::default(),
            stop: Arc::default(),
            thread: None,
        };
        let (site, log, stop) = (server.site.clone(), server.log.clone(), server.stop.clone());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let site = site.lock().unwrap().clone();
                // A client that disconnects is not an error here: the test checks the messages of
                // the client.
                let _ = stream.and_then(|stream| answer(stream, &site, &log, &stop));
            }
        });
        server.thread = Some(thread);
        server
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes its files and faults.
    pub fn site(&self) -> MutexGuard<'_, Site> {
        self.site.lock().unwrap()
    }

    /// The requests since the last call: path, range if any, and status.
    pub fn log(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, site: &Site, log: &Mutex<Vec<String>>, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    for line in lines {
        let line = line?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut reply = |status: &str, headers: &str, body: &[u8], range: &str| {
        log.lock().unwrap().push(format!("{path}{range} {}", &status[..3]));
        let etag = site.etag.map_or_else(String::new, |etag| format!("ETag: {etag}\r\n"));
        let length = body.len();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{etag}{headers}Connection: close\r\n\r\n")?;
        let end = site.hang_up.get(&path).or(site.fall_silent.get(&path)).map_or(length, |&end| end.min(length));
        stream.write_all(&body[..end])?;
        stream.flush()?;
        for _ in 0..100 {
            if !site.fall_silent.contains_key(&path) || stop.load(Ordering::SeqCst) {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    };
    if let Some(place) = site.redirects.get(&path) {
        return reply("302 Found", &format!("Location: {place}\r\n"), b"", "");
    }
    let Some(file) = site.files.get(&path) else {
        return reply("404 Not Found", "", b"no such file", "");
    };
    let same = headers.get("if-range").is_none_or(|tag| Some(tag.as_str()) == site.etag);
    match headers.get("range").filter(|_| site.ranges && same) {
        None => reply("200 OK", "", file, ""),
        Some(range) => {
            let start = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
            let total = file.len();
            if start >= total {
                return reply("416 Range Not Satisfiable", &format!("Content-Range: bytes */{total}\r\n"), b"", "");
            }
            let header = format!("Content-Range: bytes {start}-{}/{total}\r\n", total - 1);
            reply("206 Partial Content", &header, &file[start..], &format!(" from {start}"))
        }
    }
}

/// Pseudo-random bytes.
pub fn noise(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32).map(|i| ((i ^ seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
