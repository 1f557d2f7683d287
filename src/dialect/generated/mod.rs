//! Rules of the dialects in `semconv/`, one file a dialect.
// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

mod prelude {
    pub(super) use crate::dialect::rule::{Codec, Condition, Field, List, Place, Rule, Text};
    pub(super) use crate::operation::Kind;
    use std::borrow::Cow;

    pub(super) const fn t(text: &'static str) -> Text {
        Cow::Borrowed(text)
    }
    pub(super) const fn l(list: &'static [Text]) -> List<Text> {
        Cow::Borrowed(list)
    }
    pub(super) const fn p(list: &'static [(Text, Text)]) -> List<(Text, Text)> {
        Cow::Borrowed(list)
    }
    pub(super) const fn k(list: &'static [Kind]) -> List<Kind> {
        Cow::Borrowed(list)
    }
}

mod adk_rust;
mod agent_framework_rs;
mod anthropic;
mod anthropic_go;
mod claude_code;
mod codex;
mod gemini_cli;
mod gen_ai;
mod gen_ai_events;
mod genkit;
mod google_adk_java;
mod koog;
mod laminar;
mod langfuse;
mod langsmith;
mod mcp;
mod mlflow;
mod openinference;
mod openinference_vercel;
mod openllmetry;
mod openllmetry_old;
mod otel;
mod pydantic_ai;
mod pydantic_ai_1;
mod quarkus_langchain4j;
mod rig;
mod short;
mod spanbridge;
mod spring_ai;
mod strands;
mod vercel_ai;
mod vercel_ai_7;
mod voltagent;

/// The rules, by dialect.
pub static TABLES: &[&[crate::dialect::Rule]] = &[
    adk_rust::RULES,
    agent_framework_rs::RULES,
    anthropic::RULES,
    anthropic_go::RULES,
    claude_code::RULES,
    codex::RULES,
    gemini_cli::RULES,
    gen_ai::RULES,
    gen_ai_events::RULES,
    genkit::RULES,
    google_adk_java::RULES,
    koog::RULES,
    laminar::RULES,
    langfuse::RULES,
    langsmith::RULES,
    mcp::RULES,
    mlflow::RULES,
    openinference::RULES,
    openinference_vercel::RULES,
    openllmetry::RULES,
    openllmetry_old::RULES,
    otel::RULES,
    pydantic_ai::RULES,
    pydantic_ai_1::RULES,
    quarkus_langchain4j::RULES,
    rig::RULES,
    short::RULES,
    spanbridge::RULES,
    spring_ai::RULES,
    strands::RULES,
    vercel_ai::RULES,
    vercel_ai_7::RULES,
    voltagent::RULES,
];
