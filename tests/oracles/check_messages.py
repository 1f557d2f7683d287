#!/usr/bin/env python3
"""The rules that all trainers share; with TRL 1.16 (transformers, jinja2, no torch): five of its templates, rendered and masked
with a tokenizer of bytes."""
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
try:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    import trl.chat_template_utils as templates
    from trl.data_utils import _tokenize, is_conversational
except ImportError:
    templates = None

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
    messages, tools = row["messages"], row.get("tools")
    tools = loads(tools) if isinstance(tools, str) else tools
    rules(messages)
    rendered = []
    for name in TEMPLATES if templates else ():
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
    return f"{len(messages)} messages, {len(tools or [])} tools; " + "; ".join(rendered)

main(check)
