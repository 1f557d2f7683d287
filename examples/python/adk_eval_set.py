"""Recorded runs as a Google ADK eval set. usage: adk_eval_set.py FILE

spanbridge convert --to adk --output sets FILE...
"""
import sys
from google.adk.evaluation.eval_set import EvalSet

cases = EvalSet.model_validate_json(open(sys.argv[1]).read()).eval_cases
for case in cases:
    for turn in case.conversation:
        print(turn.user_content.parts[0].text, "->", turn.final_response.parts[0].text if turn.final_response else "(no answer)")
