"""Until salon.generate.prompts is there: one prompt per line."""

import sys
import types
from pathlib import Path

from salon.study import Prompt

if "salon.generate.prompts" not in sys.modules:
    made = types.ModuleType("salon.generate.prompts")
    made.read_prompts = lambda text: [
        Prompt(id=f"p{n:03d}", text=line) for n, line in enumerate(Path(text).read_text().splitlines())
    ]
    sys.modules["salon.generate.prompts"] = made
