//! Losses grouped by subject, for people: content before metadata, the most frequent first.

use std::collections::BTreeMap;

use super::loss::{Loss, LossReason};

/// The severity of a loss, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LossWeight {
    /// Messages, calls or results are missing or changed.
    Content,
    /// Only facts about them: counts, ids, names, times, settings.
    Metadata,
    /// Nothing is missing: the format demanded something that was not recorded.
    Added,
}

/// The first words of losses of metadata. All others count as content.
const METADATA: &[&str] = &[
    "agent",
    "agent_description",
    "agent_id",
    "agent_version",
    "attributes",
    "cost",
    "evidence",
    "finish_reason",
    "framework",
    "graph_node",
    "ids",
    "instrumentation",
    "metadata",
    "model",
    "nodes",
    "observed",
    "parameters",
    "provider",
    "requested_model",
    "resource",
    "response_id",
    "run",
    "session_id",
    "step",
    "tags",
    "time_to_first_token",
    "times",
    "tool_call_id",
    "tool_calls",
    "tool_description",
    "usage",
    "user_id",
    "workflow",
];

/// Maximum number of groups; further ones are counted together.
const MAX_GROUPS: usize = 256;
/// Maximum number of groups named in the line for people.
const MAX_NAMED_GROUPS: usize = 3;

/// Losses of documents, counted by group.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossGroups {
    counts: BTreeMap<(LossWeight, LossReason, String), u64>,
}

impl Loss {
    /// Its severity.
    #[must_use]
    pub(crate) fn weight(&self) -> LossWeight {
        let head = self.what.split([' ', '.', '[', ':', ',']).next().unwrap_or_default();
        let is_words = self.what.contains(": its ");
        match self.reason {
            _ if !is_words && METADATA.contains(&head) => LossWeight::Metadata,
            LossReason::Synthesized => LossWeight::Added,
            _ => LossWeight::Content,
        }
    }

    /// The part shared with similar losses, without names, places and ids.
    #[must_use]
    pub(crate) fn group(&self) -> String {
        let (kind, rest) = match self.what.split_once(": ") {
            Some((kind, rest)) => (kind.split(' ').next().unwrap_or(kind), Some(rest)),
            None => (self.what.as_str(), None),
        };
        let mut group = String::with_capacity(self.what.len());
        let mut depth = 0_usize;
        for letter in kind.chars() {
            match letter {
                '[' => {
                    depth += 1;
                    group.push_str("[]");
                }
                ']' => depth = depth.saturating_sub(1),
                // Two places reported as one count as one kind.
                ',' if depth == 0 => break,
                _ if depth == 0 => group.push(letter),
                _ => {}
            }
        }
        if let Some(rest) = rest {
            group.push_str(": ");
            group.push_str(rest);
        }
        group
    }
}

impl LossGroups {
    /// Counts a loss.
    pub(crate) fn add(&mut self, loss: &Loss) {
        let mut key = (loss.weight(), loss.reason, loss.group());
        if self.counts.len() >= MAX_GROUPS && !self.counts.contains_key(&key) {
            key.2 = "other".to_owned();
        }
        *self.counts.entry(key).or_default() += 1;
    }

    /// The groups with their counts: content before metadata, the most frequent first.
    #[must_use]
    pub(crate) fn groups(&self) -> Vec<(LossWeight, LossReason, &str, u64)> {
        let mut groups: Vec<_> = self
            .counts
            .iter()
            .map(|((weight, reason, what), count)| (*weight, *reason, what.as_str(), *count))
            .collect();
        groups.sort_by_key(|(weight, _, _, count)| (*weight, std::cmp::Reverse(*count)));
        groups
    }

    /// One line for people; `None` if nothing was lost.
    #[must_use]
    pub(crate) fn line(&self) -> Option<String> {
        let groups = self.groups();
        let of = |wanted: LossWeight, name: &str| {
            let of: Vec<_> = groups.iter().filter(|(weight, ..)| *weight == wanted).collect();
            let total: u64 = of.iter().map(|(.., count)| count).sum();
            let mut named: Vec<String> = of
                .iter()
                .take(MAX_NAMED_GROUPS)
                .map(|(_, _, what, count)| format!("{count} × {what}"))
                .collect();
            if of.len() > MAX_NAMED_GROUPS {
                named.push(match of.len() - MAX_NAMED_GROUPS {
                    1 => "1 more kind".to_owned(),
                    more => format!("{more} more kinds"),
                });
            }
            (total > 0).then(|| format!("{total} of {name} ({})", named.join(", ")))
        };
        let parts = [
            of(LossWeight::Content, "content"),
            of(LossWeight::Metadata, "metadata"),
            of(LossWeight::Added, "what the format requires and was not recorded"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_stands_before_metadata_and_names_are_left_out() {
        let mut groups = LossGroups::default();
        for (what, reason) in [
            ("usage", LossReason::NoPlace),
            ("usage", LossReason::NoPlace),
            ("metadata.otel.trace_id", LossReason::NoPlace),
            ("chain tools: its input", LossReason::NoPlace),
            ("chain model: its input", LossReason::NoPlace),
            ("error of tool", LossReason::NoPlace),
            ("tool_calls[3:1].id", LossReason::Synthesized),
            ("samples[0].input", LossReason::Synthesized),
        ] {
            groups.add(&Loss::new(None, what, reason));
        }
        let line = groups.line().expect("losses");
        assert_eq!(
            line,
            "3 of content (2 × chain: its input, 1 × error of tool); 4 of metadata (2 × usage, 1 × metadata.otel.trace_id, 1 × \
             tool_calls[].id); 1 of what the format requires and was not recorded (1 × samples[].input)"
        );
        assert_eq!(LossGroups::default().line(), None);
    }

    #[test]
    fn the_number_of_groups_has_a_limit() {
        let mut groups = LossGroups::default();
        for number in 0..2_000 {
            groups.add(&Loss::new(None, format!("thing {number}"), LossReason::NoPlace));
        }
        assert!(groups.groups().len() <= MAX_GROUPS + 1);
        assert_eq!(groups.groups().iter().map(|(.., count)| count).sum::<u64>(), 2_000);
    }
}
