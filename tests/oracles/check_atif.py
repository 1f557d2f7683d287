#!/usr/bin/env python3
"""atif 1.8.0; where they are installed, harbor 0.25.0 (the file validator; Python 3.12), nvidia-nat-atif 1.9.0, arize-phoenix-client."""
import os, sys
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

def extras(document):
    for step in document["steps"]:
        yield step.get("extra", {})
        for call in step.get("tool_calls", []):
            yield call.get("extra", {})
    for inner in document.get("subagent_trajectories", []):
        yield from extras(inner)

def check(path, flags):
    document = load(path)
    if TrajectoryValidator:
        validator = TrajectoryValidator()
        need(validator.validate(path), str(validator.errors))
    read = atif.Trajectory.model_validate(document)
    if NeMo:
        NeMo.model_validate(document)
    for extra in extras(document) if NeMo else ():
        if "ancestry" in extra: AtifAncestry.model_validate(extra["ancestry"])
        if "invocation" in extra: AtifInvocationInfo.model_validate(extra["invocation"])
    spans = f", {len(phoenix([document]))} spans in Phoenix" if phoenix else ""
    return f"{read.schema_version}: {len(read.steps)} steps, {len(read.subagent_trajectories or [])} sub-agents{spans}"

main(check)
