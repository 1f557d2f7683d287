#!/usr/bin/env bash
# The end-to-end test with a real client: see README.md. usage: run.sh [PROGRAM]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
program=${1:-$top/target/release/spanbridge}
venv=$top/.venv-clients

if [ ! -x "$program" ]; then
  echo "tests/clients did not run: there is no $program; cargo build --release makes it" >&2
  exit 1
fi
if ! cmp -s "$here/requirements.txt" "$venv/made-from"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"; then
    echo "tests/clients did not run: pip could not install the client packages (above it says why; is PyPI reachable?)" >&2
    exit 1
  fi
  cp "$here/requirements.txt" "$venv/made-from"
fi
exec "$venv/bin/python" "$here/client.py" "$program"
