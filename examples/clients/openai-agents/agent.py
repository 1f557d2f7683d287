"""An agent of the OpenAI Agents SDK: OpenInference's instrumentation makes all the spans."""
from agents import Agent, Runner, function_tool


@function_tool
def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return f"{city}: 18C sunny"


agent = Agent(name="travel_agent", model="gpt-4o-mini", tools=[get_weather])
print(Runner.run_sync(agent, "What is the weather in Paris and Tokyo?").final_output)
