"""Respan's decorators and its own openai instrumentation."""
import os, sys
import drive
from respan import Respan, workflow, task, agent, tool
import openai
r = Respan(api_key="none", base_url=os.environ["RECORD_URL"], is_batching_enabled=False)
client = openai.OpenAI()
tools = {n: tool(name=n)(f) for n, f in drive.TOOLS.items()}


@agent(name="planner")
def plan(question):
    return drive.chat_loop(client, question, run=lambda _, n, a: tools[n](**a), stream="stream" in sys.argv)


@workflow(name="trip")
def trip(question):
    return plan(question)


drive.facts(question=drive.QUESTION)
drive.facts(final_answer=trip(drive.QUESTION))
r.flush()
