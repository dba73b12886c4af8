//! One question to a server, and its answer.

use std::time::Duration;

use ureq::http::{HeaderMap, Response, StatusCode, header};
use ureq::{Agent, Body};

use super::FetchError;
use super::part::{Facts, Held};

/// More redirects than this lead nowhere.
const REDIRECTS: u32 = 5;

/// Asks servers, and waits for each of their moves at most for `patience`. The whole download may
/// take any time.
pub(super) fn agent(patience: Duration) -> Agent {
    Agent::config_builder()
        .timeout_resolve(Some(patience))
        .timeout_connect(Some(patience))
        .timeout_send_request(Some(patience))
        .timeout_recv_response(Some(patience))
        .timeout_per_read(Some(patience))
        .max_redirects(REDIRECTS)
        .http_status_as_error(false)
        .user_agent(concat!("isvd-dist/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// The response of a server.
pub(super) struct Answer {
    /// The first byte of the file that it sends: 0, or where an earlier download stopped.
    pub start: u64,
    /// Its headers about the file.
    pub facts: Facts,
    /// The bytes.
    pub body: Body,
}

/// Asks for the file at `address`: for the rest of it if a part is `held`, and for all of it if the
/// rest does not fit.
pub(super) fn ask(agent: &Agent, address: &str, held: Option<&Held>) -> Result<Answer, FetchError> {
    let response = send(agent, address, held)?;
    let headers = response.headers();
    match (response.status(), held) {
        (StatusCode::OK, _) => {
            let facts = Facts { total: number(headers, header::CONTENT_LENGTH), ..facts(headers) };
            Ok(Answer { start: 0, facts, body: response.into_body() })
        }
        (StatusCode::PARTIAL_CONTENT, Some(held)) => {
            let range = text(headers, header::CONTENT_RANGE).and_then(|range| content_range(&range));
            let facts = Facts { total: range.and_then(|(_, total)| total), ..facts(headers) };
            match range {
                Some((start, _)) if start == held.bytes && facts.continues(&held.facts) => {
                    Ok(Answer { start, facts, body: response.into_body() })
                }
                _ => ask(agent, address, None),
            }
        }
        (StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => ask(agent, address, None),
        (status, _) => Err(FetchError::Status { address: address.to_owned(), status: status.as_u16() }),
    }
}

fn send(agent: &Agent, address: &str, held: Option<&Held>) -> Result<Response<Body>, FetchError> {
    // Ranges count transferred bytes, so the transfer must not be compressed.
    let mut request = agent.get(address).header(header::ACCEPT_ENCODING, "identity");
    if let Some(held) = held {
        request = request.header(header::RANGE, format!("bytes={}-", held.bytes));
        if let Some(validator) = held.facts.validator() {
            request = request.header(header::IF_RANGE, validator);
        }
    }
    request.call().map_err(|source| FetchError::Unreachable { address: address.to_owned(), source: source.into() })
}

fn facts(headers: &HeaderMap) -> Facts {
    Facts { total: None, etag: text(headers, header::ETAG), last_modified: text(headers, header::LAST_MODIFIED) }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn number(headers: &HeaderMap, name: header::HeaderName) -> Option<u64> {
    text(headers, name)?.trim().parse().ok()
}

/// The first byte and the size of the whole, from `bytes 100-199/200` or `bytes 100-199/*`.
fn content_range(range: &str) -> Option<(u64, Option<u64>)> {
    let (span, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = span.split_once('-')?;
    Some((start.trim().parse().ok()?, total.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::content_range;

    #[test]
    fn ranges() {
        assert_eq!(content_range("bytes 100-199/200"), Some((100, Some(200))));
        assert_eq!(content_range("bytes 0-9/*"), Some((0, None)));
        for range in ["", "bytes */200", "bytes 5", "lines 1-2/3", "bytes -1-2/3"] {
            assert_eq!(content_range(range), None, "{range}");
        }
    }
}
