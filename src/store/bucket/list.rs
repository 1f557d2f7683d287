//! Lists of traces and sessions, over all databases.

use std::collections::HashSet;
use std::ops::{Bound, RangeInclusive};

use prost::Message as _;
use slatedb::IterationOrder;

use super::entry::{ALL, Entry, Range};
use super::keys::{self, Owner};
use super::prepare::DIGEST;
use super::records::ArrivalRecord;
use super::rows::{AT_ONCE, Row, Rows};
use super::views::{Scan, Source};
use crate::span::TraceId;
use crate::store::lists::{Filter, IdPrefix, Order, SessionCursor, SessionRow, TraceCursor, TraceRow};

type Result<T> = std::result::Result<T, slatedb::Error>;

/// The next entry of a scan, and its sort key.
type Next = (Vec<u8>, Entry);

/// The scans of all databases, merged into one.
struct Merged {
    scans: Vec<(Scan, Option<Next>)>,
    order: IterationOrder,
    /// The sort key of an entry.
    by: fn(&Entry) -> Vec<u8>,
}

impl Merged {
    async fn open(sources: &[Source], prefix: &[u8], range: Range, order: IterationOrder, by: fn(&Entry) -> Vec<u8>) -> Result<Self> {
        let mut scans = Vec::with_capacity(sources.len());
        for source in sources {
            let mut scan = source.scan(prefix, range.clone(), order).await?;
            let first = scan.next().await?.map(|entry| (by(&entry), entry));
            scans.push((scan, first));
        }
        Ok(Self { scans, order, by })
    }

    async fn next(&mut self) -> Result<Option<Entry>> {
        let heads = self.scans.iter_mut().filter(|(_, head)| head.is_some());
        let place = |(_, head): &&mut (Scan, Option<Next>)| head.as_ref().map(|(place, _)| place.clone());
        let first = match self.order {
            IterationOrder::Ascending => heads.min_by_key(place),
            IterationOrder::Descending => heads.max_by_key(place),
        };
        let Some((scan, head)) = first else { return Ok(None) };
        let following = scan.next().await?.map(|entry| ((self.by)(&entry), entry));
        Ok(std::mem::replace(head, following).map(|(_, entry)| entry))
    }
}

fn by_key(entry: &Entry) -> Vec<u8> {
    entry.key.to_vec()
}

fn by_arrival(entry: &Entry) -> Vec<u8> {
    let came = ArrivalRecord::decode(entry.value.clone()).unwrap_or_default();
    came.time.to_be_bytes().to_vec()
}

/// Traces in the order of a filter.
pub(super) async fn list(sources: Vec<Source>, filter: Filter) -> Result<Vec<TraceRow>> {
    let mut rows = Rows::new(sources);
    let mut page = Page::new(&filter);
    if !filter.traces.is_empty() {
        some(&mut rows, filter.traces.clone(), &filter, &mut page).await?;
    } else if let Some(id) = &filter.id {
        let traces = traces_between(rows.sources(), &id.range()).await?;
        some(&mut rows, traces, &filter, &mut page).await?;
    } else if let Some(session) = &filter.session {
        let traces = traces_of(rows.sources(), session).await?;
        some(&mut rows, traces, &filter, &mut page).await?;
    } else if filter.order == Order::LatestArrivalFirst {
        by_arrivals(&mut rows, &mut page).await?;
    } else {
        by_start(&mut rows, &filter, &mut page).await?;
    }
    Ok(page.rows)
}

/// The page of a list being filled.
struct Page<'a> {
    filter: &'a Filter,
    ids: Option<RangeInclusive<[u8; 16]>>,
    rows: Vec<TraceRow>,
    names: usize,
}

impl<'a> Page<'a> {
    fn new(filter: &'a Filter) -> Self {
        Self {
            filter,
            ids: filter.id.as_ref().map(IdPrefix::range),
            rows: Vec::new(),
            names: 0,
        }
    }

    fn is_full(&self) -> bool {
        let by_names = self
            .filter
            .name_bytes
            .is_some_and(|limit| !self.rows.is_empty() && self.names >= limit);
        by_names || self.filter.limit.is_some_and(|limit| self.rows.len() >= limit)
    }

    /// Adds a row if it matches the filter and the page has room.
    fn add(&mut self, found: &Row) {
        let (filter, row) = (self.filter, &found.row);
        let holds = self.ids.as_ref().is_none_or(|ids| ids.contains(row.trace_id.bytes()))
            && filter.service.as_ref().is_none_or(|service| found.has_service(service))
            && filter.session.as_ref().is_none_or(|session| row.session.as_ref() == Some(session))
            && filter.since.is_none_or(|since| row.start >= since)
            && filter.until.is_none_or(|until| row.start < until)
            && filter.after.is_none_or(|after| match filter.order {
                Order::NewestFirst => (row.start, row.trace_id) < (after.start, after.trace_id),
                Order::OldestFirst => (row.start, row.trace_id) > (after.start, after.trace_id),
                Order::LatestArrivalFirst => true,
            });
        if !holds || self.is_full() {
            return;
        }
        self.names += [&row.root, &row.service, &row.session]
            .into_iter()
            .flatten()
            .map(String::len)
            .sum::<usize>();
        self.rows.push(row.clone());
    }

    /// How many traces to read at once; a short page reads few.
    fn step(&self) -> usize {
        self.filter.limit.map_or(AT_ONCE, |limit| limit.saturating_add(1).min(AT_ONCE))
    }
}

/// Traces given by id, in the order of the filter.
async fn some(rows: &mut Rows, traces: Vec<TraceId>, filter: &Filter, page: &mut Page<'_>) -> Result<()> {
    rows.read(traces.iter().copied()).await?;
    let distinct: HashSet<TraceId> = traces.into_iter().collect();
    let mut found: Vec<&Row> = distinct.into_iter().filter_map(|id| rows.get(id)).collect();
    match filter.order {
        Order::NewestFirst => found.sort_by_key(|row| std::cmp::Reverse((row.row.start, row.row.trace_id))),
        Order::OldestFirst => found.sort_by_key(|row| (row.row.start, row.row.trace_id)),
        Order::LatestArrivalFirst => found.sort_by_key(|row| std::cmp::Reverse(row.came)),
    }
    found.into_iter().for_each(|row| page.add(row));
    Ok(())
}

/// All traces that some chunk assigns to a session.
async fn traces_of(sources: &[Source], session: &str) -> Result<Vec<TraceId>> {
    let prefix = Owner::session(session).prefix(keys::BY_SESSION);
    let mut found = HashSet::new();
    for source in sources {
        let mut scan = source.scan(&prefix, ALL, IterationOrder::Ascending).await?;
        while let Some(entry) = scan.next().await? {
            found.extend(keys::placed(&entry.key).map(|place| place.trace_id));
        }
    }
    Ok(found.into_iter().collect())
}

/// All traces whose ids are in a range.
async fn traces_between(sources: &[Source], range: &RangeInclusive<[u8; 16]>) -> Result<Vec<TraceId>> {
    let owner = |id: &[u8]| [b"t", id].concat();
    let behind = [range.end(), &[u8::MAX; DIGEST + 1][..]].concat();
    let mut found = HashSet::new();
    for source in sources {
        let range = (Bound::Included(owner(range.start())), Bound::Included(owner(&behind)));
        let mut scan = source.scan(&[keys::HEADS], range, IterationOrder::Ascending).await?;
        while let Some(entry) = scan.next().await? {
            found.extend(entry.key.get(2..18).and_then(TraceId::from_bytes));
        }
    }
    Ok(found.into_iter().collect())
}

/// The range of the list by start that a filter asks for; `None`: it is empty.
fn range_of(filter: &Filter) -> Option<Range> {
    let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
    if let Some(until) = filter.until {
        lower = Bound::Included(keys::before(until.checked_sub(1)?));
    }
    if let Some(before) = filter.since.and_then(|since| since.checked_sub(1)) {
        upper = Bound::Excluded(keys::before(before));
    }
    let behind = |bound: &Bound<Vec<u8>>, place: &[u8], is_behind: fn(&[u8], &[u8]) -> bool| match bound {
        Bound::Included(at) | Bound::Excluded(at) => is_behind(place, at),
        Bound::Unbounded => true,
    };
    match (filter.order, filter.after) {
        (Order::NewestFirst, Some(after)) => {
            let place = keys::place(after.start, after.trace_id);
            if behind(&lower, &place, |place, at| place > at) {
                lower = Bound::Excluded(place);
            }
        }
        (Order::OldestFirst, Some(after)) => {
            let place = keys::place(after.start, after.trace_id);
            if behind(&upper, &place, |place, at| place < at) {
                upper = Bound::Excluded(place);
            }
        }
        _ => {}
    }
    let is_empty = match (&lower, &upper) {
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
        _ => false,
    };
    (!is_empty).then_some((lower, upper))
}

async fn by_start(rows: &mut Rows, filter: &Filter, page: &mut Page<'_>) -> Result<()> {
    let Some(range) = range_of(filter) else { return Ok(()) };
    let order = match filter.order {
        Order::OldestFirst => IterationOrder::Descending,
        _ => IterationOrder::Ascending,
    };
    let mut places = Places::open(rows.sources(), range, order).await?;
    while !page.is_full() {
        let some = places.some(page.step()).await?;
        if some.is_empty() {
            return Ok(());
        }
        rows.read(some.iter().map(|place| place.trace_id)).await?;
        for place in some {
            // List a trace only at its earliest start, not at the starts of its other chunks.
            if let Some(row) = rows.get(place.trace_id).filter(|row| row.row.start == place.start) {
                page.add(row);
            }
        }
    }
    Ok(())
}

/// Places in the list by start, without repetitions.
struct Places {
    merged: Merged,
    last: Option<TraceCursor>,
}

impl Places {
    async fn open(sources: &[Source], range: Range, order: IterationOrder) -> Result<Self> {
        let merged = Merged::open(sources, &[keys::BY_START], range, order, by_key).await?;
        Ok(Self { merged, last: None })
    }

    async fn some(&mut self, most: usize) -> Result<Vec<TraceCursor>> {
        let mut some = Vec::new();
        while some.len() < most
            && let Some(entry) = self.merged.next().await?
        {
            let Some(place) = keys::placed(&entry.key) else { continue };
            if self.last.replace(place) != Some(place) {
                some.push(place);
            }
        }
        Ok(some)
    }
}

/// Traces by the arrival of their first chunks, latest first.
async fn by_arrivals(rows: &mut Rows, page: &mut Page<'_>) -> Result<()> {
    let mut merged = Merged::open(rows.sources(), &[keys::ARRIVALS], ALL, IterationOrder::Descending, by_arrival).await?;
    let mut listed = HashSet::new();
    while !page.is_full() {
        let mut some = Vec::new();
        while some.len() < page.step()
            && let Some(entry) = merged.next().await?
        {
            let came = ArrivalRecord::decode(entry.value).unwrap_or_default();
            some.extend(Owner::from_bytes(&came.owner).trace_id().map(|trace_id| (trace_id, came.time)));
        }
        if some.is_empty() {
            return Ok(());
        }
        rows.read(some.iter().map(|(trace_id, _)| *trace_id)).await?;
        for (trace_id, time) in some {
            if let Some(row) = rows.get(trace_id).filter(|row| row.came.0 == time)
                && listed.insert(trace_id)
            {
                page.add(row);
            }
        }
    }
    Ok(())
}

/// Sessions, the one with the latest trace first.
pub(super) async fn sessions(sources: Vec<Source>, limit: usize, after: Option<SessionCursor>) -> Result<Vec<SessionRow>> {
    let mut rows = Rows::new(sources);
    let from = after
        .as_ref()
        .map_or(Bound::Unbounded, |after| Bound::Included(keys::before(after.last_start)));
    let mut places = Places::open(rows.sources(), (from, Bound::Unbounded), IterationOrder::Ascending).await?;
    let (mut found, mut alike): (Vec<SessionRow>, Vec<SessionRow>) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    let is_behind = |row: &SessionRow| {
        let before = |after: &SessionCursor| row.last_start == after.last_start && row.session <= after.session;
        !after.as_ref().is_some_and(before)
    };
    // Sessions whose latest traces began at the same time are in order of name.
    let settle = |alike: &mut Vec<SessionRow>, found: &mut Vec<SessionRow>| {
        alike.sort_by(|a, b| a.session.cmp(&b.session));
        found.extend(alike.drain(..).filter(is_behind));
    };
    loop {
        let some = places.some(limit.saturating_add(1).min(AT_ONCE)).await?;
        if some.is_empty() {
            settle(&mut alike, &mut found);
            break;
        }
        rows.read(some.iter().map(|place| place.trace_id)).await?;
        for place in some {
            if alike.first().is_some_and(|row| row.last_start != place.start) {
                settle(&mut alike, &mut found);
            }
            let row = rows.get(place.trace_id).filter(|row| row.row.start == place.start);
            let Some(session) = row.and_then(|row| row.row.session.clone()) else {
                continue;
            };
            if found.len() >= limit || !seen.insert(session.clone()) {
                continue;
            }
            // Sessions with traces later than this place were on an earlier page.
            let of_session = session_row(&mut rows, session).await?;
            alike.extend(of_session.filter(|row| row.last_start == place.start));
        }
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

async fn session_row(rows: &mut Rows, session: String) -> Result<Option<SessionRow>> {
    let traces = traces_of(rows.sources(), &session).await?;
    rows.read(traces.iter().copied()).await?;
    let of_session = traces.into_iter().filter_map(|id| rows.get(id).map(|row| &row.row));
    let mut of_session = of_session.filter(|row| row.session.as_ref() == Some(&session));
    let Some(first) = of_session.next() else { return Ok(None) };
    let mut sum = SessionRow {
        session: session.clone(),
        traces: 1,
        start: first.start,
        last_start: first.start,
        end: first.end,
    };
    for row in of_session {
        sum.traces += 1;
        sum.start = sum.start.min(row.start);
        sum.last_start = sum.last_start.max(row.start);
        sum.end = sum.end.max(row.end);
    }
    Ok(Some(sum))
}
