#![cfg(feature = "server")]
