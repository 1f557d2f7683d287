//! Appending to a trace at a revision, across bridges.
//!
//! Such an append first makes the object `claims/TRACE/NUMBER`, which the bucket lets only one bridge do. The object has the chunk
//! itself: should its maker die before the chunk is in its database, whoever comes next to the trace and misses it appends it. So
//! the appends of a trace are in one order, and each was checked with all before it in view:
//!
//! - The numbers of a trace's claims have no gaps, because a bridge claims the number behind the last one that it sees.
//! - A head has the claims by which its chunk was stored. A bridge that sees a later claim and misses an earlier one reads that
//!   and appends its chunk, and lets the caller look again.
//! - If the number behind the last that it sees is taken, it does the same.
//!
//! A write without an answer is neither yes nor no: the object is read, and its nonce shows whose it is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{PutMode, PutOptions};
use prost::Message as _;

use super::failed::failed;
use super::keys::Owner;
use super::place::{CLAIMS, Place, unread};
use super::prepare::{DIGEST, Prepared};
use super::records::{Claim, Head};
use super::rows::Rows;
use super::trace::{Placed, heads};
use super::views::Views;
use super::writer::Writer;
use crate::span::TraceId;
use crate::store::chunk::ChunkKind;
use crate::store::clock::now;
use crate::store::error::Error;

/// So often is a claim written whose fate is unknown, and the object read back.
const TRIES: u32 = 5;
/// How long to wait before that; longer each time.
const PAUSE: Duration = Duration::from_millis(100);

/// Whose a number is.
enum Claimed {
    Here,
    Elsewhere(Box<Claim>),
}

/// Appends a chunk to a trace that is at this revision; gives the one that it has then.
pub(super) async fn append_at(views: Arc<Views>, writer: Arc<Writer>, revision: u64, mut chunk: Prepared) -> Result<u64, Error> {
    let Some(trace_id) = chunk.owner.trace_id() else {
        return Err(Error::NotInBucket {
            what: "an append at a revision without a trace",
        });
    };
    if let Some(failure) = writer.state().failure() {
        return Err(failure);
    }
    if writer.deletions.has(trace_id) {
        return Err(Error::Deleted { trace_id });
    }
    let changed = Error::Changed { trace_id };
    let mut rows = Rows::new(views.sources());
    let failure = unread(views.place());
    let mut of_trace = heads(rows.sources(), &chunk.owner).await.map_err(&failure)?;
    if rows.revision_of(&of_trace).await.map_err(&failure)? != revision {
        return Err(changed);
    }
    let seen: BTreeSet<u64> = of_trace.iter().flat_map(|placed| placed.head.claims.iter().copied()).collect();
    let mut number = seen.last().map_or(1, |last| last + 1);
    let mut misses = false;
    for missed in (1..number).filter(|number| !seen.contains(number)) {
        if let Some(claim) = read(views.place(), trace_id, missed).await?
            && !is_over(&claim, writer.how.ttl)
        {
            append_of(&writer, &chunk.owner, missed, claim).await?;
            misses = true;
        }
    }
    if misses {
        return Err(changed);
    }
    let claim = claim_of(writer.id(), &chunk)?;
    loop {
        match make(views.place(), trace_id, number, &claim).await? {
            Claimed::Here => break,
            // Retention removed its chunk, so nobody sees it any more.
            Claimed::Elsewhere(other) if is_over(&other, writer.how.ttl) => number += 1,
            Claimed::Elsewhere(other) => {
                append_of(&writer, &chunk.owner, number, *other).await?;
                return Err(changed);
            }
        }
    }
    chunk.head.claims = vec![number];
    writer.put(chunk.clone()).await?;
    if !of_trace.iter().any(|placed| placed.digest == chunk.digest) {
        of_trace.push(Placed {
            digest: chunk.digest,
            head: chunk.head,
            source: 0,
        });
    }
    Rows::new(views.sources()).revision_of(&of_trace).await.map_err(&failure)
}

fn path(place: &Place, trace_id: TraceId, number: u64) -> Path {
    let folder = place.prefix.clone().join(CLAIMS).join(trace_id.to_string());
    folder.join(format!("{number:010}"))
}

fn claim_of(writer: &str, chunk: &Prepared) -> Result<Claim, Error> {
    let mut nonce = vec![0; 16];
    getrandom::fill(&mut nonce).map_err(failed("draw a random number for", "a claim"))?;
    Ok(Claim {
        writer: writer.to_owned(),
        nonce,
        time: now(),
        packed: chunk.packed.to_vec(),
        digest: chunk.digest.to_vec(),
        head: chunk.head.clone(),
    })
}

fn is_over(claim: &Claim, ttl: Option<Duration>) -> bool {
    let age = Duration::from_nanos(now().saturating_sub(claim.time));
    ttl.is_some_and(|ttl| age >= ttl)
}

async fn read(place: &Place, trace_id: TraceId, number: u64) -> Result<Option<Claim>, Error> {
    let path = path(place, trace_id, number);
    let bytes = place.get(&path).await.map_err(failed("read", path.as_ref()))?;
    let claim = bytes.map(Claim::decode).transpose();
    claim.map_err(failed("read", path.as_ref()))
}

/// Makes the object of a claim, unless there is one.
async fn make(place: &Place, trace_id: TraceId, number: u64, claim: &Claim) -> Result<Claimed, Error> {
    let path = path(place, trace_id, number);
    let bytes = slatedb::bytes::Bytes::from(claim.encode_to_vec());
    let mut tries = 0;
    loop {
        let options = PutOptions {
            mode: PutMode::Create,
            ..PutOptions::default()
        };
        let failure = match place.objects.put_opts(&path, bytes.clone().into(), options).await {
            Ok(_) => return Ok(Claimed::Here),
            Err(failure) => failure,
        };
        // Also a refusal may follow a first try of the same request that was carried out.
        if let Ok(Some(other)) = read(place, trace_id, number).await {
            let is_own = (&other.nonce, &other.writer) == (&claim.nonce, &claim.writer);
            return Ok(if is_own {
                Claimed::Here
            } else {
                Claimed::Elsewhere(Box::new(other))
            });
        }
        tries += 1;
        if tries == TRIES {
            return Err(failed("write", path.as_ref())(failure));
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
    }
}

/// Appends the chunk of a claim that another bridge made.
async fn append_of(writer: &Writer, owner: &Owner, number: u64, claim: Claim) -> Result<(), Error> {
    let Claim { packed, digest, head, .. } = claim;
    let mut whole = [0; DIGEST];
    whole.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    let chunk = Prepared {
        owner: owner.clone(),
        digest: whole,
        kind: head.kind().unwrap_or(ChunkKind::Spans),
        head: Head {
            claims: vec![number],
            ..head
        },
        packed: packed.into(),
    };
    writer.put(chunk).await.map(|_| ())
}
