//! Sets of rules that a table uses from another form: `anthropic.written`.

use std::collections::BTreeMap;

use super::table::{Rule, Table, parsed};
use super::tables::TABLES;
use super::unknown::unknown;

/// Copies the sets of other forms that rules name into the table, including sets that those name in turn. Also copies the names of members
/// that those forms ignore.
pub(super) fn borrow(table: &mut Table) -> Result<(), String> {
    if let Some(name) = table.rules.keys().find(|name| name.contains('.')) {
        return Err(format!("rules: `{name}`: a name with a dot is that of another form's set"));
    }
    let mut wanted: Vec<String> = table.rules.values().flatten().flat_map(named).collect();
    let mut lenders: BTreeMap<String, Table> = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        let Some((form, set)) = name.split_once('.').filter(|_| !table.rules.contains_key(&name)) else {
            continue;
        };
        if !lenders.contains_key(form) {
            let lender = lender(form)?;
            table.ignored.extend(lender.ignored.iter().cloned());
            let _ = lenders.insert(form.to_owned(), lender);
        }
        let Some(sets) = lenders.get_mut(form).map(|lender| &mut lender.rules) else {
            continue;
        };
        let Some(mut rules) = sets.remove(set) else {
            return Err(unknown(&format!("set of rules of {form}"), set, sets.keys().map(String::as_str)));
        };
        for set in rules.iter_mut().flat_map(|rule| rule.each.values_mut()) {
            if let Some(own) = set.as_str().filter(|own| !own.contains('.')) {
                *set = format!("{form}.{own}").into();
            }
        }
        wanted.extend(rules.iter().flat_map(named));
        let _ = table.rules.insert(name, rules);
    }
    Ok(())
}

fn lender(form: &str) -> Result<Table, String> {
    let Some((_, text)) = TABLES.iter().find(|(name, _)| *name == form) else {
        return Err(unknown("form", form, TABLES.iter().map(|(name, _)| *name)));
    };
    parsed(text)
}

/// The sets that a rule names.
fn named(rule: &Rule) -> impl Iterator<Item = String> {
    rule.each.values().filter_map(|set| set.as_str().map(str::to_owned))
}
