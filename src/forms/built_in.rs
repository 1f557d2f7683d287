//! The built-in forms.

use std::sync::LazyLock;

use super::recognise::Forms;
use super::table::Form;
use super::tables::TABLES;

impl Forms {
    /// The forms of `semconv/forms/`, parsed once.
    pub(crate) fn built_in() -> &'static Self {
        static FORMS: LazyLock<Forms> = LazyLock::new(|| {
            // A test checks that all tables can be read.
            let read = |(name, text): &(&str, &str)| Form::of(name, text).ok();
            Forms::of(TABLES.iter().filter_map(read).collect())
        });
        &FORMS
    }
}
