//! Stage "inputs": takes the nodes, leaves out of the inputs of model calls what other calls have, if all inputs together
//! would take too much.
//!
//! It comes after the conversations, which have each message once however long they are. What comes after it may look at whole
//! inputs, as the formats do that write them.

use super::node::Nodes;

/// All that the calls of a trace share may take this many bytes, each time that it is written.
const SHARED: usize = 64 << 20;

/// Leaves the rest to the calls before.
pub(super) fn limit(nodes: &mut Nodes) {
    let mut sum = 0_usize;
    for id in nodes.list.ids() {
        let shared = nodes.get(id).and_then(|node| node.operation.input_messages.as_ref());
        let size = shared.map_or(0, |messages| messages.continued_size());
        if size > 0 && sum.saturating_add(size) > SHARED {
            nodes.leave_out_continued(id);
        } else {
            sum = sum.saturating_add(size);
        }
    }
}
