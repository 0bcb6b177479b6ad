"""`python -m salon.cli.demo FOLDER`."""

import sys
from pathlib import Path

from salon.cli.demo.demo import run

if __name__ == "__main__":  # a process that it starts must not start it again
    run(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
