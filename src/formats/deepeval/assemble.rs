//! Converts runs to cases.

use std::borrow::Cow;

use serde_json::Value;

use super::check::{CONVERSATION, SINGLE};
use super::interaction::{self, CaseSource, Interaction};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::hash::HashSet;
use crate::run::{Run, StepId};
use crate::transcript::chat::OfferedTools;
use crate::transcript::ids::Ids;
use crate::transcript::losses::Losses;
use crate::transcript::rounds;
use crate::transcript::rounds::Rounds;
use crate::transcript::{Exchanges, Transcript};
use crate::transcript::{content, facts};

/// Facts that have their own field in a case.
const PLACED: [&str; 4] = ["tool_definitions", "model", "agent", "error"];

/// The cases of a run.
pub(super) fn of_run<'a>(run: &'a Run, options: &Options) -> Vec<Assembled<Object<'a>>> {
    let (source, transcript) = (CaseSource::of(run), Transcript::of(run));
    let is_run = options.is("deepeval.cases", "run");
    let mut conversations: Vec<AgentConversation<'a>> = Vec::new();
    let mut left: Vec<Loss> = Vec::new();
    for (id, _) in transcript.scopes_with_tool() {
        let Some(scope) = run.scopes.get(id) else { continue };
        if is_run && scope.is_auxiliary && !scope.conversation.is_empty() {
            let name = scope.agent.as_deref().unwrap_or("an agent");
            left.push(Loss::new(None, format!("the conversation of {name}"), LossReason::NoPlace));
            continue;
        }
        let agent = if is_run { &run.agent.name } else { &scope.agent };
        let new = || AgentConversation::new(agent.as_deref());
        let mut conversation = conversations.pop_if(|_| is_run).unwrap_or_else(new);
        let first_new = conversation.interactions.len();
        conversation.scope(&source, &transcript.exchanges(id));
        let is_first = id.index() == 0;
        let asked = match scope.called_by {
            Some(_) => content::asked_of(run, scope),
            None => rounds::words_outside(run.question.as_ref().filter(|_| is_first)),
        };
        let answer = rounds::words_outside(run.answer.as_ref().filter(|_| is_first));
        let is_of_run = scope.called_by.is_none();
        let (asked, answer) = conversation.outside(first_new, (asked, is_of_run), answer);
        // A case for the whole run always has them.
        if !is_run && asked.is_some() && scope.called_by.is_none() {
            let what = "the run's question, which no message contains";
            conversation.losses.utterance(run, run.question.as_ref(), what);
        }
        if !is_run && answer.is_some() {
            let what = "the run's answer, which no model wrote";
            conversation.losses.utterance(run, run.answer.as_ref(), what);
        }
        conversations.push(conversation);
    }
    let mut cases = Vec::new();
    let mut names = Ids::default();
    let mut last_of_first = None;
    for conversation in conversations {
        if conversation.interactions.is_empty() {
            left.extend(conversation.without_case(run));
            continue;
        }
        match options.get("deepeval.cases") {
            Some("conversation") => cases.push(conversation.conversation(run, &mut names)),
            Some("run") => cases.extend(conversation.one(run).singles(run, &mut names)),
            _ => cases.extend(conversation.singles(run, &mut names)),
        }
        last_of_first = last_of_first.or_else(|| cases.len().checked_sub(1));
    }
    if let Some(first) = cases.first_mut() {
        if let Some(Json::Object(metadata)) = first.document.get_mut("additional_metadata") {
            metadata.add_filled("run", facts::of_run_and_agent(run));
        }
        first.losses.extend(left);
    }
    if options.is("deepeval.cases", "conversation") {
        return cases;
    }
    if let Some(case) = last_of_first.and_then(|last| cases.get_mut(last))
        && let Some(expected) = only_ideal(run)
    {
        case.document.insert("expected_output", content::text(expected));
        for case in &mut cases {
            case.losses.retain(|loss| loss.what != "ideal");
        }
    }
    if options.is("deepeval.expected", "run") {
        cases.iter_mut().for_each(|case| expect_the_same(&mut case.document));
    }
    let in_order = |case: Assembled<Object<'a>>| case.map(|case| SINGLE.in_order(case));
    cases.into_iter().map(in_order).collect()
}

/// Makes what the run did the expectation for future runs, unless another is recorded.
fn expect_the_same(case: &mut Object<'_>) {
    if let Some(output) = case.get("actual_output").map(Cow::into_owned).filter(|output| !output.is_null()) {
        case.insert_new("expected_output", output);
    }
    if let Some(tools) = case.get("tools_called").map(Cow::into_owned) {
        case.insert_filled("expected_tools", tools);
    }
}

/// The recorded ideal answer, if the operations agree on one.
fn only_ideal(run: &Run) -> Option<&Value> {
    let mut ideals = run.steps.iter().filter_map(|step| step.operation.training.ideal.as_ref());
    let first = ideals.next()?;
    ideals.all(|other| other == first).then_some(first)
}

/// An agent's conversation.
struct AgentConversation<'a> {
    agent: Option<&'a str>,
    system: Vec<Text<'a>>,
    /// The system prompts, trimmed.
    written_system: HashSet<String>,
    offered: OfferedTools<'a>,
    interactions: Vec<Interaction<'a>>,
    losses: Losses,
}

impl<'a> AgentConversation<'a> {
    fn new(agent: Option<&'a str>) -> Self {
        Self {
            agent,
            system: Vec::new(),
            written_system: HashSet::default(),
            offered: OfferedTools::default(),
            interactions: Vec::new(),
            losses: Losses::new(&PLACED),
        }
    }

    fn scope(&mut self, source: &CaseSource<'a>, exchanges: &Exchanges<'a>) {
        let (run, losses) = (source.run, &mut self.losses);
        let rounds = Rounds::of(&exchanges.list);
        for (message, exchange) in &rounds.prompts {
            let words = interaction::words(message, interaction::span(run, exchange), losses);
            if self.written_system.insert(words.trim().to_owned()) {
                self.system.push(words);
            }
        }
        for exchange in &rounds.strays {
            losses.add(interaction::span(run, exchange), "a result of no call", LossReason::NoPlace);
        }
        for round in &rounds.list {
            let interaction = Interaction::of(source, self.agent, round, &mut self.offered, losses);
            self.interactions.push(interaction);
        }
        for step in exchanges.rest.iter().filter_map(|id| id.of(run)) {
            let (agent, turns) = (self.agent, &source.turns);
            let is_written = |key: &str, value: &Json<'_>| match key {
                "agent" => value.as_str() == agent,
                _ => turns.contains(key, step),
            };
            // Written with the call of its tool, if that tool is not itself inside another.
            let is_written_search = |tool: &StepId| interaction::is_search(step) && exchanges.rest.binary_search(tool).is_err();
            if step.inside_tool.as_ref().is_some_and(is_written_search) {
                losses.step(run, step, |key, value| key == "error" || is_written(key, value));
            } else {
                losses.without_turn(turns, step, is_written);
            }
        }
    }

    /// Adds a question and an answer that no message from index `from` on contains; returns those that were not used.
    /// `is_of_run`: the question is the run's, whatever its models received.
    fn outside(
        &mut self,
        from: usize,
        (mut asked, is_of_run): (Option<Text<'a>>, bool),
        mut answer: Option<Text<'a>>,
    ) -> (Option<Text<'a>>, Option<Text<'a>>) {
        if self.interactions.len() == from && asked.is_some() && answer.is_some() {
            self.interactions.push(Interaction::default());
        }
        let new = || |interaction: &&mut Interaction<'a>| !interaction.is_old;
        if let Some(first) = self
            .interactions
            .iter_mut()
            .skip(from)
            .find(new())
            .filter(|first| is_of_run || first.input.is_none())
            && let Some(words) = asked.take()
            && let Some(prompt) = first.input.replace(words).filter(|prompt| !prompt.trim().is_empty())
        {
            // A model's prompt on the way is not the run's question.
            let is_same = first.input.as_ref().is_some_and(|input| interaction::same(input, &prompt));
            if !is_same {
                self.losses.add(first.span, "the prompt of a model call", LossReason::NoPlace);
            }
        }
        let last = self.interactions.iter_mut().skip(from).next_back().filter(new());
        if let Some(last) = last
            && let Some(answer) = answer.take()
            && !last.output.as_ref().is_some_and(|output| interaction::same(output, &answer))
        {
            last.earlier.extend(last.output.replace(answer));
        }
        for interaction in self.interactions.split_off(from) {
            if interaction.is_empty() {
                interaction.lost(&mut self.losses);
            } else {
                self.interactions.push(interaction);
            }
        }
        (asked, answer)
    }

    /// The losses of a conversation that yields no case.
    fn without_case(mut self, run: &'a Run) -> Vec<Loss> {
        let is_elsewhere = self.agent.is_none() || self.agent == run.agent.name.as_deref();
        let left = [
            ("agent", !is_elsewhere),
            ("system", !self.system.is_empty()),
            ("tool_definitions", !self.offered.list().is_null()),
        ];
        for (fact, _) in left.into_iter().filter(|(_, is_left)| *is_left) {
            self.losses.fact(None, fact);
        }
        self.losses.finish()
    }

    /// Joins the conversation into one round with the run's question and answer.
    fn one(mut self, run: &'a Run) -> Self {
        let mut whole = Interaction::default();
        for interaction in self.interactions {
            whole.join(interaction);
        }
        if let Some(question) = &run.question {
            whole.input = Some(content::text(&question.content))
                .filter(|words| !words.trim().is_empty())
                .or(whole.input);
        }
        if let Some(answer) = &run.answer {
            let words = content::text(&answer.content);
            whole.earlier.retain(|earlier| !interaction::same(earlier, &words));
            if !whole.output.as_ref().is_some_and(|output| interaction::same(output, &words)) {
                whole.earlier.extend(whole.output.replace(words));
            }
        }
        self.interactions = vec![whole];
        self
    }

    fn metadata(&self, run: &'a Run) -> Object<'a> {
        let mut out = Object::from([("trace_id", run.trace_id.to_string().into())]);
        out.add_filled("session_id", run.session_id.as_deref());
        out.add_filled("agent", self.agent);
        out.add_filled("system", self.system.iter().cloned().collect::<Json<'_>>());
        out.add_filled("tools", self.offered.list());
        out
    }

    /// One case per round. Messages from before the run go with the first one.
    fn singles(mut self, run: &'a Run, names: &mut Ids<'a>) -> Vec<Assembled<Object<'a>>> {
        let metadata = self.metadata(run);
        let (old, new): (Vec<_>, Vec<_>) = std::mem::take(&mut self.interactions)
            .into_iter()
            .partition(|interaction| interaction.is_old);
        let new = if new.is_empty() { vec![Interaction::default()] } else { new };
        let mut history: Vec<_> = old.into_iter().flat_map(Interaction::turns).collect();
        if !history.is_empty() {
            self.losses.add(None, "words from before the run", LossReason::Coerced);
        }
        let mut cases: Vec<Assembled<Object<'a>>> = Vec::new();
        let mut before: Option<Text<'a>> = None;
        for interaction in new {
            let name = names.numbered(run.trace_id.to_string(), ':');
            let mut metadata = metadata.clone();
            metadata.add_filled("history", history.drain(..).collect::<Json<'_>>());
            metadata.add_filled("follows", before.replace(name.clone()));
            metadata.add_filled("models", interaction.models.into_list().collect::<Json<'_>>());
            metadata.add_filled("reasoning", interaction.thoughts.into_iter().collect::<Json<'_>>());
            metadata.add_filled("earlier_outputs", interaction.earlier.into_iter().collect::<Json<'_>>());
            if interaction.input.is_none() {
                self.losses.add(interaction.span, "input", LossReason::Synthesized);
            }
            #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
            let seconds = interaction
                .from
                .zip(interaction.to)
                .map(|(from, to)| to.0.saturating_sub(from.0) as f64 / 1e9);
            let document = SINGLE.given([
                ("name", name.into()),
                ("input", interaction.input.unwrap_or_default().into()),
                ("actual_output", interaction.output.into()),
                ("tools_called", interaction.tools.into_iter().collect()),
                ("retrieval_context", interaction.retrieved.into_iter().collect()),
                ("input_token_count", interaction.input_tokens.into()),
                ("output_token_count", interaction.output_tokens.into()),
                ("token_cost", interaction.cost.into()),
                ("completion_time", seconds.into()),
                ("additional_metadata", metadata.into()),
            ]);
            cases.push(Assembled {
                document,
                losses: Vec::new(),
            });
        }
        if let Some(first) = cases.first_mut() {
            first.losses = self.losses.finish();
        }
        cases
    }

    /// The whole conversation as one multi-turn case.
    fn conversation(mut self, run: &'a Run, names: &mut Ids<'a>) -> Assembled<Object<'a>> {
        let metadata = self.metadata(run);
        for counted in ["usage", "cost", "times"] {
            self.losses.fact(None, counted);
        }
        let inputs = self.interactions.iter().filter_map(|interaction| interaction.input.clone());
        let scenario = inputs.chain(self.agent.map(Text::from)).find(|words| !words.trim().is_empty());
        self.losses.add(None, "scenario", LossReason::Synthesized);
        let document = CONVERSATION.given([
            ("name", names.numbered(run.trace_id.to_string(), ':').into()),
            ("scenario", scenario.unwrap_or_else(|| "unknown".into()).into()),
            ("turns", self.interactions.into_iter().flat_map(Interaction::turns).collect()),
            ("additional_metadata", metadata.into()),
        ]);
        let losses = self.losses.finish();
        Assembled { document, losses }
    }
}
