//! Names and ids that many spans have in common, such as those of models and sessions: one copy for all spans of a thread.

use std::cell::RefCell;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use opentelemetry::StringValue;

/// Longer texts are no names.
const LONGEST: usize = 64;

/// So many names are kept, each in the place given by its hash.
const KEPT: usize = 64;

thread_local! {
    static LAST: RefCell<[Option<Arc<str>>; KEPT]> = const { RefCell::new([const { None }; KEPT]) };
}

/// The name, in memory that it shares with the last spans that had it.
pub(super) fn shared(name: &str) -> StringValue {
    if name.len() > LONGEST {
        return name.to_owned().into();
    }
    let kept = LAST.try_with(|last| {
        let mut last = last.try_borrow_mut().ok()?;
        let hash = foldhash::fast::FixedState::default().hash_one(name.as_bytes());
        let place = last.get_mut(usize::try_from(hash % KEPT as u64).ok()?)?;
        match place {
            Some(have) if **have == *name => Some(Arc::clone(have)),
            place => Some(Arc::clone(place.insert(name.into()))),
        }
    });
    // There is no place at the end of a thread.
    kept.ok().flatten().map_or_else(|| name.to_owned().into(), StringValue::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_copied_once() {
        let (first, second) = (shared("gpt-4o"), shared("gpt-4o"));
        assert!(std::ptr::eq(first.as_str(), second.as_str()));
        assert_ne!(shared("gpt-4o").as_str(), shared("gpt-4o-mini").as_str());
        let long = "x".repeat(LONGEST + 1);
        assert!(!std::ptr::eq(shared(&long).as_str(), shared(&long).as_str()));
    }
}
