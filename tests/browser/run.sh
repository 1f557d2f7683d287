#!/usr/bin/env bash
# The pages in a real browser: see README.md. usage: run.sh [PROGRAM] [--large] [--shots FOLDER] [--only STEP] [--phoenix PROGRAM] [--loadgen PROGRAM]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=target/release/spanbridge
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
  program=$1
  shift
fi

if [ ! -x "$program" ]; then
  echo "tests/browser did not run: there is no $program; cargo build --release makes it" >&2
  exit 1
fi
for needed in chromium node npm; do
  if ! command -v "$needed" >/dev/null; then
    echo "tests/browser did not run: there is no $needed" >&2
    exit 0
  fi
done
CHROMIUM=$(command -v chromium)
export CHROMIUM
cd "$here"
if ! cmp -s package.json node_modules/made-from; then
  rm -rf node_modules
  npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts
  cp package.json node_modules/made-from
fi
cd - >/dev/null
exec node "$here/check.mjs" "$program" "$@"
