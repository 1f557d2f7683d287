"""Tests the loader. With a path, also on mocks that `spanbridge convert --to mocks` wrote: each call gets its own answer."""

import json
import sys

from mocks import MockedError, Mocks, UnknownCall


def main() -> None:
    lines = [
        {"tool": "add", "arguments": {"a": 1, "id": "x"}, "result": 1},
        {"tool": "add", "arguments": {"a": 1, "id": "x"}, "result": 2},
        {"tool": "add", "arguments": {"a": 5}, "error": {"message": "too large", "type": "ValueError"}},
        {"tool": "add", "arguments": {"a": 6}},
    ]
    mocks = Mocks(lines, ignore={"add": ["id"]})
    # In order, then the last one again; the argument that the rule names may differ.
    assert [mocks.call("add", {"a": 1, "id": "x"}) for _ in range(3)] == [1, 2, 2]
    assert mocks.call("add", {"a": 1, "id": "y"}) == 2
    assert len(mocks.unused()) == 2
    for arguments, error, words in [
        ({"a": 5}, MockedError, "too large"),
        ({"a": 6}, UnknownCall, "was not recorded"),
        ({"a": 7}, UnknownCall, 'recorded: {"a": 1, "id": "x"}'),
    ]:
        try:
            mocks.call("add", arguments)
        except error as raised:
            assert words in str(raised), raised
        else:
            raise AssertionError(f"{arguments} is answered")
    for path in sys.argv[1:]:
        mocks = Mocks.load(path)
        for call in mocks.calls:
            try:
                answer = {"result": mocks.call(call["tool"], call["arguments"])}
            except MockedError as error:
                answer = {"error": {"message": str(error), **({"type": error.type} if error.type else {})}}
            except UnknownCall:
                answer = {}
            assert answer == {key: call[key] for key in ("result", "error") if key in call}, json.dumps(call)
        assert mocks.calls and not mocks.unused(), path
    print("ok")


if __name__ == "__main__":
    main()
