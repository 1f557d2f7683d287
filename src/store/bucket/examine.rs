//! Checks that a bucket permits what a server needs, for operators who set one up.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode, PutOptions};

use super::failed::failed;
use super::place::Place;
use super::views::{Cache, Views};
use super::{open, runtime};
use crate::store::error::Error;
use crate::store::examined::Examined;
use crate::store::options::BucketOptions;

/// Clocks further apart than this make retention and lists by arrival wrong by as much.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(30);

/// Tries each operation of a server. Creates one small object below `check/`, and removes it.
pub(in crate::store) fn examine(bucket: &BucketOptions) -> Result<Vec<Examined>, Error> {
    let place = Place::of(&bucket.url)?.below(&bucket.folder);
    let poll = bucket.poll_interval;
    runtime::wait(async move {
        open::ask(&place).await?;
        let mut found = vec![Examined::ok(format!("{} can be listed", place.url()))];
        objects(&place, &mut found).await?;
        let views = Views::open(place, Cache::new(), None, poll).await?;
        let unreadable = views.unreadable();
        found.push(Examined::ok(match views.readable() {
            0 if unreadable.is_empty() => "no server has stored anything at this URL yet".to_owned(),
            readable => format!("{readable} databases of servers can be read"),
        }));
        found.extend(unreadable.into_iter().map(Examined::wrong));
        Ok(found)
    })
}

async fn objects(place: &Place, found: &mut Vec<Examined>) -> Result<(), Error> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(failed("draw a random name for", "an object"))?;
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = place.prefix.clone().join("check").join(name);
    let begin = Instant::now();
    put(place, &path, "one").await.map_err(failed("write below", place.url()))?;
    found.push(Examined::ok(format!("an object was written in {} ms", begin.elapsed().as_millis())));
    match put(place, &path, "two").await {
        Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
            found.push(Examined::ok(
                "a write with If-None-Match is refused where there is an object".to_owned(),
            ));
        }
        Ok(()) => found.push(Examined::wrong(
            "the bucket ignores If-None-Match: two servers could write the same object. Use a bucket that supports conditional writes"
                .to_owned(),
        )),
        Err(error) => found.push(Examined::wrong(format!("a write with If-None-Match fails: {error}"))),
    }
    let begin = Instant::now();
    let read = place.get(&path).await.map_err(failed("read below", place.url()))?;
    found.push(match read.as_deref() {
        Some(b"one") => Examined::ok(format!("it was read back in {} ms", begin.elapsed().as_millis())),
        _ => Examined::wrong("what was written is not what is read back".to_owned()),
    });
    let written = place
        .objects
        .head(&path)
        .await
        .map_err(failed("read below", place.url()))?
        .last_modified;
    let written = UNIX_EPOCH + Duration::from_secs(u64::try_from(written.timestamp()).unwrap_or_default());
    let now = SystemTime::now();
    let skew = now
        .duration_since(written)
        .or_else(|_| written.duration_since(now))
        .unwrap_or_default();
    found.push(match skew > MAX_CLOCK_SKEW {
        true => Examined::wrong(format!(
            "the clocks of this machine and of the bucket differ by {} s",
            skew.as_secs()
        )),
        false => Examined::ok("the clocks of this machine and of the bucket agree".to_owned()),
    });
    place.objects.delete(&path).await.map_err(failed("delete below", place.url()))?;
    found.push(Examined::ok("it was removed".to_owned()));
    Ok(())
}

async fn put(place: &Place, path: &Path, text: &'static str) -> Result<(), object_store::Error> {
    let options = PutOptions {
        mode: PutMode::Create,
        ..PutOptions::default()
    };
    Arc::clone(&place.objects).put_opts(path, text.into(), options).await.map(|_| ())
}
