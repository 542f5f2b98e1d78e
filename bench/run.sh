#!/usr/bin/env bash
#
# Measures the runner beside its peers and writes the tables into
# docs/performance.md. It takes up to a quarter of an hour. Flags go to the
# program: `./run.sh -h` names them.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off

mkdir -p results
for program in server peers/ours peers/official peers/limit peers/client; do
  go build -o "results/${program#peers/}" "./$program"
done

ts=results/ts
mkdir -p "$ts"
cp peers/ts/package.json peers/ts/main.mjs "$ts/"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo 'no node or no npm: the TypeScript runner is left out' >&2
  rm -f "$ts/main.mjs"
elif ! npm install --prefix "$ts" --no-audit --no-fund --no-package-lock --silent; then
  echo 'npm install failed: the TypeScript runner is left out' >&2
  rm -f "$ts/main.mjs"
fi

exec go run . -doc ../docs/performance.md "$@"
