#!/usr/bin/env bash
# Run `make test` several times beside three busy loops and with SIGINT ignored: `tests/support/stress.sh [runs]`.
# It stops at the first run that fails. The loops end with it.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-10}
loops=()
stop() { kill "${loops[@]}" 2>/dev/null || true; }
trap stop EXIT
for _ in 1 2 3; do
  while :; do :; done &
  loops+=("$!")
done
for ((run = 1; run <= runs; run++)); do
  printf '== run %s of %s\n' "$run" "$runs"
  # A process that was started with SIGINT ignored, as a shell's background job is, passes that on to all it starts.
  bash -c 'trap "" INT; exec make test'
done
