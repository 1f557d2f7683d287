"""What every driver shares: the tools, the question, and a word to the recorder of each run."""
import functools, json, os, time, urllib.request

URL = os.environ.get("RECORD_URL", "http://127.0.0.1:1")
QUESTION = "What is the weather in Paris and Tokyo, and the time?"
SYSTEM = "You are a concise travel assistant."
MODEL = "gpt-4o-mini"


def tell(path, value):
    request = urllib.request.Request(URL + "/record/" + path, json.dumps(value).encode(), {"content-type": "application/json"})
    urllib.request.urlopen(request).read()


def facts(**values):
    tell("facts", values)


def recorded(tool):
    """The tool, telling the recorder of each run."""
    @functools.wraps(tool)
    def run(*args, **kwargs):
        named = dict(zip(("city",), args)) | kwargs
        told = {"name": tool.__name__, "args": named, "t": time.time()}
        try:
            told["result"] = tool(**named)
            return told["result"]
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            tell("run", told)
    return run


@recorded
def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return {"Paris": "Paris: 18C sunny", "Tokyo": "Tokyo: 22C cloudy"}[city]


@recorded
def get_time(city: str) -> str:
    """Get local time."""
    return f"{city} 14:05"


@recorded
def get_population(city: str) -> str:
    """Get the number of people in a city."""
    raise ValueError(f"no such city: {city}")


TOOLS = {f.__name__: f for f in (get_weather, get_time, get_population)}


def schema(name):
    return {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def chat_tools(*names):
    return [{"type": "function", "function": {"name": n, "description": TOOLS[n].__doc__, "parameters": schema(n)}} for n in names]


def chat_loop(client, question=QUESTION, run=None, names=("get_weather", "get_time", "get_population"), stream=False, history=None, model=MODEL):
    """An agent on the chat completions of the openai package; `run(call id, name, arguments)` runs a tool."""
    run = run or (lambda _, name, args: TOOLS[name](**args))
    messages = history if history is not None else [{"role": "system", "content": SYSTEM}]
    messages.append({"role": "user", "content": question})
    while True:
        if stream:
            text, calls = "", {}
            for chunk in client.chat.completions.create(model=model, messages=messages, tools=chat_tools(*names), stream=True, stream_options={"include_usage": True}):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for c in choice.delta.tool_calls or []:
                        have = calls.setdefault(c.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                        have["id"] += c.id or ""
                        have["function"]["name"] += c.function.name or ""
                        have["function"]["arguments"] += c.function.arguments or ""
            message = {"role": "assistant", "content": text} | ({"tool_calls": list(calls.values())} if calls else {})
        else:
            message = client.chat.completions.create(model=model, messages=messages, tools=chat_tools(*names), temperature=0.2).choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            try:
                result = run(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            except Exception as error:
                result = f"Error: {error}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result if isinstance(result, str) else json.dumps(result)})
