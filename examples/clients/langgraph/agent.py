"""A LangGraph agent: OpenInference's instrumentation of LangChain makes all the spans."""
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain.agents import create_agent


@tool
def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return f"{city}: 18C sunny"


agent = create_agent(ChatOpenAI(model="gpt-4o-mini"), [get_weather], name="travel_agent")
result = agent.invoke({"messages": [("user", "What is the weather in Paris and Tokyo?")]})
print(result["messages"][-1].content)
