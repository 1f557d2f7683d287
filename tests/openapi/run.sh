#!/usr/bin/env bash
# Requests that schemathesis makes of the OpenAPI document, against a running server: no response is a 5xx, and each is one that
# the document describes (status, content type, headers, schema of the body).
#
# usage: tests/openapi/run.sh PROGRAM [EXAMPLES]     EXAMPLES: requests per operation and phase; 15, or 200 with SPANBRIDGE_FULL=1
# Installs schemathesis into .venv-openapi of this checkout.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
examples=${2:-15}
[ -n "${SPANBRIDGE_FULL:-}" ] && examples=${2:-200}
version=4.32.5

if ! cmp -s <(echo "$version") .venv-openapi/made-from; then
  rm -rf .venv-openapi
  python3 -m venv .venv-openapi
  .venv-openapi/bin/pip install --quiet "schemathesis==$version"
  echo "$version" >.venv-openapi/made-from
fi

work=$(mktemp -d)
any=127.0.0.1:0
"$program" serve --otlp-grpc $any --otlp-http $any --http $any --data-dir "$work/data" 2>"$work/said.txt" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
api=
for _ in $(seq 100); do
  api=$(sed -n 's/^ *API *\(http:[^ ]*\).*/\1/p' "$work/said.txt")
  [ -n "$api" ] && break
  sleep 0.1
done
[ -n "$api" ] || { cat "$work/said.txt"; exit 1; }

# Something to read.
for file in tests/documents/{invariant,contextforge,synth,reflex}/odd-values.json tests/documents/openreward/page-example.json; do
  [ -e "$file" ] || continue
  curl -sf -o "$work/stored.json" -H 'content-type: application/json' "$api/api/v1/import" --data-binary "@$file"
done

# A stream of events does not end: `tests/pages.rs` reads it.
cd "$work"
"$OLDPWD/.venv-openapi/bin/st" run "$api/api/v1/openapi.json" --url "$api" --max-examples "$examples" --request-timeout 20 \
  --seed 1 --continue-on-failure --warnings off --no-color --suppress-health-check all --generation-database none \
  --exclude-path /api/v1/events \
  --checks not_a_server_error,unsupported_method,allow_header_conformance,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance
kill -0 $server
