#!/usr/bin/env python3
"""atif 1.8.0; where they are installed, harbor (its file validator, its session files of Claude Code and
Codex, its rows for fine-tuning; Python 3.12), nvidia-nat-atif 1.9.0, arize-phoenix-client 3.5.0 and docent 0.1.88."""
import json, os, sys
from pathlib import Path
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _common import *
import atif
try:
    from harbor.utils.trajectory_validator import TrajectoryValidator
except ImportError:
    TrajectoryValidator = None
try:
    from nat.atif import Trajectory as NeMo
    from nat.atif.atif_step_extra import AtifAncestry, AtifInvocationInfo
except ImportError:
    NeMo = None
try:
    from phoenix.client.helpers.atif import _convert_atif_trajectories_to_spans as phoenix
except ImportError:
    phoenix = None

try:
    from docent.sdk.integrations.harbor import convert_atif_to_agent_run as docent
except ImportError:
    docent = None
try:
    import logging
    from harbor.agents.installed.claude_code import ClaudeCode
    from harbor.agents.installed.codex import Codex
    from harbor.models.trajectories import Trajectory
    from harbor.utils.traces_utils import extract_conversations_from_trajectory as harbor_rows
except ImportError:
    Trajectory = None

def values(value):
    """Every value of a document; JSON text also as what it holds."""
    yield value
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            yield from values(json.loads(value))
        except ValueError:
            pass
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from values(inner)

def replayed(document):
    """harbor's session files for Claude Code and Codex hold every message, call and result of the steps."""
    read, told = Trajectory.model_validate(document), []
    for kind in (ClaudeCode, Codex):
        agent = kind.__new__(kind)
        agent.logger, agent.model_name = logging.getLogger("replay"), "model"
        name, text = agent.atif_to_native_trajectory(read, "11111111-1111-1111-1111-111111111111")
        have = [v for line in text.splitlines() for v in values(json.loads(line))]
        texts = [v for v in have if isinstance(v, str)]
        for at, step in enumerate(document["steps"]):
            # Claude Code has no place for the system's words.
            wanted = [] if kind is ClaudeCode and step["source"] == "system" else [step["message"]]
            if isinstance(step["message"], list):
                wanted = [part["text"] for part in step["message"] if part["type"] == "text"]
            for result in (step.get("observation") or {}).get("results", []):
                # harbor leaves out what answers no call; the documents that are written here have none.
                if isinstance(result.get("content"), str) and result.get("source_call_id"): wanted.append(result["content"])
            for words in wanted:
                need(not words.strip() or any(words.strip() in text for text in texts), f"{kind.__name__}: steps[{at}] has lost {words[:80]!r}")
            for call in step.get("tool_calls") or []:
                need(call["tool_call_id"] in texts, f"{kind.__name__}: steps[{at}] has lost the call {call['tool_call_id']}")
                need(call["function_name"] in texts, f"{kind.__name__}: steps[{at}] has lost the name {call['function_name']}")
                need(call["arguments"] in have, f"{kind.__name__}: steps[{at}] has lost the arguments of {call['tool_call_id']}")
        told.append(f"{len(text.splitlines())} lines for {kind.__name__}")
    return told

def rows(path, document):
    images = any(part["type"] != "text" for step in document["steps"] if isinstance(step["message"], list) for part in step["message"])
    if images:
        return "no rows: harbor writes none with images"
    about = dict(agent_name="a", model_name="m", model_provider="p", start_time="", run_id="r")
    return f"{len(harbor_rows(Path(path), about))} rows in harbor"

def inside_docent(document):
    """Docent refuses sub-agents, images and sounds: of those documents it says so."""
    text = json.dumps(document)
    if '"subagent_trajectory_ref"' in text or '"source": {"media_type"' in text:
        return "Docent takes no sub-agents and no media"
    return f"{len(docent(document).transcripts[0].messages)} messages in Docent"

def extras(document):
    for step in document["steps"]:
        yield step.get("extra") or {}
        for call in step.get("tool_calls") or []:
            yield call.get("extra") or {}
    for inner in document.get("subagent_trajectories") or []:
        yield from extras(inner)

def check(path, flags):
    document = load(path)
    if TrajectoryValidator:
        validator = TrajectoryValidator()
        need(validator.validate(path), str(validator.errors))
    read = atif.Trajectory.model_validate(document)
    # NeMo's types end at version 1.7: sounds came later.
    if NeMo and document["schema_version"] != "ATIF-v1.8":
        NeMo.model_validate(document)
    for extra in extras(document) if NeMo else ():
        if "ancestry" in extra: AtifAncestry.model_validate(extra["ancestry"])
        if "invocation" in extra: AtifInvocationInfo.model_validate(extra["invocation"])
    told = [f"{read.schema_version}: {len(read.steps)} steps, {len(read.subagent_trajectories or [])} sub-agents"]
    if phoenix:
        told.append(f"{len(phoenix([document]))} spans in Phoenix")
    if docent:
        told.append(inside_docent(document))
    if Trajectory:
        told += replayed(document) + [rows(path, document)]
    return ", ".join(told)

main(check)
