#!/usr/bin/env bash
# renders/GENERATOR/PROMPT.png and five designers -> which generator do they prefer? Five commands.
set -euo pipefail

salon import pictures renders -o study
salon serve study --minutes 10 --port "${PORT:-8000}" & studio=$!      # runs until Ctrl-C; here it goes on behind
until curl --silent --fail --output /dev/null "http://127.0.0.1:${PORT:-8000}/healthz"; do sleep 0.2; done
salon invite study --count 5 | tee links.txt

${DESIGNERS:-read -r -p "Send the links. Press Enter when they are done. "}
salon check study --html check.html || true                            # exit 1: not enough answers yet
salon fuse study --by generator
kill -INT "$studio" && wait "$studio"
