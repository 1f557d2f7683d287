//! LangGraph interrupts, where a run waits for a person.

/// The question to the person, from the text of LangGraph's exception: `(Interrupt(value='Go?', id='..'),)`. Any other text is the question
/// itself.
pub(crate) fn interrupt_prompt(text: &str) -> String {
    let Some((_, inside)) = text.split_once("Interrupt(value=") else {
        return text.to_owned();
    };
    let end = [", id=", ", resumable=", ", when=", ", ns="]
        .iter()
        .filter_map(|member| inside.rfind(member))
        .min()
        .unwrap_or(inside.len());
    let value = inside.get(..end).unwrap_or(inside).trim_end_matches([')', ',', '(']);
    let bare = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    bare('\'').or_else(|| bare('"')).unwrap_or(value).to_owned()
}
