//! Write requests of the API: read by the receiver, so that its limits apply, and stored the same way.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::Request;
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use hyper::Response;
use tokio::task::JoinSet;

use super::cookie::is_same_origin;
use super::projects::ProjectServices;
use crate::forward::Forwarder;
use crate::forward::order::Order;
use crate::receiver::{Rejection, Stored};
use crate::store::Unwanted;
use crate::web::reply::Problem;
use crate::web::{self, Body, Deletion, Imported, Judged, Named, NewEvaluation, Reading, Web, percent_encoded};

/// Traces of one request stored concurrently.
const MAX_CONCURRENT: usize = 16;

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

/// Stores documents of a given format as spans.
pub(super) async fn import_of_format(Extension(project): OfProject, Named(format): Named<String>, request: Request) -> Response<Body> {
    store_documents(&project, Some(format), request)
        .await
        .unwrap_or_else(|refused| refused)
}

/// Stores documents as spans, recognising the format of each.
pub(super) async fn import(Extension(project): OfProject, request: Request) -> Response<Body> {
    store_documents(&project, None, request).await.unwrap_or_else(|refused| refused)
}

/// The name of a request's token, if there are tokens.
#[derive(Debug, Clone)]
pub(super) struct TokenName(pub(super) Option<String>);

/// Stores a person's judgement of a run or a step.
pub(super) async fn evaluation(
    Extension(project): OfProject,
    Extension(TokenName(name)): Extension<TokenName>,
    Named(trace): Named<String>,
    asked: Reading,
    request: Request,
) -> Response<Body> {
    let stored = async {
        let cost = |body: &[u8]| body.len().saturating_mul(4);
        let document = project
            .receiver
            .document(request, cost)
            .await
            .map_err(|rejection| refuse(&rejection))?;
        let said = NewEvaluation::from_json(&document.bytes).map_err(|problem| problem.reply())?;
        store_evaluation(&project, asked, trace, said, name).await
    };
    match stored.await {
        Ok(judged) => judged.created(),
        Err(refused) => refused,
    }
}

/// The same from an HTML form; redirects to the step.
pub(super) async fn evaluation_of_form(
    Extension(project): OfProject,
    Extension(TokenName(name)): Extension<TokenName>,
    Named(trace): Named<String>,
    asked: Reading,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let stored = async {
        let said = judgement_of_form(&uri, &headers, &body).map_err(|refused| *refused)?;
        store_evaluation(&project, asked, trace.clone(), said, name).await
    };
    let judged = match stored.await {
        Ok(judged) => judged,
        Err(refused) => return refused,
    };
    let step = judged.evaluates().map(|span| format!("?span={span}")).unwrap_or_default();
    see_other(&format!("/runs/{}{step}", percent_encoded(&trace)))
}

/// Judges several runs alike, from an HTML form: `t` names a run, `next` the page to redirect to.
pub(super) async fn evaluations_of_form(
    Extension(project): OfProject,
    Extension(TokenName(name)): Extension<TokenName>,
    Reading(asked): Reading,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let said = match judgement_of_form(&uri, &headers, &body) {
        Ok(said) => said,
        Err(refused) => return *refused,
    };
    let (mut traces, mut next) = (Vec::new(), "/".to_owned());
    for (field, value) in form_urlencoded::parse(&body) {
        match &*field {
            "t" => traces.push(value.into_owned()),
            "next" if is_own_path(&value) => next = value.into_owned(),
            _ => {}
        }
    }
    if traces.is_empty() {
        return Problem::invalid("no run is chosen").reply();
    }
    for trace in traces {
        let asked = Reading(asked.clone());
        if let Err(refused) = store_evaluation(&project, asked, trace, said.clone(), name.clone()).await {
            return refused;
        }
    }
    see_other(&next)
}

/// Saves or deletes a view of the list, from an HTML form; redirects to it.
pub(super) async fn view_of_form(Extension(project): OfProject, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    if let Some(refused) = refused_form(&uri, &headers, &body) {
        return refused;
    }
    let (mut name, mut address, mut is_deleted) = (String::new(), String::new(), false);
    for (field, value) in form_urlencoded::parse(&body) {
        match &*field {
            "name" => name = value.into_owned(),
            "address" => address = value.into_owned(),
            "delete" => is_deleted = true,
            _ => {}
        }
    }
    let changed = tokio::task::spawn_blocking(move || match is_deleted {
        true => project.web.views.delete(&name).map(|()| "/".to_owned()),
        false => project.web.views.save(&name, &address).map(|()| address),
    });
    match changed.await {
        Ok(Ok(next)) => see_other(&next),
        Ok(Err(problem)) => problem.reply(),
        Err(_) => Web::refuse_write(503, "the server ends".to_owned(), None),
    }
}

/// The judgement in an HTML form of this server, or the refusal of a form from elsewhere.
fn judgement_of_form(uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<NewEvaluation, Box<Response<Body>>> {
    if let Some(refused) = refused_form(uri, headers, body) {
        return Err(Box::new(refused));
    }
    NewEvaluation::from_form(form_urlencoded::parse(body)).map_err(|problem| Box::new(problem.reply()))
}

/// The refusal of a form that comes from elsewhere or is too long.
fn refused_form(uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Option<Response<Body>> {
    if !is_same_origin(uri, headers) {
        return Some(Web::foreign_host("this form was not sent by a page of this server".to_owned()));
    }
    (body.len() > web::EVALUATION_BYTES).then(|| {
        let problem = format!("a form has at most {} bytes", web::EVALUATION_BYTES);
        Web::refuse_write(413, problem, None)
    })
}

/// Whether this is a path on this server, not an address on another host.
fn is_own_path(path: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_graphic() && letter != '\\';
    path.starts_with('/') && !path.starts_with("//") && path.chars().all(is_plain)
}

/// Deletes a trace.
pub(super) async fn delete_trace(
    Extension(project): OfProject,
    Extension(TokenName(name)): Extension<TokenName>,
    Named(id): Named<String>,
    uri: Uri,
) -> Response<Body> {
    let deletion = Deletion::of_trace(&id, uri.query().unwrap_or_default());
    delete(&project, deletion, name).await.unwrap_or_else(|problem| problem.reply())
}

/// Deletes a session.
pub(super) async fn delete_session(
    Extension(project): OfProject,
    Extension(TokenName(name)): Extension<TokenName>,
    Named(session): Named<String>,
    uri: Uri,
) -> Response<Body> {
    let deletion = Deletion::of_session(&session, uri.query().unwrap_or_default());
    delete(&project, deletion, name).await.unwrap_or_else(|problem| problem.reply())
}

/// Logs who deleted how much and when, but not what it was.
async fn delete(project: &ProjectServices, deletion: Result<Deletion, Problem>, name: Option<String>) -> Result<Response<Body>, Problem> {
    let deletion = deletion?;
    let Deletion { what, dry_run } = &deletion;
    let deleted = Arc::clone(&project.web).delete(what.clone(), *dry_run, project.letters()).await?;
    if !dry_run {
        let of = match what {
            Unwanted::Trace(_) => "trace",
            Unwanted::Session(_) => "session",
        };
        tracing::info!(
            token = name.as_deref().unwrap_or("none"),
            project = %project.name,
            of,
            id = what.pseudonym(),
            traces = deleted.traces.len(),
            spans = deleted.spans,
            log_records = deleted.log_records,
            bytes = deleted.bytes,
            "deleted on request"
        );
    }
    Ok(deletion.answer(&deleted))
}

/// Leaves an order for a destination, from a form on the operations page.
pub(super) async fn order(
    Extension(project): OfProject,
    Extension(order): Extension<Order>,
    Extension(forwarder): Extension<Arc<Forwarder>>,
    Named(name): Named<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    if !is_same_origin(&uri, &headers) {
        return Web::foreign_host("this form was not sent by a page of this server".to_owned());
    }
    let given = tokio::task::spawn_blocking(move || forwarder.give(&project.name, &name, order));
    match given.await {
        Ok(Ok(true)) => see_other("/operations"),
        Ok(Ok(false)) => Web::refuse_write(404, "there is no such destination".to_owned(), None),
        Ok(Err(error)) => Web::refuse_write(500, error.to_string(), None),
        Err(_) => Web::refuse_write(503, "the server ends".to_owned(), None),
    }
}

fn see_other(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    if let Ok(value) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}

async fn store_evaluation(
    project: &ProjectServices,
    asked: Reading,
    trace: String,
    said: NewEvaluation,
    name: Option<String>,
) -> Result<Judged, Response<Body>> {
    let mut judged = Arc::clone(&project.web).evaluated(asked, trace, said, name).await?;
    let message = std::mem::take(&mut judged.message);
    project.receiver.store(message).await.map_err(|rejection| refuse(&rejection))?;
    Ok(judged)
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
    Ok(imported.answer(total.stored, total.duplicates, total.deleted))
}

/// Stores every trace. On an error some may have been stored; sending the documents again is harmless.
async fn store(project: &ProjectServices, imported: &mut Imported) -> Result<Stored, Rejection> {
    let mut total = Stored::default();
    let mut add = |joined: Result<Result<Stored, Rejection>, _>| {
        let stored = joined.map_err(|_: tokio::task::JoinError| Rejection::ShuttingDown)??;
        total.stored += stored.stored;
        total.duplicates += stored.duplicates;
        total.deleted += stored.deleted;
        Ok::<(), Rejection>(())
    };
    let mut tasks = JoinSet::new();
    for message in std::mem::take(&mut imported.messages) {
        if tasks.len() >= MAX_CONCURRENT
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
