#!/usr/bin/env bash
# Builds the wheel and uses it in a fresh virtual environment: no Rust is on the path there. usage: try.sh [PROFILE]
set -euo pipefail
cd "$(dirname "$0")"
profile=${1:-dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet 'maturin>=1.9,<2'
"$work/build/bin/maturin" build --quiet --profile "$profile" --out "$work/wheels" --compatibility linux
du -h --apparent-size "$work"/wheels/*.whl
python3 -m zipfile -l "$(echo "$work"/wheels/*.whl)" | grep -c licenses/LICENSE- | grep -qx 2
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index "$work"/wheels/spanbridge-*.whl
top=$(cd ../../.. && pwd)
cd "$work"
export PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work"
command -v spanbridge
spanbridge --version
# From a recording to a data set, without a Rust toolchain.
spanbridge convert --to messages --jsonl --output set "$top/tests/corpus/oi-langchain-toolerror/001.traces.bin"
python3 - <<'PYTHON'
import json, pathlib
rows = [json.loads(line) for line in pathlib.Path("set/train.jsonl").read_text().splitlines()]
assert rows and rows[0]["messages"][-1]["role"] == "assistant", rows
print(f"{len(rows)} row of {len(rows[0]['messages'])} messages")
PYTHON
