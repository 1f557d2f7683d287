#!/usr/bin/env python3
"""inspect_ai 0.3.285 (JSON logs and `.eval` containers); where it is installed, inspect_scout 0.6.1 for containers.

Its packages are in requirements-evals.txt: they want other versions of what those in requirements.txt want."""
import asyncio, os, shutil, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
try:
    from inspect_scout import transcripts_from
    from inspect_scout._transcript.types import TranscriptContent
except ImportError:
    transcripts_from = None

async def scouted(folder):
    found = []
    async with transcripts_from(folder).reader() as reader:
        async for info in reader.index():
            read = await reader.read(info, TranscriptContent(messages="all", events="all"))
            found.append((len(read.messages), len(read.events)))
    return found

def check(path, flags):
    log = read_eval_log(path)
    need(log.version == 2 and log.samples and len(log.samples) == 1, "no sample")
    sample = log.samples[0]
    begun = [e.id for e in sample.events if e.event == "span_begin"]
    need(len(begun) == len(set(begun)), "a span begins twice")
    need(sorted(begun) == sorted(e.id for e in sample.events if e.event == "span_end"), "a span does not end")
    for event in sample.events:
        need(event.span_id is None or event.span_id in begun, f"{event.event} in a span that did not begin")
        if event.event == "tool":
            need(event.agent_span_id is None or event.agent_span_id in begun, "an agent's span that did not begin")
    ids = {m.id for e in sample.events if e.event == "model" for m in e.input} | {m.id for m in sample.messages}
    for event in sample.events:
        if event.event == "tool" and event.message_id:
            need(event.message_id in ids or event.span_id != begun[0], f"no message {event.message_id}")
    models = sum(e.event == "model" for e in sample.events)
    scout = ""
    if path.endswith(".eval"):
        need(len(read_eval_log_sample_summaries(path)) == 1, "no summary")
        if transcripts_from:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(path, folder)
                found = asyncio.run(scouted(folder))
            need(len(found) == 1 and found[0][1] >= models, f"Scout sees {found}")
            scout = f", Scout: {found[0][0]} messages"
    return f"{log.status}: {len(sample.messages)} messages, {models} model calls, {len(sample.events)} events{scout}"

main(check)
