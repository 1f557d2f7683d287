//! The built-in forms.

use std::sync::LazyLock;

use super::form::Form;
use super::recognise::Forms;
use super::tables::TABLES;

impl Forms {
    /// The forms of `semconv/forms/`, parsed once: their conditions now, their rules when they are used.
    pub(crate) fn built_in() -> &'static Self {
        static FORMS: LazyLock<Forms> = LazyLock::new(|| {
            // A test checks that all tables can be read.
            let read = |(name, text): &(&str, &'static str)| Form::built_in(name, text).ok();
            Forms::of(TABLES.iter().filter_map(read).collect())
        });
        &FORMS
    }
}
