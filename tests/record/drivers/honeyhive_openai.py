"""HoneyHive's decorators around a loop on openai, with OpenInference's instrumentation on its provider."""
import os
import sys
import drive
from honeyhive import HoneyHiveTracer, trace
tracer = HoneyHiveTracer.init(api_key="none", project="trips", session_name="trips", server_url=os.environ["RECORD_URL"], disable_batch=True)
if "oi" in sys.argv:
    from openinference.instrumentation.openai import OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=tracer.provider)
import openai
client = openai.OpenAI()
tools = {n: trace(event_type="tool", event_name=n)(f) for n, f in drive.TOOLS.items()}


class Client:  # a model call by hand
    class chat:
        class completions:
            @staticmethod
            @trace(event_type="model", event_name="chat")
            def create(model, messages, tools, temperature=None):
                return client.chat.completions.create(model=model, messages=messages, tools=tools)


@trace(event_type="chain", event_name="plan_trip")
def plan(question):
    return drive.chat_loop(client if "oi" in sys.argv else Client, question, run=lambda _, n, a: tools[n](**a))


drive.facts(question=drive.QUESTION)
drive.facts(final_answer=plan(drive.QUESTION))
tracer.force_flush()
