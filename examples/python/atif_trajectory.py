"""Recorded runs as ATIF trajectories, which harbor reads too. usage: atif_trajectory.py FILE

spanbridge convert --to atif FILE... > trajectories.jsonl
"""
import sys
from atif import Trajectory

for line in open(sys.argv[1]):
    trajectory = Trajectory.model_validate_json(line)
    for step in trajectory.steps:
        print(step.step_id, step.source, step.message if isinstance(step.message, str) else "(parts)", len(step.tool_calls or []), "calls")
