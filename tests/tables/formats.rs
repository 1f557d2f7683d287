//! The golden files of all formats, without a server.

#[path = "../support/long_form.rs"]
mod long_form;
#[path = "../support/mod.rs"]
mod support;

#[path = "../formats.rs"]
mod goldens;
