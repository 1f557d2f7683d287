//! Failures as groups.

use super::*;
use crate::web::listing::Summary;

fn run(start: u64, version: &str, failed: &[(&str, u64)]) -> Listed {
    let failed = failed.iter().map(|(message, count)| FailedAs {
        kind: "tool".to_owned(),
        message: (*message).to_owned(),
        count: *count,
        ..FailedAs::default()
    });
    Listed {
        trace_id: format!("{start:032}"),
        start_unix_nano: start,
        summary: Summary {
            version: Some(version.to_owned()).filter(|version| !version.is_empty()),
            failed: failed.collect(),
            ..Summary::default()
        },
        ..Listed::default()
    }
}

#[test]
fn failures_of_one_kind_are_one_group_with_its_share_of_each_version() {
    let mut groups = Groups::default();
    for listed in [
        run(3, "2", &[("HTTP #", 1), ("no city", 1)]),
        run(1, "1", &[("HTTP #", 4)]),
        run(2, "2", &[]),
        run(4, "", &[]),
    ] {
        groups.add(&listed);
    }
    let list = groups.into_list();
    let [http, city] = list.as_slice() else { panic!("{list:?}") };
    assert_eq!(
        (http.failed.count, http.runs, http.first_unix_nano, http.last_unix_nano),
        (5, 2, 1, 3)
    );
    assert_eq!(
        (http.shares().as_str(), city.shares().as_str()),
        ("1: 1 of 1, 2: 1 of 2", "2: 1 of 2")
    );
    assert!(http.last_trace_id.ends_with('3'));
}
