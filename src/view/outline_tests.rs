//! Rows that are wanted.

use super::*;
use crate::run::IdVec;

#[test]
fn rows_that_are_wanted_keep_those_above_them() {
    let ids: Vec<StepId> = IdVec::<StepId, ()>::filled((), 7).ids().collect();
    let depths = [0, 1, 2, 2, 1, 2, 0];
    let row = |(step, depth): (&StepId, usize)| Row {
        step: *step,
        depth,
        is_last: false,
    };
    let rows: Vec<Row> = ids.iter().zip(depths).map(row).collect();
    let wanted = |places: &[usize]| -> Vec<(usize, bool)> {
        let found = only(&rows, |row| places.contains(&row.step.index()));
        found.iter().map(|row| (row.step.index(), row.is_last)).collect()
    };
    assert_eq!(wanted(&[2, 5]), [(0, true), (1, false), (2, true), (4, true), (5, true)]);
    assert_eq!(wanted(&[3]), [(0, true), (1, true), (3, true)]);
    assert_eq!(wanted(&[1, 6]), [(0, false), (1, true), (6, true)]);
    assert!(wanted(&[]).is_empty());
}
