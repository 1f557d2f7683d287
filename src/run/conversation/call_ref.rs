//! A reference to a call among all conversations.

use super::draft::{Conversations, DraftCall};
use crate::run::id::{CallId, ConversationId};

/// A call of one of many conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::run) struct CallRef {
    pub(in crate::run) conversation: ConversationId,
    pub(in crate::run) call: CallId,
}

impl CallRef {
    pub(in crate::run) fn of(self, conversations: &Conversations) -> Option<&DraftCall> {
        conversations.get(self.conversation)?.calls.get(self.call)
    }

    pub(in crate::run) fn of_mut(self, conversations: &mut Conversations) -> Option<&mut DraftCall> {
        conversations.get_mut(self.conversation)?.calls.get_mut(self.call)
    }
}
