//! Which bytes are export requests in protobuf.

use crate::otlp;

/// Whether the bytes are export requests in protobuf.
pub(super) fn is_protobuf(bytes: &[u8]) -> bool {
    otlp::signal::guess(bytes).is_some() || delimited(bytes).is_some()
}

/// Export requests one after the other, each with its length before it; `None` where the bytes are anything else.
pub(super) fn delimited(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, mut messages) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (mut length, mut shift) = (0_usize, 0_u32);
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            length |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let message = rest.get(..length)?;
        // A request begins with its first field; one alone, whose first bytes are a length by chance, ends elsewhere.
        if message.first() != Some(&0x0a) {
            return None;
        }
        messages.push(message);
        rest = rest.get(length..)?;
    }
    Some(messages).filter(|messages| !messages.is_empty() && bytes.first() != Some(&0x0a) || messages.len() > 1)
}
