#!/usr/bin/env bash
# votes.csv -> do raters agree, and which generator is better? Two commands.
set -euo pipefail

salon check votes.csv --html check.html
salon fuse votes.csv --by generator -o scores.csv --html scores.html
