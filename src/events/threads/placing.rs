//! Places sub-agents under their callers, in the order they were called.

use super::Builder;
use super::unlinked::UnplacedThread;
use crate::events::event::{Thread, Under};

/// Finds the caller of a sub-agent that began with this prompt, among the drafts so far.
type Placing<'a> = dyn FnMut(&Builder<'_>, &Thread, Option<&str>) -> Option<usize> + 'a;

impl Builder<'_> {
    /// Places threads whose caller is known, in the order of the callers: files have no order, and agents may begin at the same
    /// time.
    pub(super) fn place_some(
        &mut self,
        waiting: &mut Vec<UnplacedThread>,
        is_elsewhere: &dyn Fn(&str) -> bool,
        place_of: &mut Placing<'_>,
    ) {
        let mut found = Vec::new();
        for (thread, prompt) in std::mem::take(waiting) {
            match place_of(self, &thread, prompt.as_deref()) {
                Some(place) => found.push((place, thread)),
                None => waiting.push((thread, prompt)),
            }
        }
        found.sort_by_key(|(place, _)| *place);
        for (place, thread) in found {
            self.place(thread, Some(place), is_elsewhere);
        }
    }

    /// The call that asked for a sub-agent.
    pub(super) fn place_of(&self, under: Option<&Under>) -> Option<usize> {
        match under? {
            Under::Call(id) => self.tools.get(id).copied(),
            Under::Turn(_) | Under::Unknown => None,
        }
    }
}
