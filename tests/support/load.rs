//! Many concurrent clients.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// The measurements of the clients.
#[derive(Debug, Default)]
pub struct Load {
    /// The latency of each answer, in ascending order.
    pub times: Vec<Duration>,
    /// The number of failed requests.
    pub errors: Vec<String>,
    /// The time from the first query to the last answer.
    pub elapsed: Duration,
}

impl Load {
    /// A quantile of the latencies.
    pub fn quantile(&self, share: f64) -> Duration {
        let last = self.times.len().saturating_sub(1);
        self.times.get((share * last as f64).ceil() as usize).copied().unwrap_or_default()
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Runs a number of clients, each of which sends a number of queries, one after the other on one
/// connection. `path` returns the query of a client.
pub fn load(
    address: SocketAddr,
    clients: usize,
    questions: usize,
    path: impl Fn(usize, usize) -> String + Sync,
) -> Load {
    let start = Instant::now();
    let ask = |client: usize| -> Load {
        let mut seen = Load::default();
        let mut connection = None;
        for question in 0..questions {
            let path = path(client, question);
            let start = Instant::now();
            match ask(&mut connection, address, &path) {
                Ok(200) => seen.times.push(start.elapsed()),
                Ok(status) => seen.errors.push(format!("{path}: {status}")),
                Err(error) => {
                    connection = None;
                    seen.errors.push(format!("{path}: {error}"));
                }
            }
        }
        seen
    };
    let mut all = Load::default();
    thread::scope(|scope| {
        let ask = &ask;
        let clients: Vec<_> = (0..clients).map(|client| scope.spawn(move || ask(client))).collect();
        for client in clients {
            let seen = client.join().unwrap();
            all.times.extend(seen.times);
            all.errors.extend(seen.errors);
        }
    });
    all.elapsed = start.elapsed();
    all.times.sort_unstable();
    all
}

fn ask(connection: &mut Option<BufReader<TcpStream>>, address: SocketAddr, path: &str) -> io::Result<u16> {
    if connection.is_none() {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        *connection = Some(BufReader::new(stream));
    }
    let connection = connection.as_mut().expect("just connected");
    write!(connection.get_mut(), "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("{line:?} is no status")))?;
    let mut length = 0;
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap_or(0),
            Some(_) => {}
        }
    }
    io::copy(&mut connection.take(length), &mut io::sink())?;
    Ok(status)
}
