//! Runs for tests.
