//! The tables of `semconv/forms/`.

use std::sync::LazyLock;

use super::recognise::Forms;
use super::table::Form;
use super::tables::TABLES;

impl Forms {
    /// The forms of `semconv/forms/`, made once.
    pub(crate) fn built_in() -> &'static Self {
        static FORMS: LazyLock<Forms> = LazyLock::new(|| {
            // A test reads each of them.
            let read = |(name, text): &(&str, &str)| Form::of(name, text).ok();
            Forms::of(TABLES.iter().filter_map(read).collect())
        });
        &FORMS
    }
}
