//! The bucket: whether a server has the permissions it needs.

use super::finding::Findings;
use crate::cli::out;
use crate::store::{self, BucketOptions};

pub(super) fn check(bucket: &BucketOptions, found: &mut Findings) {
    let (why, mend) = (
        "`serve --store` keeps all spans there",
        "check the URL, the credentials and the rights (docs: bucket, permissions)",
    );
    match store::examine_bucket(bucket) {
        Ok(examined) => {
            for examined in examined {
                match examined.is_wrong {
                    true => found.wrong(examined.what, why, mend),
                    false => found.ok(examined.what),
                }
            }
        }
        Err(error) => found.wrong(out::with_causes(&error), why, mend),
    }
}
