"""Phoenix's register and the decorators of its tracer; model calls by hand."""
import os
import drive
from phoenix.otel import register
provider = register(endpoint=os.environ["RECORD_URL"] + "/v1/traces", batch=False, verbose=False, protocol="http/protobuf")
tracer = provider.get_tracer("trips")
import openai
client = openai.OpenAI()
tools = {n: tracer.tool(f.__wrapped__ and f) for n, f in drive.TOOLS.items()}


class Client:
    class chat:
        class completions:
            @staticmethod
            @tracer.llm
            def create(model, messages, tools, temperature=None):
                return client.chat.completions.create(model=model, messages=messages, tools=tools)


@tracer.agent
def plan_trip(question):
    return drive.chat_loop(Client, question, run=lambda _, n, a: tools[n](**a))


drive.facts(question=drive.QUESTION)
drive.facts(final_answer=plan_trip(drive.QUESTION))
provider.force_flush()
