//! A trajectory under construction.

use std::borrow::Cow;

use super::table::{AGENT, FINAL_METRICS, STEP, TRAJECTORY, VERSION, VERSION_WITH_SOUND};
use crate::document::choice::Options;
use crate::document::json::{Json, Object};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::operation::TokenCount;
use crate::run::Run;
use crate::transcript::ScopeId;
use crate::transcript::chat::OfferedTools;
use crate::transcript::facts;
use crate::transcript::ids::Ids;

/// A step under construction.
#[derive(Default)]
pub(super) struct Step<'a> {
    /// Its fields, in any order.
    pub(super) fields: Object<'a>,
    /// Other facts.
    pub(super) extra: Object<'a>,
}

impl<'a> Step<'a> {
    fn record(self, id: usize) -> Object<'a> {
        let mut fields = self.fields;
        fields.add("step_id", id);
        fields.add_filled("extra", self.extra);
        STEP.in_order(fields)
    }

    fn count(&self, key: &str) -> Option<u64> {
        let metrics = self.fields.get("metrics")?;
        match &*metrics.as_object()?.get(key)? {
            Json::Number(count) => count.as_u64(),
            _ => None,
        }
    }
}

/// The trajectory's steps, and what they add to the whole.
#[derive(Default)]
pub(super) struct StepList<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) ids: Ids<'a>,
    pub(super) losses: Vec<Loss>,
    pub(super) subagents: Vec<Object<'a>>,
    pub(super) tools: OfferedTools<'a>,
    /// In US dollars, with sub-agents.
    pub(super) cost: Option<f64>,
    pub(super) extra: Object<'a>,
    /// Whether images and sounds that are recorded inline become files.
    pub(super) keeps_media: bool,
    pub(super) has_sound: bool,
}

impl<'a> StepList<'a> {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            keeps_media: options.is("atif.media", "files"),
            ..Self::default()
        }
    }

    pub(super) fn spend(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }

    /// Takes over the operations of a trajectory without steps.
    pub(super) fn take_silent(&mut self, silent: Self) {
        self.losses.extend(silent.losses);
        self.subagents.extend(silent.subagents);
        for (key, value) in silent.extra {
            if let Json::List(items) = value {
                items.into_iter().for_each(|item| self.extra.push(key.clone(), item));
            }
        }
    }

    /// The trajectory; `Err` returns the draft if it has no steps.
    pub(super) fn finish(self, run: &'a Run, scope: Option<ScopeId>, id: String) -> Result<Assembled<Object<'a>>, Box<Self>> {
        if self.steps.is_empty() {
            return Err(Box::new(self));
        }
        let Self {
            steps,
            mut losses,
            subagents,
            tools,
            cost,
            extra,
            has_sound,
            ..
        } = self;
        let scope = scope.and_then(|scope| run.scopes.get(scope));
        let name = scope.and_then(|scope| scope.agent.as_ref()).or(run.agent.name.as_ref());
        let versions = [&run.agent.version, &run.agent.framework_version];
        let version = versions.into_iter().flatten().find(|version| !version.is_empty());
        let known = [("name", name.filter(|name| !name.is_empty())), ("version", version)];
        for (key, _) in known.iter().filter(|(_, value)| value.is_none()) {
            losses.push(Loss::new(None, format!("agent.{key}"), LossReason::Synthesized));
        }
        let [name, version] = known.map(|(_, value)| value.map_or("unknown", String::as_str).into());
        let about = [
            ("framework", &run.agent.framework),
            ("framework_version", &run.agent.framework_version),
        ];
        let about = facts::filled(about.map(|(key, value)| (key, value.as_ref().into())));
        let model = steps.iter().find_map(|step| step.fields.get("model_name").map(Cow::into_owned));
        let agent = AGENT.given([
            ("name", name),
            ("version", version),
            ("model_name", model.into()),
            ("tool_definitions", tools.list()),
            ("extra", about.into()),
        ]);
        // If no model call records tokens and cost, use those of its agent.
        let is_outer = scope.is_some_and(|scope| scope.called_by.is_none());
        let agents = if is_outer { run.metered_agents() } else { Vec::new() };
        let total = |key: &str, count: fn(&TokenCount) -> Option<u64>| -> Json<'a> {
            let of_steps = steps.iter().filter_map(|step| step.count(key)).reduce(u64::saturating_add);
            let of_agents = || agents.iter().filter_map(|agent| count(&agent.usage)).reduce(u64::saturating_add);
            of_steps.or_else(of_agents).into()
        };
        let of_agents = || {
            let costs = agents.iter().filter_map(|agent| agent.cost.total);
            costs.filter(|cost| cost.is_finite()).reduce(|sum, cost| sum + cost)
        };
        let sums = FINAL_METRICS.given([
            ("total_prompt_tokens", total("prompt_tokens", |usage| usage.input)),
            ("total_completion_tokens", total("completion_tokens", |usage| usage.output)),
            ("total_cached_tokens", total("cached_tokens", |usage| usage.cache_read)),
            ("total_cost_usd", cost.or_else(of_agents).into()),
            ("total_steps", steps.len().into()),
        ]);
        let session = run.session_id.as_ref().map_or_else(|| run.trace_id.to_string().into(), Json::from);
        let document = TRAJECTORY.given([
            ("schema_version", version_of(has_sound, &subagents).into()),
            ("session_id", session),
            ("trajectory_id", id.into()),
            ("agent", agent.into()),
            ("steps", steps.into_iter().zip(1..).map(|(step, id)| step.record(id)).collect()),
            ("final_metrics", sums.into()),
            ("subagent_trajectories", subagents.into_iter().collect()),
            ("extra", extra.into()),
        ]);
        Ok(Assembled { document, losses })
    }
}

/// Sounds require version 1.8; some readers only accept versions up to 1.7.
fn version_of(has_sound: bool, subagents: &[Object<'_>]) -> &'static str {
    let has_it = |inner: &Object<'_>| Some(inner.get("schema_version")?.as_str()? == VERSION_WITH_SOUND);
    let of_inner = subagents.iter().any(|inner| has_it(inner) == Some(true));
    if has_sound || of_inner { VERSION_WITH_SOUND } else { VERSION }
}
