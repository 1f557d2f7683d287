//! Lists page by page, and pages of a server.

use serde::de::DeserializeOwned;

use super::server::Server;
use crate::cli::failure::Failure;
use crate::span::TraceId;
use crate::store::{Filter, Order};
use crate::web::listing::Listed;
use crate::web::lists::TracePage;
use crate::web::percent_encoded;

/// Traces or sessions requested at a time.
pub(super) const PAGE: usize = 500;

/// The ids of listed traces.
pub(in crate::cli) fn ids_of(listed: &[Listed]) -> Vec<TraceId> {
    listed.iter().filter_map(|listed| TraceId::from_hex(&listed.trace_id)).collect()
}

/// Reads a list page by page, up to a limit. `page` gets the number of items for a page and the place after which it begins, and returns
/// its items and the place of the next page.
pub(super) fn pages<T>(
    limit: Option<usize>,
    mut page: impl FnMut(usize, Option<&str>) -> Result<(Vec<T>, Option<String>), Failure>,
) -> Result<Vec<T>, Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    while limit.is_none_or(|limit| all.len() < limit) {
        let missing = limit.map_or(PAGE, |limit| (limit - all.len()).min(PAGE));
        let (items, next) = page(missing, after.as_deref())?;
        all.extend(items);
        match next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => break,
        }
    }
    all.truncate(limit.unwrap_or(usize::MAX));
    Ok(all)
}

impl Server {
    /// Reads a list. Parameters without a value are left out.
    pub(super) fn list<T: DeserializeOwned>(&self, path: &str, parameters: &[(&str, Option<String>)]) -> Result<T, Failure> {
        let set = parameters.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let set: Vec<String> = set.map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect();
        let body = self.get_ok(&format!("{path}?{}", set.join("&")))?;
        self.read(&body.unwrap_or_default())
    }
}

pub(super) fn page_of_server(
    server: &Server,
    filter: &Filter,
    summaries: bool,
    limit: usize,
    after: Option<&str>,
) -> Result<TracePage, Failure> {
    let order = match filter.order {
        Order::NewestFirst => None,
        Order::OldestFirst => Some("oldest"),
        Order::LatestArrivalFirst => Some("arrival"),
    };
    server.list(
        "/api/v1/traces",
        &[
            ("limit", Some(limit.to_string())),
            ("after", after.map(str::to_owned)),
            ("service", filter.service.clone()),
            ("session", filter.session.clone()),
            ("id", filter.id.as_ref().map(ToString::to_string)),
            ("since", filter.since.map(|nanos| nanos.to_string())),
            ("until", filter.until.map(|nanos| nanos.to_string())),
            ("summary", (!summaries).then(|| "no".to_owned())),
            ("order", order.map(str::to_owned)),
        ],
    )
}
