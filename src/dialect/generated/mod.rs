//! Rules of the dialects in `semconv/`, one file a dialect.
// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

mod prelude {
    pub(super) use crate::dialect::rule::{Codec, Condition, Field, InverseRule, Location, Rule};
    pub(super) use crate::operation::Kind;
}

#[rustfmt::skip]
mod adk_rust;
#[rustfmt::skip]
mod ag2;
#[rustfmt::skip]
mod agent365;
#[rustfmt::skip]
mod agent_framework_rs;
#[rustfmt::skip]
mod agenta;
#[rustfmt::skip]
mod agento11y;
#[rustfmt::skip]
mod agentops;
#[rustfmt::skip]
mod agentscope;
#[rustfmt::skip]
mod anthropic;
#[rustfmt::skip]
mod anthropic_go;
#[rustfmt::skip]
mod any_agent;
#[rustfmt::skip]
mod ax;
#[rustfmt::skip]
mod azure_agents;
#[rustfmt::skip]
mod braintrust;
#[rustfmt::skip]
mod brokle;
#[rustfmt::skip]
mod claude_code;
#[rustfmt::skip]
mod cloudflare_agents;
#[rustfmt::skip]
mod codex;
#[rustfmt::skip]
mod copilot;
#[rustfmt::skip]
mod dify;
#[rustfmt::skip]
mod effect;
#[rustfmt::skip]
mod eino;
#[rustfmt::skip]
mod embabel;
#[rustfmt::skip]
mod eve;
#[rustfmt::skip]
mod gemini_cli;
#[rustfmt::skip]
mod gen_ai;
#[rustfmt::skip]
mod gen_ai_events;
#[rustfmt::skip]
mod genai_otel;
#[rustfmt::skip]
mod genkit;
#[rustfmt::skip]
mod google_adk;
#[rustfmt::skip]
mod google_adk_java;
#[rustfmt::skip]
mod google_genai;
#[rustfmt::skip]
mod goose;
#[rustfmt::skip]
mod haystack;
#[rustfmt::skip]
mod honeyhive;
#[rustfmt::skip]
mod judgeval;
#[rustfmt::skip]
mod koog;
#[rustfmt::skip]
mod laminar;
#[rustfmt::skip]
mod langfuse;
#[rustfmt::skip]
mod langgraph;
#[rustfmt::skip]
mod langsmith;
#[rustfmt::skip]
mod langtrace;
#[rustfmt::skip]
mod langwatch;
#[rustfmt::skip]
mod litellm;
#[rustfmt::skip]
mod livekit;
#[rustfmt::skip]
mod llama_index;
#[rustfmt::skip]
mod llm_tracekit;
#[rustfmt::skip]
mod logfire;
#[rustfmt::skip]
mod logfire_openai_agents;
#[rustfmt::skip]
mod loongsuite;
#[rustfmt::skip]
mod mastra;
#[rustfmt::skip]
mod mcp;
#[rustfmt::skip]
mod mirascope;
#[rustfmt::skip]
mod mlflow;
#[rustfmt::skip]
mod monocle;
#[rustfmt::skip]
mod nemo_agent_toolkit;
#[rustfmt::skip]
mod nemo_relay;
#[rustfmt::skip]
mod netra;
#[rustfmt::skip]
mod openai_agents_opentelemetry;
#[rustfmt::skip]
mod openclaw;
#[rustfmt::skip]
mod openinference;
#[rustfmt::skip]
mod openinference_beeai;
#[rustfmt::skip]
mod openinference_google_adk;
#[rustfmt::skip]
mod openinference_openlit;
#[rustfmt::skip]
mod openinference_vercel;
#[rustfmt::skip]
mod openlit;
#[rustfmt::skip]
mod openllmetry;
#[rustfmt::skip]
mod openllmetry_old;
#[rustfmt::skip]
mod openrouter;
#[rustfmt::skip]
mod opentelemetry_hooks;
#[rustfmt::skip]
mod otel;
#[rustfmt::skip]
mod pipecat;
#[rustfmt::skip]
mod promptflow;
#[rustfmt::skip]
mod pydantic_ai;
#[rustfmt::skip]
mod pydantic_ai_1;
#[rustfmt::skip]
mod pydantic_evals;
#[rustfmt::skip]
mod quarkus_langchain4j;
#[rustfmt::skip]
mod qwen_code;
#[rustfmt::skip]
mod respan;
#[rustfmt::skip]
mod rig;
#[rustfmt::skip]
mod sentry;
#[rustfmt::skip]
mod short;
#[rustfmt::skip]
mod spanbridge;
#[rustfmt::skip]
mod splunk;
#[rustfmt::skip]
mod spring_ai;
#[rustfmt::skip]
mod strands;
#[rustfmt::skip]
mod tanstack;
#[rustfmt::skip]
mod tmam;
#[rustfmt::skip]
mod traceai;
#[rustfmt::skip]
mod trpc_agent_go;
#[rustfmt::skip]
mod trulens;
#[rustfmt::skip]
mod unknown;
#[rustfmt::skip]
mod vercel_ai;
#[rustfmt::skip]
mod vercel_ai_7;
#[rustfmt::skip]
mod vllm;
#[rustfmt::skip]
mod voltagent;
#[rustfmt::skip]
mod weave;
#[rustfmt::skip]
pub(super) mod frameworks;

/// The rules, by dialect.
#[rustfmt::skip]
pub(super) static TABLES: &[&[crate::dialect::Rule]] = &[
    adk_rust::RULES,
    ag2::RULES,
    agent365::RULES,
    agent_framework_rs::RULES,
    agenta::RULES,
    agento11y::RULES,
    agentops::RULES,
    agentscope::RULES,
    anthropic::RULES,
    anthropic_go::RULES,
    any_agent::RULES,
    ax::RULES,
    azure_agents::RULES,
    braintrust::RULES,
    brokle::RULES,
    claude_code::RULES,
    cloudflare_agents::RULES,
    codex::RULES,
    copilot::RULES,
    dify::RULES,
    effect::RULES,
    eino::RULES,
    embabel::RULES,
    eve::RULES,
    gemini_cli::RULES,
    gen_ai::RULES,
    gen_ai_events::RULES,
    genai_otel::RULES,
    genkit::RULES,
    google_adk::RULES,
    google_adk_java::RULES,
    google_genai::RULES,
    goose::RULES,
    haystack::RULES,
    honeyhive::RULES,
    judgeval::RULES,
    koog::RULES,
    laminar::RULES,
    langfuse::RULES,
    langgraph::RULES,
    langsmith::RULES,
    langtrace::RULES,
    langwatch::RULES,
    litellm::RULES,
    livekit::RULES,
    llama_index::RULES,
    llm_tracekit::RULES,
    logfire::RULES,
    logfire_openai_agents::RULES,
    loongsuite::RULES,
    mastra::RULES,
    mcp::RULES,
    mirascope::RULES,
    mlflow::RULES,
    monocle::RULES,
    nemo_agent_toolkit::RULES,
    nemo_relay::RULES,
    netra::RULES,
    openai_agents_opentelemetry::RULES,
    openclaw::RULES,
    openinference::RULES,
    openinference_beeai::RULES,
    openinference_google_adk::RULES,
    openinference_openlit::RULES,
    openinference_vercel::RULES,
    openlit::RULES,
    openllmetry::RULES,
    openllmetry_old::RULES,
    openrouter::RULES,
    opentelemetry_hooks::RULES,
    otel::RULES,
    pipecat::RULES,
    promptflow::RULES,
    pydantic_ai::RULES,
    pydantic_ai_1::RULES,
    pydantic_evals::RULES,
    quarkus_langchain4j::RULES,
    qwen_code::RULES,
    respan::RULES,
    rig::RULES,
    sentry::RULES,
    short::RULES,
    spanbridge::RULES,
    splunk::RULES,
    spring_ai::RULES,
    strands::RULES,
    tanstack::RULES,
    tmam::RULES,
    traceai::RULES,
    trpc_agent_go::RULES,
    trulens::RULES,
    unknown::RULES,
    vercel_ai::RULES,
    vercel_ai_7::RULES,
    vllm::RULES,
    voltagent::RULES,
    weave::RULES,
];

/// The inverse rules, of the dialects that are written.
#[rustfmt::skip]
pub(crate) static INVERSE_TABLES: &[&[crate::dialect::rule::InverseRule]] = &[
    gen_ai::INVERSE_RULES,
    mcp::INVERSE_RULES,
    openinference::INVERSE_RULES,
    spanbridge::INVERSE_RULES,
];
