//! Error messages for unknown names.

/// The error message for an unknown name. Suggests the nearest known one.
pub(crate) fn unknown<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k str>) -> String {
    let near = known.map(|known| (strsim::damerau_levenshtein(known, name), known));
    match near.min() {
        Some((distance, near)) if distance <= near.len().max(3) / 2 + 1 => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        Some(_) | None => format!("there is no {what} `{name}`"),
    }
}
