//! Connections of clients: their number, and how long each may take.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::answer::Answer;
use super::api::{self, Question};
use super::counters::Endpoint;
use super::worded::{Worded, long_head, no_question};
use super::{Limits, State};

/// Bytes of the lines before a body.
pub(super) const HEAD_BYTES: usize = 32 << 10;
/// What a client says first that speaks HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// A connection is closed after this many times the limit of a question; the client may connect
/// again.
const QUESTIONS_A_CONNECTION: u32 = 60;
/// The pause after an error of the system, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts clients until the server is to stop, then waits for their answers.
pub(super) async fn accept(
    state: Arc<State>,
    listener: TcpListener,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(limits.connections));
    let guarded = listener.local_addr()?.ip().is_loopback();
    let mut clients = JoinSet::new();
    let told = stop.clone();
    let drawing = tokio::spawn({
        let state = state.clone();
        async move { state.map().await.is_some() }
    });
    loop {
        let next = async {
            let seat = room.clone().acquire_owned().await.map_err(io::Error::other)?;
            listener.accept().await.map(|(client, _)| (seat, client))
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|&stop| stop) => break,
            Some(_) = clients.join_next(), if !clients.is_empty() => {}
            accepted = next => match accepted {
                Err(_) => sleep(PAUSE).await,
                Ok((seat, client)) => {
                    let (state, told) = (state.clone(), told.clone());
                    clients.spawn(async move {
                        state.counters.come();
                        attend(&state, client, limits, guarded, told).await;
                        state.counters.go();
                        drop(seat);
                    });
                }
            }
        }
    }
    drop(listener);
    drawing.abort();
    // Each of them ends by itself in time.
    while clients.join_next().await.is_some() {}
    Ok(())
}

/// Answers a client until it disconnects, has been connected too long, or the server is to stop.
async fn attend(state: &Arc<State>, client: TcpStream, limits: Limits, guarded: bool, mut stop: watch::Receiver<bool>) {
    // Answers are short, and a client waits for each.
    let _ = client.set_nodelay(true);
    let answer = |request| async move { Ok::<_, Infallible>(respond(state, request, limits, guarded).await) };
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.timeout)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(Worded::new(TokioIo::new(client)), service_fn(answer));
    let ended = tokio::select! {
        // A client gets the error of its request as far as it reads.
        ended = &mut connection => Some(ended),
        _ = stop.wait_for(|&stop| stop) => None,
        () = sleep(limits.timeout * QUESTIONS_A_CONNECTION) => None,
    };
    match ended {
        None => {
            Pin::new(&mut connection).graceful_shutdown();
            let _ = timeout(3 * limits.timeout, connection).await;
        }
        // hyper sends nothing to a client that speaks HTTP/2.
        Some(Err(error)) if error.is_parse() => {
            let parts = connection.into_parts();
            if parts.read_buf.starts_with(PREFACE) {
                let client = parts.io.into_client().into_inner();
                let answer = no_question(StatusCode::BAD_REQUEST).into_last_bytes();
                let _ = timeout(limits.timeout, async {
                    client.writable().await?;
                    client.try_write(&answer)
                })
                .await;
            }
        }
        Some(_) => {}
    }
}

/// Answers a question, and counts it.
async fn respond(
    state: &Arc<State>,
    request: Request<Incoming>,
    limits: Limits,
    guarded: bool,
) -> Response<Full<Bytes>> {
    let start = Instant::now();
    let endpoint = Endpoint::of(request.uri().path());
    let answer = if head_bytes(&request) > HEAD_BYTES {
        Answer::error(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, long_head())
    } else if guarded && !is_local(&request) {
        let why = "this server is for this machine alone: call it by its address or as localhost";
        Answer::error(StatusCode::FORBIDDEN, why)
    } else {
        find(state, request, endpoint, limits).await
    };
    state.counters.add(endpoint, answer.status, start.elapsed());
    answer.into_response()
}

/// Bytes of the lines before a body, without blanks around values. hyper refuses longer ones than
/// it has room for, but its last read may bring as much again.
fn head_bytes<B>(request: &Request<B>) -> usize {
    const BETWEEN: usize = ": \r\n".len();
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + BETWEEN);
    let line = [request.method().as_str().len(), request.uri().to_string().len(), "  HTTP/1.1\r\n".len()];
    line.into_iter().chain(headers).sum::<usize>() + "\r\n".len()
}

/// Whether a client addressed this machine by an address or as localhost. A page from elsewhere
/// whose own name resolves to this machine does neither.
fn is_local(request: &Request<Incoming>) -> bool {
    let Some(host) = request.headers().get(header::HOST) else { return true };
    let Some(authority) = host.to_str().ok().and_then(|host| host.parse::<hyper::http::uri::Authority>().ok()) else {
        return false;
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok()
}

async fn find(state: &Arc<State>, request: Request<Incoming>, endpoint: Endpoint, limits: Limits) -> Answer {
    let (head, body) = request.into_parts();
    let is_post = match (&head.method, endpoint) {
        (&Method::GET | &Method::HEAD, _) => false,
        (&Method::POST, Endpoint::Score) => true,
        _ => return Answer::wrong_method(endpoint),
    };
    let query = head.uri.query().unwrap_or_default().to_owned();
    let too_long = || {
        let why = format!("the body is longer than {} bytes: ask in parts", limits.body);
        Answer::error(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let body = match is_post {
        false => Bytes::new(),
        // A body that is announced as too long is not read.
        true if body.size_hint().lower() > limits.body as u64 => return too_long(),
        true => match timeout(limits.timeout, Limited::new(body, limits.body).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return too_long(),
            Ok(Err(_)) => return Answer::error(StatusCode::BAD_REQUEST, "the body breaks off"),
            Err(_) => return Answer::error(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        },
    };
    let question = Question { endpoint, query, body: is_post.then_some(body) };
    match timeout(limits.timeout, api::answer(state, question)).await {
        Ok(answer) => answer,
        Err(_) => Answer::error(StatusCode::SERVICE_UNAVAILABLE, "too much to do at the moment: ask again later"),
    }
}
