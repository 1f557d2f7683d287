//! Live pages: server-sent events with the traces that changed.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_core::Stream;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use crate::span::TraceId;
use crate::web::OfProject;
use crate::web::live::Notification;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::url::query_pairs;

/// Interval of keep-alives.
const BEAT: Duration = Duration::from_secs(15);
/// Maximum traces named; if more have changed, the page reloads its list.
const NAMED: usize = 50;
/// Maximum events waiting for a slow client.
const WAITING: usize = 16;

/// A stream of events.
struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Sends events for the traces that change; with `?trace=` only for that one.
pub(crate) async fn events(OfProject(web): OfProject, asked: Asked) -> Response {
    let wanted = query_pairs(asked.query())
        .into_iter()
        .find(|(name, _)| name == "trace")
        .map(|(_, id)| id);
    let only = match wanted.map(|id| TraceId::from_hex(&id).ok_or(id)) {
        None => None,
        Some(Ok(id)) => Some(id),
        Some(Err(id)) => return Problem::invalid(format!("trace={id} is not a trace id")).reply(),
    };
    let (sender, receiver) = mpsc::channel(WAITING);
    drop(tokio::spawn(send_changes(web, only, sender)));
    Sse::new(Events(receiver)).into_response()
}

async fn send_changes(web: Arc<Web>, only: Option<TraceId>, sender: mpsc::Sender<Event>) {
    let Some(mut came) = web.live.listen(&web.store, &web.readers) else {
        return;
    };
    // Tells the client at once that the connection works.
    if sender.send(Event::default().event("hello").data("{}")).await.is_err() {
        return;
    }
    loop {
        let event = tokio::select! {
            came = came.recv() => match came {
                Ok(Notification::For(traces)) => {
                    let mut named = traces.iter().filter(|id| only.is_none_or(|only| only == **id)).map(ToString::to_string);
                    let list: Vec<String> = named.by_ref().take(NAMED).collect();
                    match (list.is_empty(), named.next()) {
                        (true, _) => continue,
                        (false, None) => Event::default().event("changed").data(json!({ "traces": list }).to_string()),
                        (false, Some(_)) => Event::default().event("lost").data("{}"),
                    }
                }
                Ok(Notification::Much) | Err(RecvError::Lagged(_)) => Event::default().event("lost").data("{}"),
                Err(RecvError::Closed) => return,
            },
            () = tokio::time::sleep(BEAT) => Event::default().comment("here"),
            () = web.readers.stopping() => return,
            () = sender.closed() => return,
        };
        // A client that reads nothing delays only itself: it is told later that it missed something.
        if sender.send(event).await.is_err() {
            return;
        }
    }
}
