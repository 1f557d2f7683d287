"""A pydantic-ai agent: it makes its spans itself, once that is switched on."""
from pydantic_ai import Agent

Agent.instrument_all()
agent = Agent("openai:gpt-4o-mini", name="travel_agent")


@agent.tool_plain
def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return f"{city}: 18C sunny"


print(agent.run_sync("What is the weather in Paris and Tokyo?").output)
