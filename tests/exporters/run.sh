#!/usr/bin/env bash
# Real exporters against the bridge: see README.md. usage: run.sh [PROGRAM] [LANGUAGE]...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/../../target/release/spanbridge}
shift || true
if ! command -v python3 >/dev/null; then
  echo "tests/exporters did not run: no python3" >&2
  exit 1
fi
if [ ! -x "$program" ]; then
  echo "tests/exporters did not run: there is no $program; cargo build --release makes it" >&2
  exit 1
fi
exec python3 "$here/run.py" "$(realpath "$program")" "$@"
