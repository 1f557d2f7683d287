//! The places of sub-agents: under what asked for them, in the order in which they were asked for.

use super::Builder;
use super::unlinked::Waiting;
use crate::events::event::{Thread, Under};

/// Finds the place of a sub-agent that began with this prompt, among what is placed already.
type Placing<'a> = dyn FnMut(&Builder<'_>, &Thread, Option<&str>) -> Option<usize> + 'a;

impl Builder<'_> {
    /// Places those for which there is a place. Files have no order, and agents may begin in one moment: the calls that asked for them
    /// have one.
    pub(super) fn place_some(&mut self, waiting: &mut Vec<Waiting>, is_elsewhere: &dyn Fn(&str) -> bool, place_of: &mut Placing<'_>) {
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

    /// The call that a sub-agent is under.
    pub(super) fn place_of(&self, under: Option<&Under>) -> Option<usize> {
        match under? {
            Under::Call(id) => self.tools.get(id).copied(),
            Under::Turn(_) | Under::Unknown => None,
        }
    }
}
