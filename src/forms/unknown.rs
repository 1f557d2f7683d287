//! Names that tables do not have.

/// Says that a name is unknown, with the nearest that is known.
pub(crate) fn unknown<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k str>) -> String {
    let near = known.map(|known| (strsim::damerau_levenshtein(known, name), known));
    match near.min() {
        Some((distance, near)) if distance <= near.len().max(3) / 2 + 1 => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        Some(_) | None => format!("there is no {what} `{name}`"),
    }
}
