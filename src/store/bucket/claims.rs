//! Appending to a trace at a revision, across bridges.
//!
//! Such an append first creates the object `claims/TRACE/NUMBER`, which the bucket lets only one bridge do. The object
//! contains the chunk: if its creator dies before the chunk is in its database, the next bridge that misses the chunk
//! appends it. So the appends of a trace have one order, and each was checked with all earlier ones visible:
//!
//! - The numbers of a trace's claims have no gaps, because a bridge claims the number after the last one it sees.
//! - A head lists the claims by which its chunk was stored. A bridge that sees a later claim but not an earlier one reads
//!   the earlier one, appends its chunk, and lets the caller retry.
//! - If the number after the last visible one is taken, the bridge does the same.
//!
//! A write without a response may or may not have happened: the object is read back, and its nonce shows whose it is.

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

/// How often a claim with an unknown outcome is written and read back.
const MAX_TRIES: u32 = 5;
/// Delay before the first retry; it grows with each try.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Who holds a claim's number.
enum Claimed {
    Here,
    Elsewhere(Box<Claim>),
}

/// Appends a chunk to a trace that is at this revision; returns the new revision.
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
            // Retention removed its chunk, so it is no longer visible.
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

/// Creates the object of a claim, unless it exists.
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
        // A refusal, too, may follow an earlier try of the same request that succeeded.
        if let Ok(Some(other)) = read(place, trace_id, number).await {
            let is_own = (&other.nonce, &other.writer) == (&claim.nonce, &claim.writer);
            return Ok(if is_own {
                Claimed::Here
            } else {
                Claimed::Elsewhere(Box::new(other))
            });
        }
        tries += 1;
        if tries == MAX_TRIES {
            return Err(failed("write", path.as_ref())(failure));
        }
        tokio::time::sleep(RETRY_DELAY * 2_u32.pow(tries)).await;
    }
}

/// Appends the chunk of another bridge's claim.
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
