//! Reads the runs of a list one by one, for figures over all of them.

use std::time::Instant;

use super::query::{PAGE, Query};
use crate::run::Run;
use crate::span::TraceId;
use crate::web::answer::Answer;
use crate::web::lists;
use crate::web::reply::Problem;
use crate::web::service::Web;
use crate::web::single;

/// How far the runs were read.
#[derive(Debug, Default)]
pub(super) struct ReadProgress {
    /// Number of runs read.
    pub(super) runs: usize,
    /// The start of the first run not read, if time or number ran out.
    pub(super) to: Option<u64>,
}

/// Reads at most `most` runs until a time, but at least one. `each` takes a run and returns the bytes that the caller keeps in total.
pub(super) fn each_run(
    mut query: Query,
    (until, most): (Instant, usize),
    web: &Web,
    answer: &mut Answer,
    each: &mut dyn FnMut(&Run) -> usize,
) -> Result<ReadProgress, Problem> {
    let mut read = ReadProgress::default();
    let mut held = 0;
    loop {
        let found = query.find_up_to(PAGE, web, answer)?;
        if let Some(fault) = found.fault {
            return Err(Problem::invalid(fault.why));
        }
        for listed in &found.runs {
            if read.runs >= most || (read.runs > 0 && Instant::now() > until) {
                read.to = Some(listed.start_unix_nano);
                return Ok(read);
            }
            let row = TraceId::from_hex(&listed.trace_id).map(|id| web.store.row(id)).transpose()?;
            let Some(row) = row.flatten() else { continue };
            match single::built(web, &row, answer) {
                Err(problem) if problem.is_too_large() => continue,
                built => held = built?.run.as_ref().map_or(held, &mut *each),
            }
            answer.shrink_to(lists::MEMORY.saturating_add(held));
            answer.reserve_in_all(lists::MEMORY.saturating_add(held))?;
            read.runs += 1;
        }
        match found.next {
            Some(next) => query.go_on(next),
            None => return Ok(read),
        }
    }
}
