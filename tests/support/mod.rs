//! What several test programs share.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod memory_disk;
pub mod spans;
