//! Ports: accepts connections, and limits their number.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{Semaphore, watch};

use super::config::{Config, Connections, StartError};
use super::connection::{self, Answered, Crowd, Cut};
use super::tls::Tls;
use crate::receiver::Refusals;

/// Connections that the system queues until they are accepted; it may queue fewer.
const BACKLOG: u32 = 4_096;
/// How many idle connections are closed at once to make room.
const CLOSED_AT_ONCE: usize = 4;
/// How long a new connection waits for room.
const ROOM_TIMEOUT: Duration = Duration::from_millis(200);

/// State shared by all ports.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) limits: Connections,
    pub(super) tls: Option<Arc<Tls>>,
    /// Connections closed by the server, by reason.
    pub(super) closed: Refusals,
    /// Connections accepted, and how many of them are open.
    pub(super) accepted: AtomicU64,
    pub(super) open: AtomicU64,
    /// How long requests in progress may take once shutdown begins.
    pub(super) grace: Duration,
}

/// A port to be opened.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    address: &'a str,
    flag: &'static str,
    resolved: Vec<SocketAddr>,
}

/// Resolves an address, and rejects it if others could reach it without authentication.
pub(super) async fn look_up<'a>(config: &Config, address: &'a str, flag: &'static str) -> Result<Wanted<'a>, StartError> {
    let found = lookup_host(address).await.map_err(|source| failed(address, flag, source))?;
    let resolved: Vec<SocketAddr> = found.collect();
    if !config.security.may_listen_anywhere() && !resolved.iter().all(is_loopback) {
        let address = address.to_owned();
        return Err(StartError::Exposed { address, flag });
    }
    Ok(Wanted { address, flag, resolved })
}

pub(super) fn bind(wanted: Wanted<'_>) -> Result<(TcpListener, SocketAddr), StartError> {
    let mut last = io::ErrorKind::AddrNotAvailable.into();
    for address in wanted.resolved {
        match listen(address) {
            Ok(bound) => return Ok(bound),
            Err(error) => last = error,
        }
    }
    Err(failed(wanted.address, wanted.flag, last))
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn failed(address: &str, flag: &'static str, source: io::Error) -> StartError {
    let address = address.to_owned();
    match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse { address, flag },
        // The address could not be parsed.
        io::ErrorKind::InvalidInput => StartError::Address { address, flag },
        _ => StartError::Bind { address, flag, source },
    }
}

pub(super) fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Accepts connections until stopped, then waits for requests in progress.
pub(super) async fn serve<A, F, B>(listener: TcpListener, ports: Arc<Ports>, answer: A, mut stopped: watch::Receiver<bool>)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Answered,
{
    let http = Arc::new(connection::protocol(&ports.limits));
    let most = ports.limits.at_once.min(Semaphore::MAX_PERMITS);
    let room = Arc::new(Semaphore::new(most));
    let crowd = Arc::new(Crowd::default());
    let until = stopped.clone();
    loop {
        let accepted = tokio::select! {
            _ = stopped.changed() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors or the like: it passes when connections close.
            ports.closed.add("any", "accept");
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let permit = match Arc::clone(&room).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // Close idle connections to make room; active ones continue.
                crowd.ask(CLOSED_AT_ONCE);
                match tokio::time::timeout(ROOM_TIMEOUT, Arc::clone(&room).acquire_owned()).await {
                    Ok(Ok(permit)) => permit,
                    _ => {
                        ports.closed.add("any", "limit");
                        continue;
                    }
                }
            }
        };
        let _ = stream.set_nodelay(true);
        let (http, ports, answer, until) = (Arc::clone(&http), Arc::clone(&ports), answer.clone(), until.clone());
        let crowd = Arc::clone(&crowd);
        ports.accepted.fetch_add(1, Ordering::Relaxed);
        ports.open.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            connect(&http, (&ports, &crowd), stream, answer, until).await;
            ports.open.fetch_sub(1, Ordering::Relaxed);
            drop(permit);
        });
    }
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(ports.grace, room.acquire_many(all)).await;
}

async fn connect<A, F, B>(
    http: &auto::Builder<TokioExecutor>,
    (ports, crowd): (&Ports, &Crowd),
    stream: TcpStream,
    answer: A,
    until: watch::Receiver<bool>,
) where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Answered,
{
    let limits = &ports.limits;
    let cut = match &ports.tls {
        None => connection::serve(http, limits, crowd, stream, answer, until).await,
        Some(tls) => {
            let patience = Duration::from_secs(limits.header_seconds);
            if speaks_http(&stream, patience).await {
                ports.closed.add("any", "tls");
                return refuse_http(stream).await;
            }
            match tokio::time::timeout(patience, tls.acceptor().accept(stream)).await {
                Ok(Ok(stream)) => connection::serve(http, limits, crowd, stream, answer, until).await,
                Ok(Err(error)) => {
                    ports.closed.add("any", "tls");
                    tracing::debug!(%error, "no TLS connection");
                    None
                }
                Err(_) => Some(Cut::SlowHead),
            }
        }
    };
    match cut {
        Some(Cut::SlowHead) => ports.closed.add("any", "slow_head"),
        // Clients often keep connections for later: closing an idle one is counted but not logged.
        Some(Cut::Idle) => ports.closed.count("idle"),
        Some(Cut::SlowReader) => ports.closed.add("API", "slow_reader"),
        Some(Cut::Crowded) => ports.closed.count("crowded"),
        None => {}
    }
}

/// Beginning of a TLS port's answer to plain HTTP.
pub(crate) const SPEAKS_TLS: &str = "this port speaks TLS";

/// Whether the first byte is a letter: HTTP methods begin with one, TLS does not.
async fn speaks_http(stream: &TcpStream, patience: Duration) -> bool {
    let mut first = [0];
    let peeked = tokio::time::timeout(patience, stream.peek(&mut first)).await;
    matches!(peeked, Ok(Ok(1))) && first.iter().all(u8::is_ascii_alphabetic)
}

/// Answers in HTTP/1.1, which HTTP/2 clients show, too, that this port uses TLS.
async fn refuse_http(mut stream: TcpStream) {
    let body = format!("{SPEAKS_TLS}; write https:// in the URL\n");
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let written = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // Read what the client still sends: otherwise the system resets the connection and the answer is lost.
        let mut rest = [0; 1_024];
        for _ in 0..64 {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        std::io::Result::Ok(())
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), written).await;
}
