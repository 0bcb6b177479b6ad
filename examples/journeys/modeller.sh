#!/usr/bin/env bash
# study/ with judgments of people and a VLM at $ENDPOINT -> what is this judge worth? Three commands.
set -euo pipefail
judge="openai:${MODEL:-qwen}@${ENDPOINT:-http://localhost:8000/v1}"

salon judge run study --model "$judge" --dry-run
salon judge run study --model "$judge"
salon judge report study --html judges.html
