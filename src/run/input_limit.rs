//! Stage "inputs": takes the nodes and drops messages shared with other calls from the inputs of model calls, if all inputs
//! together would be too large.
//!
//! This runs after the conversations, which contain each message once regardless of their length. Everything after it, such as
//! formats that write inputs, may read them whole.

use super::node::Nodes;

/// Maximum size in bytes of all shared messages of a trace, counted each time they are written.
const MAX_SHARED_BYTES: usize = 64 << 20;

/// Drops shared messages from calls beyond the limit.
pub(super) fn limit(nodes: &mut Nodes) {
    let mut sum = 0_usize;
    for id in nodes.list.ids() {
        let shared = nodes.get(id).and_then(|node| node.operation.input_messages.as_ref());
        let size = shared.map_or(0, |messages| messages.continued_size());
        if size > 0 && sum.saturating_add(size) > MAX_SHARED_BYTES {
            nodes.leave_out_continued(id);
        } else {
            sum = sum.saturating_add(size);
        }
    }
}
