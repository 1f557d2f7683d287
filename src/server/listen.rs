//! Ports and connections: HTTP/1.1 and HTTP/2 on each.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::StartError;
use crate::receiver::Body;

/// Connections to one port at once; further ones wait to be accepted.
const CONNECTIONS: usize = 1_024;

pub(super) async fn bind(address: &str, flag: &'static str) -> Result<(TcpListener, SocketAddr), StartError> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound.await.map_err(|source: io::Error| {
        let address = address.to_owned();
        match source.kind() {
            io::ErrorKind::AddrInUse => StartError::PortInUse { address, flag },
            _ => StartError::Bind { address, flag, source },
        }
    })
}

/// Accepts connections until told to stop, then lets those in work end.
pub(super) async fn serve<A, F>(listener: TcpListener, answer: A, mut stopped: watch::Receiver<bool>, grace: Duration)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let http = Arc::new(protocol());
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            _ = stopped.changed() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let Some((stream, place)) = accepted else {
            // Out of file descriptors or the like: it passes when connections close.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        let service = service_fn(move |request| {
            let answered = answer(request);
            async move { Ok::<_, Infallible>(answered.await) }
        });
        let connection = http.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that breaks its connection is no news.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(grace, graceful.shutdown()).await;
}

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    Some((stream, place))
}

fn protocol() -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(60));
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20))
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .max_frame_size(1 << 18)
        .max_concurrent_streams(256);
    http
}
