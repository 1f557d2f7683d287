//! Judgements of what an agent did.

/// A judgement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// What was judged, for example `relevance`.
    pub name: Option<String>,
    /// How good.
    pub score: Option<f64>,
    /// For example `pass`.
    pub label: Option<String>,
    /// Why.
    pub explanation: Option<String>,
    /// `HUMAN`, `LLM` or `CODE`.
    pub annotator_kind: Option<String>,
}

impl Evaluation {
    /// Adds what another dialect or another span records: a known score is added once.
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
            // More than a few scores of one operation are not compared.
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
