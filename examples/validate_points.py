"""Ask people whether points of the suite `broad` are true of pictures: `python examples/validate_points.py out`.

Each point becomes a prompt of a study, `ticks`. Put the pictures of two entries at ticks/images/ENTRY/PROMPT.png, then:
salon serve ticks; salon export sqlite:///ticks/studio.db --images ticks -o answered.
"""

import sys
from pathlib import Path

import numpy as np

from salon.bench.suite_folder import open_suite
from salon.store.folder import save_study
from salon.study import Criterion, Item, Prompt, Study

ENTRIES = ("first", "second")
POINTS = 150
STUDIO = """guidelines = \"\"\"
You see a prompt, one statement to be checked, and a picture. Say whether the statement is true of the picture.
A statement about a thing that is not there is not true. Left and right are as you see them.
\"\"\"

[times]
prompt = 3

[[cohorts]]
id = "people"
raters = 3

[[cohorts.phases]]
id = "points"
protocol = "checklist"
criteria = ["points"]
points = ["What is to be checked is so in the picture"]
checks = { repeats = 20 }
"""


def main(folder: Path) -> None:
    suite = open_suite("broad")
    texts = {prompt.prompt.id: prompt.prompt.view() for prompt in suite.prompts}
    drawn = np.random.default_rng(0).choice(len(suite.points), POINTS, replace=False)
    points = [suite.points[k] for k in sorted(drawn)]
    prompts = [
        Prompt(id=point.id, intent=texts[point.prompt], description=f"To be checked: {point.text}", category=point.tag)
        for point in points
    ]
    items = [
        Item(id=f"{point.id}.{entry}", prompt=point.id, generator=entry, image=f"images/{entry}/{point.prompt}.png")
        for point in points
        for entry in ENTRIES
    ]
    criterion = Criterion(id="points", name="What was asked for")
    save_study(Study.build("ticks", [criterion], tables={"prompts": prompts, "items": items}), folder)
    (folder / "studio.toml").write_text(STUDIO, encoding="utf-8")
    print(len(points), "points,", len(items), "screens for each person")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "ticks"))
