//! The `spanbridge` command.
fn main() {}
