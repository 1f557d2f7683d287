// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

pub(super) static NONE: &[&str] = &["langchain", "langgraph", "crewai", "autogen", "autogen_agentchat", "openai_agents", "pydantic_ai", "llamaindex", "llama_index", "agno", "haystack", "dspy", "google_adk", "strands-agents", "spring_ai", "koog", "gcp.vertex.agent", "unknown", "_other", "none", ""];
pub(super) static SPELLINGS: &[(&str, &str)] = &[("az.ai.openai", "azure.openai"), ("azure.ai.openai", "azure.openai"), ("azure_openai", "azure.openai"), ("azure-openai", "azure.openai"), ("gemini", "gcp.gemini"), ("gcp.gen_ai", "gcp.gemini"), ("gcp_gemini", "gcp.gemini"), ("vertex_ai", "gcp.vertex_ai"), ("vertexai", "gcp.vertex_ai"), ("google_vertexai", "gcp.vertex_ai"), ("x_ai", "xai")];
pub(super) static WITH_API: &[&str] = &["openai", "anthropic", "mistral", "cohere", "groq", "xai"];
