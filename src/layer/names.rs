//! Interns names and ids that many spans share, such as those of models and sessions, once per thread.

use std::cell::RefCell;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use opentelemetry::StringValue;

/// Longer texts are not interned.
const LONGEST: usize = 64;

/// Number of names kept, each in a slot chosen by its hash.
const MAX_NAMES: usize = 64;

thread_local! {
    static LAST: RefCell<[Option<Arc<str>>; MAX_NAMES]> = const { RefCell::new([const { None }; MAX_NAMES]) };
}

/// The name, sharing memory with the last span of this thread that had it.
pub(super) fn shared(name: &str) -> StringValue {
    if name.len() > LONGEST {
        return name.to_owned().into();
    }
    let kept = LAST.try_with(|last| {
        let mut last = last.try_borrow_mut().ok()?;
        let hash = foldhash::fast::FixedState::default().hash_one(name.as_bytes());
        let place = last.get_mut(usize::try_from(hash % MAX_NAMES as u64).ok()?)?;
        match place {
            Some(have) if **have == *name => Some(Arc::clone(have)),
            place => Some(Arc::clone(place.insert(name.into()))),
        }
    });
    // The table is gone while the thread ends.
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
