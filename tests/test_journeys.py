"""The journeys of examples/journeys: from raw files to what people want, in at most five commands each."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from chat_server import ChatServer
from held_port import held_port
from judged_study import judged_study, saved
from PIL import Image

ROOT = Path(__file__).parent.parent
JOURNEYS = ROOT / "examples" / "journeys"
MOST_COMMANDS = 5


def walk(name: str, folder: Path, **more: str) -> str:
    """What the script prints in `folder`, on both streams."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(JOURNEYS / name)], cwd=folder, env=os.environ | {"PATH": path, "COLUMNS": "160"} | more,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def put_pictures(folder: Path) -> None:
    for number, (generator, prompt) in enumerate(product(("flux", "sdxl"), ("fox", "owl", "tea"))):
        path = folder / "renders" / generator / f"{prompt}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 48), (200 if generator == "flux" else 30, number * 40, 90)).save(path)


@pytest.mark.parametrize("script", sorted(path.name for path in JOURNEYS.glob("*.sh")))
def test_a_journey_takes_at_most_five_commands(script: str) -> None:
    commands = re.findall(r"^salon ", (JOURNEYS / script).read_text(), re.MULTILINE)
    assert 1 <= len(commands) <= MOST_COMMANDS
    assert f"`{script}`" in (JOURNEYS / "README.md").read_text()


def test_a_researcher_with_a_table_of_votes(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    strength = {"flux": 1.2, "sdxl": 0.0, "dall-e": 0.6}
    with open(tmp_path / "votes.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["Timestamp", "Model (left)", "Model (right)", "Which is better?", "Participant", "Prompt"])
        for prompt, rater in product(range(8), range(6)):
            for a, b in (("flux", "sdxl"), ("sdxl", "dall-e"), ("dall-e", "flux")):
                left = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
                answer = "NaN" if rng.random() < 0.03 else "Left image" if left else "Right image"
                rows.writerow(["2026-01-02 10:00", a, b, answer, f"P{rater}", f"brief {prompt}"])
    printed = walk("researcher.sh", tmp_path)
    assert "rows without an answer" in printed
    assert "do raters agree more than chance? yes" in printed
    with open(tmp_path / "scores.csv", encoding="utf-8", newline="") as file:
        order = [row["generator"] for row in csv.DictReader(file)]
    assert order == ["flux", "dall-e", "sdxl"]
    assert all((tmp_path / page).stat().st_size > 10_000 for page in ("check.html", "scores.html"))


DESIGNERS = """
import re, uuid
from io import BytesIO
import httpx2
from PIL import Image

def redness(rater, address):
    return Image.open(BytesIO(rater.get(address).content)).convert("RGB").getpixel((5, 5))[0]

for link in re.findall(r"http://\\S+/enter/\\S+", open("links.txt").read()):
    base, _, token = link.partition("/enter/")
    with httpx2.Client(base_url=base, timeout=60, headers={"Authorization": f"Bearer {token}"}) as rater:
        step = rater.get("/api/next").json()
        while step["step"] == "task":
            if step["stage"] == "prompt":
                step = rater.post(f"/api/tasks/{step['id']}/ready").json()
                continue
            left, right = (redness(rater, picture["screen"]) for picture in step["pictures"])
            given = {"answers": {step["criteria"][0]["id"]: "left" if left > right else "right"}}
            key = {"Idempotency-Key": uuid.uuid4().hex}
            rater.post(f"/api/tasks/{step['id']}/answer", json=given, headers=key).raise_for_status()
            step = rater.get("/api/next").json()
        assert step["step"] == "finished", step
"""
"""Five people who like red, each with their own link."""


def test_a_design_lead_with_a_folder_of_pictures_and_five_designers(tmp_path: Path) -> None:
    put_pictures(tmp_path)
    (tmp_path / "designers.py").write_text(DESIGNERS)
    with held_port() as port:
        pass
    printed = walk("design_lead.sh", tmp_path, PORT=str(port), DESIGNERS=f"{sys.executable} designers.py")
    assert "6 pictures of 3 prompts by 2 generators" in printed
    assert re.search(r"raters: \d+ questions each, about \d+ minutes", printed)
    assert len(set(re.findall(r"/enter/\S+", (tmp_path / "links.txt").read_text()))) == 5
    assert "do raters agree more than chance? yes" in printed
    assert re.search(r"^flux .*\n(.*\n)*?sdxl ", printed, re.MULTILINE), "flux is redder, and comes first"


def test_a_modeller_with_an_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    saved(tmp_path / "study", judged_study((judged_study().criterion("type"),), tables={"checklists": []}))
    with ChatServer(lambda _: '{"verdict": "A"}', model="qwen") as server:
        printed = walk("modeller.sh", tmp_path, ENDPOINT=server.url)
    assert "6 pairs x 2 orders = 12 calls" in printed
    assert "qwen: 12 of 12 verdicts read" in printed
    assert "read as: type = " in printed
    assert (tmp_path / "judges.html").stat().st_size > 10_000


def test_a_keeper_of_a_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    put_pictures(tmp_path)
    texts = (
        "id,text,category\nfox,A poster with a red fox,animals\nowl,An owl at night,animals\ntea,An ad for tea,ads\n"
    )
    (tmp_path / "prompts.csv").write_text(texts)
    with ChatServer(lambda _: '{"verdict": "PASS"}', model="qwen") as server:
        printed = walk("keeper.sh", tmp_path, ENDPOINT=server.url)
    assert "2 published entries of 2" in printed
    assert (tmp_path / "site" / "index.html").exists()
