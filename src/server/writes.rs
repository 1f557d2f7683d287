//! Requests of the API that write: read by the receiver, so that its limits hold, and stored as its requests are.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::task::JoinSet;

use super::projects::ProjectServices;
use crate::receiver::{Document, Rejection, Stored};
use crate::web::{Body, Imported, Web, Write};

/// Traces of one request that are stored at once.
const AT_ONCE: usize = 16;

/// Answers a request that writes to a project.
pub(super) async fn answer(place: &ProjectServices, write: Write, request: Request<Incoming>) -> Response<Body> {
    let document = match place.receiver.document(request).await {
        Ok(document) => document,
        Err(rejection) => return refuse(&rejection),
    };
    match write {
        Write::Blocks { organization, trace } => blocks(place, &organization, &trace, document).await,
        Write::Import { format } => match import(place, format, document).await {
            Ok(response) | Err(response) => response,
        },
    }
}

pub(super) fn refuse(rejection: &Rejection) -> Response<Body> {
    let (status, retry) = rejection.http();
    Web::refuse_write(status, rejection.to_string(), retry)
}

async fn blocks(place: &ProjectServices, organization: &str, trace: &str, document: Document) -> Response<Body> {
    let bytes = document.bytes.len();
    let (response, blocks) = place
        .web
        .write_blocks(organization, trace, document.bytes.clone(), place.receiver.rules())
        .await;
    if blocks > 0 {
        place.receiver.count(blocks, bytes);
    }
    response
}

async fn import(place: &ProjectServices, format: Option<String>, document: Document) -> Result<Response<Body>, Response<Body>> {
    let mut imported = Web::read_documents(format, document.bytes.clone()).await?;
    let total = store(place, &mut imported).await.map_err(|rejection| refuse(&rejection))?;
    Ok(imported.answer(total.stored, total.duplicates))
}

/// Stores every trace. On an error some of them may be stored; sending the documents again is harmless.
async fn store(place: &ProjectServices, imported: &mut Imported) -> Result<Stored, Rejection> {
    let mut total = Stored::default();
    let mut add = |joined: Result<Result<Stored, Rejection>, _>| {
        let stored = joined.map_err(|_: tokio::task::JoinError| Rejection::ShuttingDown)??;
        total.stored += stored.stored;
        total.duplicates += stored.duplicates;
        Ok::<(), Rejection>(())
    };
    let mut tasks = JoinSet::new();
    for message in std::mem::take(&mut imported.messages) {
        if tasks.len() >= AT_ONCE
            && let Some(joined) = tasks.join_next().await
        {
            add(joined)?;
        }
        let receiver = Arc::clone(&place.receiver);
        tasks.spawn(async move { receiver.store(message).await });
    }
    while let Some(joined) = tasks.join_next().await {
        add(joined)?;
    }
    Ok(total)
}
