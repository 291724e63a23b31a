#!/usr/bin/env bash
# What shell scripts and the pages' scripts are held to: no finding of shellcheck's, no syntax error to Node.
set -euo pipefail
cd "$(dirname "$0")/.."

if command -v shellcheck >/dev/null; then
  git ls-files -z '*.sh' .ci | xargs -0 shellcheck
else
  echo "SKIPPED: shell scripts' lints: no shellcheck (apt install shellcheck)"
fi

if command -v node >/dev/null; then
  git ls-files -z '*.js' | xargs -0 -n 1 node --check
else
  echo "SKIPPED: the pages' scripts: no node (apt install nodejs)"
fi
