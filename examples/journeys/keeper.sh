#!/usr/bin/env bash
# prompts.csv, renders/GENERATOR/PROMPT.png and a judge at $ENDPOINT -> a leaderboard. Three commands.
set -euo pipefail
judge="openai:${MODEL:-qwen}@${ENDPOINT:-http://localhost:8000/v1}"

salon bench new suite --from prompts.csv
salon bench run suite -g folder:flux=renders/flux -g folder:sdxl=renders/sdxl --judge "judge=$judge" -o board
salon bench site board -o site
