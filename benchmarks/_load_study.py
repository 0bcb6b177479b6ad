"""A study to be collected under load: fifty small pictures of one brief, 1,225 pairs, no waiting times."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from salon.collect import open_studio
from salon.store import save_study
from salon.study import Criterion, Item, Prompt, Study

ITEMS = 50
COHORT = "raters"
_STUDIO = """seed = 5
times = { guidelines = 0, prompt = 0, compare = 0, rate = 0 }

[[cohorts]]
id = "raters"
raters = 50

[[cohorts.phases]]
id = "main"
protocol = "compare"
criteria = ["overall"]
stop = { kind = "STOP", raters_each = 1000 }
"""


def make_study(folder: Path, *, stop: str = "everyone") -> None:
    """The study and its studio.toml in a new folder."""
    items = [Item(id=f"item-{k:02}", prompt="brief", image=f"images/{k:02}.png") for k in range(ITEMS)]
    tables = {"prompts": [Prompt(id="brief", text="A poster for a night at the sea")], "items": items}
    save_study(Study.build("load", [Criterion(id="overall")], tables=tables), folder)
    (folder / "images").mkdir()
    for k, item in enumerate(items):
        Image.new("RGB", (8, 8), (5 * k, 90, 120)).save(folder / str(item.image))
    (folder / "studio.toml").write_text(_STUDIO.replace("STOP", stop))


def invite(folder: Path, url: str | None, raters: int) -> list[str]:
    """Tokens of new raters; the study is put into the database where it is not there yet."""
    with open_studio(folder, url) as studio:
        return [invitation.token for invitation in studio.invite(COHORT, raters)]
