#!/usr/bin/env python3
"""The rules that all trainers share; where they are installed: five templates of TRL 1.16, rendered and masked with a tokenizer of
bytes (transformers, jinja2, no torch); LLaMA-Factory's converter (its wheel unpacked in LLAMAFACTORY, same environment); OpenAI's
types and Mistral's validator for fine-tuning (openai, mistral-common); LangChain's matcher of trajectories (agentevals)."""
import importlib, json, os, sys, types
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
try:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    import trl.chat_template_utils as templates
    from trl.data_utils import _tokenize, is_conversational
except ImportError:
    templates = None

try:
    from typing import List
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
    from pydantic import TypeAdapter
    OPENAI, OPENAI_TOOLS = TypeAdapter(List[ChatCompletionMessageParam]), TypeAdapter(List[ChatCompletionToolUnionParam])
except ImportError:
    OPENAI = None
try:
    from mistral_common.protocol.instruct.messages import FinetuningMessage
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.instruct.validator import MistralRequestValidatorV3, MistralRequestValidatorV13, ValidationMode
except ImportError:
    FinetuningMessage = None
try:
    from agentevals.trajectory.match import create_trajectory_match_evaluator
except ImportError:
    create_trajectory_match_evaluator = None

def as_text(messages):
    """OpenAI's form: arguments as text, no reasoning."""
    def one(call):
        arguments = call["function"]["arguments"]
        return {**call, "function": {**call["function"], "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}}
    kept = ("role", "content", "tool_call_id", "name", "weight")
    out = []
    for message in messages:
        row = {key: value for key, value in message.items() if key in kept}
        if message.get("tool_calls"): row["tool_calls"] = [one(call) for call in message["tool_calls"]]
        out.append(row)
    return out

def openai(messages, tools):
    for message in OPENAI.validate_python([{key: value for key, value in m.items() if key != "weight"} for m in as_text(messages)]):
        list(message.get("tool_calls") or [])  # read lazily: walk it
    OPENAI_TOOLS.validate_python(tools or [])
    return "OpenAI's types"

def mistral(messages, tools):
    """v13 takes any id, those before it nine letters and digits."""
    ids = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    short = all(len(id) == 9 and id.isalnum() for id in ids)
    validator = (MistralRequestValidatorV3 if short else MistralRequestValidatorV13)(mode=ValidationMode.finetuning)
    try:
        validator.validate_request(ChatCompletionRequest[FinetuningMessage](messages=as_text(messages), tools=tools))
    except Exception as error:
        # Names that it does not allow are the agent's own. It does not look at the calls of a first message, as the page says.
        begins = bool(messages[0].get("tool_calls")) and "Unexpected tool call id" in str(error)
        need(begins or "Function name was" in str(error), f"Mistral: {error}")
        return f"Mistral: {error}"
    return f"Mistral {'v3' if short else 'v13'}"

def agentevals(messages):
    same = create_trajectory_match_evaluator(trajectory_match_mode="strict")(outputs=messages, reference_outputs=messages)
    need(same["score"] is True, "agentevals does not find a trajectory equal to itself")
    return "agentevals"

def llama_factory(root):
    """Its converter without torch: stand-ins for what the module imports and does not use here."""
    def package(name, path):
        module = types.ModuleType(name); module.__path__ = [path]; sys.modules[name] = module; return module
    package("peft", "")
    utils = types.ModuleType("peft.utils")
    utils.SAFETENSORS_WEIGHTS_NAME = utils.WEIGHTS_NAME = "x"
    sys.modules["peft.utils"] = utils
    for name in ("", "/data", "/extras"):
        package("llamafactory" + name.replace("/", "."), root + name)
    tags = dict(role_tag="role", content_tag="content", user_tag="user", assistant_tag="assistant", observation_tag="tool",
                function_tag="function", system_tag="system")
    columns = dict(system=None, tools="tools", images=None, videos=None, audios=None, ranking=False, kto_tag=None, chosen=None,
                   rejected=None, load_from="file", messages="messages")
    converter = importlib.import_module("llamafactory.data.converter")
    return converter.OpenAIDatasetConverter(types.SimpleNamespace(**columns, **tags), types.SimpleNamespace(media_dir="."))

FACTORY = llama_factory(os.environ["LLAMAFACTORY"]) if os.environ.get("LLAMAFACTORY") else None

def factory(messages, tools):
    """What it drops in silence, the page of the format says: a row that begins with the assistant, a user right after results."""
    roles = [message["role"] for message in messages if message["role"] != "system"]
    odd = roles[:1] != ["user"] or any(a == "tool" and b == "user" for a, b in zip(roles, roles[1:]))
    out = FACTORY({"messages": messages, "tools": json.dumps(tools or [])})
    if odd and not out["_response"]:
        return "LLaMA-Factory drops it, as the page says"
    need(out["_response"], "LLaMA-Factory drops the row")
    for message in out["_prompt"] + out["_response"]:
        if message["role"] == "function":
            need(all(isinstance(call["arguments"], dict) for call in json.loads(message["content"])), "arguments are encoded twice")
    return f"{len(out['_prompt'] + out['_response'])} messages in LLaMA-Factory"

TEMPLATES = ("qwen3_training", "qwen3_6_training", "gptoss_training", "nemotron_3_nano_training", "glm4moe_training")

def tokenizer():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    of_bytes = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(letters)}, merges=[]))
    of_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    of_bytes.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=of_bytes, eos_token="<|im_end|>", pad_token="<pad>")

def rules(messages):
    need(messages[-1]["role"] == "assistant", "the last message is not the assistant's")
    waiting, ids, before = [], set(), None
    for at, message in enumerate(messages):
        role = message["role"]
        need(role in ("system", "user", "assistant", "tool"), f"role {role}")
        need(isinstance(message["content"], str), f"content of message {at}")
        need(role != "system" or at == 0, "a later system message")
        need(role == "tool" or role != before, f"two {role} messages in a row")
        if role == "tool":
            need(waiting and waiting.pop(0) == message["tool_call_id"], "a result that does not follow its call")
        else:
            need(not waiting, "a call without a result")
        for call in message.get("tool_calls", []):
            need(call["id"] not in ids, f"call id {call['id']} twice")
            ids.add(call["id"]); waiting.append(call["id"])
            arguments = call["function"]["arguments"]
            need(isinstance(loads(arguments) if isinstance(arguments, str) else arguments, dict), "arguments are no object")
        before = role

def check(path, flags):
    row = load(path)
    messages, tools = row["messages"] if "messages" in row else row["prompt"] + row["completion"], row.get("tools")
    tools = loads(tools) if isinstance(tools, str) else tools
    rules(messages)
    rendered = []
    is_object = all(isinstance(call["function"]["arguments"], dict) for message in messages for call in message.get("tool_calls", []))
    # Templates want arguments as objects: the flavour with text is for others.
    for name in TEMPLATES if templates and is_object else ():
        need(is_conversational(row), "TRL does not see a conversation")
        words = (templates._CHAT_TEMPLATES_DIR / f"{name}.jinja").read_text()
        try:
            out = _tokenize(tokenizer(), messages, chat_template=words, tools=tools, return_assistant_tokens_mask=True)
        except Exception as error:
            # What a template itself refuses: it says so in words.
            need("TemplateError" in type(error).__name__, f"{name}: {error}")
            rendered.append(f"{name}: {error}")
        else:
            rendered.append(f"{name}: {sum(out['assistant_masks'])} of {len(out['input_ids'])}")
    if OPENAI: rendered.append(openai(messages, tools))
    if FinetuningMessage: rendered.append(mistral(messages, tools))
    if create_trajectory_match_evaluator: rendered.append(agentevals(messages))
    if FACTORY and is_object: rendered.append(factory(messages, tools))
    return f"{len(messages)} messages, {len(tools or [])} tools; " + "; ".join(rendered)

main(check)
