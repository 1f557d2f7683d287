//! `spanbridge store compact`: merges the databases of removed servers.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::access::Project;
use crate::cli::failure::{Failure, exit_status};
use crate::cli::out;
use crate::store::{self, BucketOptions};

const EXAMPLES: &str = "\
Each read opens the databases of all servers that ever wrote to the bucket. This copies those that were adopted (spanbridge store adopt) into \
one, reads back each chunk there, and prints their number and a digest. Bridges then stop reading the former ones. Run it again at least 15 \
minutes later, for example once a day: it removes what was merged before, and what was deleted meanwhile.

If this is interrupted, run it again: nothing is lost, and what is copied already is left out.

Examples:
  spanbridge store compact --store s3://my-bucket/traces";

/// Merge the databases of servers that are gone into one, so that each read opens fewer.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Compact {
    /// The bucket: s3://BUCKET/PREFIX, gs://, az:// or file://.
    #[arg(long, value_name = "URL", env = "SPANBRIDGE_STORE")]
    store: String,
    /// The project whose databases are merged.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// The database that they are merged into; no server may have the same.
    #[arg(long, value_name = "NAME", default_value = "merged")]
    writer: String,
}

impl Compact {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let bucket = BucketOptions {
            writer: Some(self.writer),
            ..BucketOptions::new(&self.store).with_folder(&self.project.directory(Path::new("")))
        };
        let (mut merged, mut left) = (0, 0);
        store::compact(&bucket, &mut |writer| match writer.became {
            Ok(one) => {
                merged += 1;
                out::note(&format!(
                    "{}: {}, {} bytes, digest {}",
                    writer.name,
                    out::many(one.chunks, "chunk"),
                    one.bytes,
                    one.digest
                ));
            }
            Err(why) => {
                left += 1;
                out::note(&format!("{}: left as it is: {why}", writer.name));
            }
        })?;
        out::note(&match merged {
            0 => "nothing was merged; adopt the databases of servers that are gone first: spanbridge store adopt".to_owned(),
            merged => format!("{} merged", out::many(merged, "database")),
        });
        Ok(exit_status(left == 0))
    }
}
