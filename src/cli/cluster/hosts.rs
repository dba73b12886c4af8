//! The file of hosts: one address a line.

use std::path::Path;

use super::{ClusterError, Hosts};
use crate::dataset::format::read_short_text;

/// The most bytes of a file of hosts: some ten thousand addresses with comments.
const LONGEST: usize = 1 << 20;

/// Reads the file of hosts, of which this process is one.
pub(super) fn read(path: &Path, process: usize) -> Result<Hosts, ClusterError> {
    let unreadable = |source| ClusterError::Unreadable { path: path.to_owned(), source };
    let addresses = parse(&read_short_text(path, LONGEST).map_err(unreadable)?, path)?;
    match addresses.len() {
        count if process >= count => Err(ClusterError::NoSuchProcess { process, count, path: path.to_owned() }),
        _ => Ok(Hosts { addresses, process }),
    }
}

/// The addresses of a file; what follows a # is left out.
fn parse(text: &str, path: &Path) -> Result<Vec<String>, ClusterError> {
    let mut addresses: Vec<String> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let found = line.split('#').next().unwrap_or_default().trim();
        if found.is_empty() {
            continue;
        }
        let problem = match found.rsplit_once(':') {
            _ if addresses.iter().any(|address| address == found) => "is there twice: each process has its own port",
            Some((host, port)) if is_host(host) && port.parse::<u16>().is_ok_and(|port| port > 0) => {
                addresses.push(found.to_owned());
                continue;
            }
            _ => "is no address: write host:port, such as 10.0.0.7:7461 or [fd00::7]:7461",
        };
        let (path, found) = (path.to_owned(), found.to_owned());
        return Err(ClusterError::Host { path, line: number + 1, found, problem: problem.to_owned() });
    }
    Ok(addresses)
}

fn is_host(host: &str) -> bool {
    let is_plain = !host.contains([':', '[', ']']);
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    !host.is_empty() && !host.contains(char::is_whitespace) && (is_plain || is_bracketed)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn comments_and_empty_lines_are_left_out() {
        let text = "# two of them\n\na:1 # the first\n  [fd00::7]:2\n";
        assert_eq!(parse(text, Path::new("hosts")).unwrap(), ["a:1", "[fd00::7]:2"]);
    }

    /// Catches a file that is read to an end that it does not have.
    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_refused() {
        let error = read(Path::new("/dev/zero"), 0).unwrap_err();
        assert!(
            matches!(&error, ClusterError::Unreadable { source, .. } if source.kind() == ErrorKind::FileTooLarge),
            "{error:?}"
        );
    }

    #[test]
    fn what_is_no_address_is_named_with_its_line() {
        for text in ["a", "a:", ":1", "a:0", "a:70000", "a b:1", "fd00::7:1", "a:1\na:1"] {
            let error = parse(&format!("# first\n{text}"), Path::new("hosts")).unwrap_err().to_string();
            let line = 1 + text.lines().count();
            assert!(error.starts_with(&format!("hosts, line {line}: ")), "{error}");
        }
    }
}
