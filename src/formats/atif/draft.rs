//! A trajectory under construction.

use super::document::{Step, Trajectory, VERSION, VERSION_WITH_SOUND};
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

/// Its steps, and what they add to the whole.
#[derive(Default)]
pub(super) struct Draft<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) ids: Ids<'a>,
    pub(super) losses: Vec<Loss>,
    pub(super) subagents: Vec<Trajectory<'a>>,
    pub(super) tools: OfferedTools<'a>,
    /// In US dollars, with sub-agents.
    pub(super) cost: Option<f64>,
    pub(super) extra: Object<'a>,
    /// Whether images and sounds that are recorded inline become files.
    pub(super) keeps_media: bool,
    pub(super) has_sound: bool,
}

impl<'a> Draft<'a> {
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

    /// Takes the operations of a trajectory without steps.
    pub(super) fn take_silent(&mut self, silent: Self) {
        self.losses.extend(silent.losses);
        self.subagents.extend(silent.subagents);
        for (key, value) in silent.extra {
            if let Json::List(items) = value {
                items.into_iter().for_each(|item| self.extra.push(key.clone(), item));
            }
        }
    }

    /// The trajectory; where it has no step, the draft.
    pub(super) fn finish(self, run: &'a Run, scope: Option<ScopeId>, id: String) -> Result<Assembled<Trajectory<'a>>, Box<Self>> {
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
        let mut agent = Object::new();
        for (key, value) in [("name", name.filter(|name| !name.is_empty())), ("version", version)] {
            if value.is_none() {
                losses.push(Loss::new(None, format!("agent.{key}"), LossReason::Synthesized));
            }
            agent.add(key, value.map_or("unknown", String::as_str));
        }
        agent.add_filled("model_name", steps.iter().find_map(|step| step.model_name.clone()));
        agent.add_filled("tool_definitions", tools.list());
        let about = [
            ("framework", &run.agent.framework),
            ("framework_version", &run.agent.framework_version),
        ];
        let about = facts::filled(about.map(|(key, value)| (key, value.as_ref().into())));
        agent.add_filled("extra", about);
        let mut sums = Object::new();
        // If no model call records tokens and cost, its agent may.
        let is_outer = scope.is_some_and(|scope| scope.called_by.is_none());
        let agents = if is_outer { run.metered_agents() } else { Vec::new() };
        let of_agents =
            |count: fn(&TokenCount) -> Option<u64>| agents.iter().filter_map(|agent| count(&agent.usage)).reduce(u64::saturating_add);
        for (sum, key, count) in [
            ("prompt", "prompt_tokens", (|usage| usage.input) as fn(&TokenCount) -> Option<u64>),
            ("completion", "completion_tokens", |usage| usage.output),
            ("cached", "cached_tokens", |usage| usage.cache_read),
        ] {
            let counts = steps.iter().filter_map(|step| match step.metrics.as_ref()?.get(key)?.into_owned() {
                Json::Number(count) => count.as_u64(),
                _ => None,
            });
            let total = counts.fold(None, |sum: Option<u64>, count| Some(sum.unwrap_or(0).saturating_add(count)));
            sums.add_filled(format!("total_{sum}_tokens"), total.or_else(|| of_agents(count)));
        }
        let of_agents = || {
            agents
                .iter()
                .filter_map(|agent| agent.cost.total)
                .filter(|cost| cost.is_finite())
                .reduce(|sum, cost| sum + cost)
        };
        sums.add_filled("total_cost_usd", cost.or_else(of_agents));
        sums.add("total_steps", steps.len());
        let mut steps = steps;
        for (step, id) in steps.iter_mut().zip(1..) {
            step.step_id = id;
        }
        let document = Trajectory {
            schema_version: version_of(has_sound, &subagents).into(),
            session_id: run.session_id.as_ref().map_or_else(|| run.trace_id.to_string().into(), Into::into),
            trajectory_id: id.into(),
            agent,
            steps,
            final_metrics: sums,
            subagent_trajectories: subagents,
            extra,
        };
        Ok(Assembled { document, losses })
    }
}

/// Sounds came with version 1.8; some readers know none later than 1.7.
fn version_of(has_sound: bool, subagents: &[Trajectory<'_>]) -> &'static str {
    let of_inner = subagents.iter().any(|inner| inner.schema_version == VERSION_WITH_SOUND);
    if has_sound || of_inner { VERSION_WITH_SOUND } else { VERSION }
}
