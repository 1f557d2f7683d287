//! Forms: tables that say how lists of messages, rows, requests and logs of agents are read, one file a form in `semconv/forms/`.
//!
//! A table names no Rust. It says by which members a value is recognised, where its items are, and, by rules, what each item says: a role,
//! words, thoughts, calls, results, facts. What comes out is a row of chat messages, which the format `messages` reads as it reads any other.
//!
//! * [`Form`] is a table, checked when it is read: a name that nobody knows is an error with its place and the nearest known name.
//! * [`Forms`] are the tables of `semconv/forms/`, and which of them a value is.
//! * [`Reader`](read::Reader) goes through a value by a table.
//!
//! Work and memory are linear in the file. A value is read by the rules of one set, which are fewer than a constant, at most
//! [`read::DEPTH`] sets deep; a table that reads values again and again runs out of [steps](read::Reader). What lies around an item (`..`,
//! `$name`) is copied to it only where it is short, so no large value is copied to each of many items.

mod any;
mod borrow;
mod built_in;
mod check;
mod conditions;
mod database;
mod log;
mod message;
mod own;
mod read;
mod recognise;
mod source;
mod spans;
mod table;
mod tables;
mod thread;
mod unknown;

pub(crate) use any::{AnyForm, Kind, listed, names, table_of};
pub(crate) use database::{DatabaseForm, databases};
pub(crate) use log::Log;
pub(crate) use own::lines_without_json;
pub(crate) use read::{Read, Unread};
pub(crate) use recognise::{Forms, Found};
pub(crate) use spans::{SpanForm, spans_of};
pub(crate) use table::Form;
pub(crate) use unknown::unknown;
#[cfg(test)]
mod tests;
