//! Requests of the API that write: read by the receiver, so that its limits hold, and stored as its requests are.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use hyper::Response;
use tokio::task::JoinSet;

use super::projects::ProjectServices;
use crate::receiver::{Rejection, Stored};
use crate::web::{self, Body, Imported, Named, Web};

/// Traces of one request that are stored at once.
const AT_ONCE: usize = 16;

/// The project of a request.
type OfProject = Extension<Arc<ProjectServices>>;

/// Adds blocks to a trace.
pub(super) async fn blocks(
    Extension(project): OfProject,
    Named((organization, trace)): Named<(String, String)>,
    request: Request,
) -> Response<Body> {
    let document = match project.receiver.document(request, web::cost_of_blocks).await {
        Ok(document) => document,
        Err(rejection) => return refuse(&rejection),
    };
    let bytes = document.bytes.len();
    let (response, blocks) = project
        .web
        .write_blocks(&organization, &trace, document.bytes.clone(), project.receiver.rules())
        .await;
    if blocks > 0 {
        project.receiver.count(blocks, bytes);
    }
    response
}

/// Stores documents of a format as spans.
pub(super) async fn import_of_format(Extension(project): OfProject, Named(format): Named<String>, request: Request) -> Response<Body> {
    store_documents(&project, Some(format), request)
        .await
        .unwrap_or_else(|refused| refused)
}

/// The same where each document tells its format.
pub(super) async fn import(Extension(project): OfProject, request: Request) -> Response<Body> {
    store_documents(&project, None, request).await.unwrap_or_else(|refused| refused)
}

pub(super) fn refuse(rejection: &Rejection) -> Response<Body> {
    let (status, retry) = rejection.http();
    Web::refuse_write(status, rejection.to_string(), retry)
}

async fn store_documents(project: &ProjectServices, format: Option<String>, request: Request) -> Result<Response<Body>, Response<Body>> {
    let document = project
        .receiver
        .document(request, web::cost_of_documents)
        .await
        .map_err(|rejection| refuse(&rejection))?;
    let mut imported = project.web.read_documents(format, document.bytes.clone()).await?;
    let total = store(project, &mut imported).await.map_err(|rejection| refuse(&rejection))?;
    Ok(imported.answer(total.stored, total.duplicates))
}

/// Stores every trace. On an error some of them may be stored; sending the documents again is harmless.
async fn store(project: &ProjectServices, imported: &mut Imported) -> Result<Stored, Rejection> {
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
        let receiver = Arc::clone(&project.receiver);
        tasks.spawn(async move { receiver.store(message).await });
    }
    while let Some(joined) = tasks.join_next().await {
        add(joined)?;
    }
    Ok(total)
}
