//! What several test programs share.
#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod memory_disk;
pub(crate) mod spans;
