//! Judgements of an agent's work.

/// A judgement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// The judged quality, for example `relevance`.
    pub name: Option<String>,
    /// The score.
    pub score: Option<f64>,
    /// A verdict, for example `pass`.
    pub label: Option<String>,
    /// The reason.
    pub explanation: Option<String>,
    /// `HUMAN`, `LLM` or `CODE`.
    pub annotator_kind: Option<String>,
}

impl Evaluation {
    /// Adds judgements that another dialect or span records, each once.
    pub(crate) fn add(known: &mut Vec<Self>, more: Vec<Self>) {
        fn agrees<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        let count = known.len();
        let mut recorded = vec![false; count];
        for evaluation in more {
            let is_known = |(one, recorded): (&Self, &bool)| {
                !recorded
                    && one.name == evaluation.name
                    && one.score == evaluation.score
                    && agrees(&one.label, &evaluation.label)
                    && agrees(&one.explanation, &evaluation.explanation)
                    && agrees(&one.annotator_kind, &evaluation.annotator_kind)
            };
            // Compare only a few judgements of one operation.
            let at = known.iter().zip(&recorded).take(64).position(is_known);
            let Some((have, recorded)) = at.and_then(|at| Some((known.get_mut(at)?, recorded.get_mut(at)?))) else {
                known.push(evaluation);
                continue;
            };
            *recorded = true;
            have.label = have.label.take().or(evaluation.label);
            have.explanation = have.explanation.take().or(evaluation.explanation);
            have.annotator_kind = have.annotator_kind.take().or(evaluation.annotator_kind);
        }
    }
}
