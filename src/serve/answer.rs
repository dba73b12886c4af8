//! Answers to clients.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

use super::counters::Endpoint;
use crate::report::saved::UnknownNode;

const JSON: &str = "application/json";
/// The content policy of the page: it runs its own scripts and asks this server.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A status with its content.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub status: StatusCode,
    content_type: &'static str,
    body: Bytes,
}

impl Answer {
    /// An answer as JSON.
    pub fn json(value: &Value) -> Self {
        Self::ready(Bytes::from(value.to_string()))
    }

    /// An answer that is JSON already.
    pub fn ready(body: Bytes) -> Self {
        Self { status: StatusCode::OK, content_type: JSON, body }
    }

    /// The page.
    pub fn page(body: &'static str) -> Self {
        Self {
            status: StatusCode::OK,
            content_type: "text/html; charset=utf-8",
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    /// Figures for Prometheus.
    pub fn metrics(body: String) -> Self {
        Self { status: StatusCode::OK, content_type: "text/plain; version=0.0.4; charset=utf-8", body: body.into() }
    }

    /// An error with its reason.
    pub fn error(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, ..Self::json(&json!({ "error": why.into() })) }
    }

    /// The question makes no sense.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::error(StatusCode::BAD_REQUEST, why)
    }

    /// A node is not there.
    pub fn unknown(node: &UnknownNode) -> Self {
        let value = json!({ "error": node.to_string(), "node": node.id, "nearest": node.nearest });
        Self { status: StatusCode::NOT_FOUND, ..Self::json(&value) }
    }

    /// The endpoint takes another method.
    pub fn wrong_method(endpoint: Endpoint) -> Self {
        Self::error(StatusCode::METHOD_NOT_ALLOWED, format!("ask by {}", methods(endpoint)))
    }

    /// The bytes of an answer after which the connection is closed.
    pub fn into_last_bytes(self) -> Vec<u8> {
        let body = self.body.clone();
        let (head, _) = self.into_response().into_parts();
        let mut bytes =
            format!("HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: {}\r\n", head.status, body.len()).into_bytes();
        for (name, value) in &head.headers {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&body);
        bytes
    }

    pub fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

fn methods(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Score => "GET, or POST with many pairs",
        _ => "GET",
    }
}
