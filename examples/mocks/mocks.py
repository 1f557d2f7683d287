"""Answers the tool calls of an agent from a recorded run: `spanbridge convert --to mocks traces.json > mocks.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class MockedError(Exception):
    """The recorded call failed; `type` is the recorded type of its error, if any."""

    def __init__(self, message: str, type: str | None = None):
        super().__init__(message)
        self.type = type


class UnknownCall(LookupError):
    """Nothing was recorded that answers a call."""


class Mocks:
    """The calls of a run, by tool. `ignore`: names of arguments that need not be the same, by tool; `*` is for every tool."""

    def __init__(self, calls: list[dict[str, Any]], ignore: dict[str, list[str]] | None = None):
        self.calls = calls
        self.ignore = ignore or {}
        self.used: set[int] = set()

    @classmethod
    def load(cls, path: str | Path, ignore: dict[str, list[str]] | None = None) -> "Mocks":
        lines = Path(path).read_text(encoding="utf-8").split("\n")
        return cls([json.loads(line) for line in lines if line.strip()], ignore)

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The recorded result of a call; raises MockedError where it failed, and UnknownCall where none was recorded."""
        ignored = set(self.ignore.get(tool, [])) | set(self.ignore.get("*", []))
        of_tool = [number for number, call in enumerate(self.calls) if call["tool"] == tool]
        for left_out in (set(), ignored):
            wanted = _without(arguments, left_out)
            same = [number for number in of_tool if _without(self.calls[number]["arguments"], left_out) == wanted]
            if same:
                unused = [number for number in same if number not in self.used]
                number = unused[0] if unused else same[-1]
                self.used.add(number)
                return _answer(self.calls[number])
        recorded = [json.dumps(self.calls[number]["arguments"]) for number in of_tool]
        known = "; recorded: " + ", ".join(recorded) if recorded else "; the tool was not called in the run"
        raise UnknownCall(f"no recorded call answers {tool}({json.dumps(arguments)}){known}")

    def unused(self) -> list[dict[str, Any]]:
        """The recorded calls that nothing asked for."""
        return [call for number, call in enumerate(self.calls) if number not in self.used]


def _without(arguments: Any, names: set[str]) -> Any:
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if name not in names}


def _answer(call: dict[str, Any]) -> Any:
    if "error" in call:
        raise MockedError(call["error"]["message"], call["error"].get("type"))
    if "result" not in call:
        raise UnknownCall(f"the result of {call['tool']}({json.dumps(call['arguments'])}) was not recorded")
    return call["result"]
