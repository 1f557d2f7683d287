//! Lists of traces and sessions, page by page from a server.

use super::server::Server;
use crate::cli::failure::Failure;
use crate::store::{Filter, Order};
use crate::web::listing::Listed;
use crate::web::sessions::SessionListed;

/// Traces or sessions requested at a time.
pub(super) const PAGE: usize = 500;

#[derive(serde::Deserialize)]
struct SessionsPage {
    sessions: Vec<SessionListed>,
    next: Option<String>,
}

pub(super) fn sessions_of_server(server: &Server, limit: Option<usize>, summaries: bool) -> Result<Vec<SessionListed>, Failure> {
    let (mut sessions, mut after) = (Vec::new(), None::<String>);
    loop {
        let missing = limit.map_or(PAGE, |limit| limit.saturating_sub(sessions.len()).min(PAGE));
        if missing == 0 {
            return Ok(sessions);
        }
        let mut path = format!("/api/v1/sessions?limit={missing}");
        if !summaries {
            path.push_str("&summary=no");
        }
        if let Some(after) = &after {
            path.push_str(&format!("&after={}", crate::web::percent_encoded(after)));
        }
        let body = server.get_ok(&path)?.unwrap_or_default();
        let page: SessionsPage = serde_json::from_slice(&body).map_err(|error| server.unreadable(error.to_string()))?;
        sessions.extend(page.sessions);
        match page.next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok(sessions),
        }
    }
}

#[derive(serde::Deserialize)]
pub(super) struct Page {
    pub(super) traces: Vec<Listed>,
    /// Cursor of the next page.
    pub(super) next: Option<String>,
    /// Number of acknowledged records that are lost.
    #[serde(default)]
    pub(super) lost_records: u64,
    /// Number of the requested session's traces that were deleted on request.
    #[serde(default)]
    pub(super) deleted_traces: u64,
}

pub(super) fn page_of_server(
    server: &Server,
    filter: &Filter,
    summaries: bool,
    limit: usize,
    after: Option<&str>,
) -> Result<Page, Failure> {
    let encoded = crate::web::percent_encoded;
    let mut query = vec![format!("limit={limit}")];
    query.extend(after.map(|after| format!("after={}", encoded(after))));
    query.extend(filter.service.as_deref().map(|service| format!("service={}", encoded(service))));
    query.extend(filter.session.as_deref().map(|session| format!("session={}", encoded(session))));
    query.extend(filter.id.as_ref().map(|digits| format!("id={digits}")));
    query.extend(filter.since.map(|nanos| format!("since={nanos}")));
    query.extend(filter.until.map(|nanos| format!("until={nanos}")));
    query.extend((!summaries).then(|| "summary=no".to_owned()));
    query.extend(match filter.order {
        Order::NewestFirst => None,
        Order::OldestFirst => Some("order=oldest".to_owned()),
        Order::LatestArrivalFirst => Some("order=arrival".to_owned()),
    });
    let body = server.get_ok(&format!("/api/v1/traces?{}", query.join("&")))?.unwrap_or_default();
    serde_json::from_slice(&body).map_err(|error| server.unreadable(error.to_string()))
}
