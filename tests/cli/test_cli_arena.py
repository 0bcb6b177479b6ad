"""`salon arena`: the board, the report and the release of a stored arena, and a server that fits beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import numpy as np
import pytest
from PIL import Image
from waiting import until

from salon.bench import PublicArenaSettings, draw_ballot, open_public_arena
from salon.stats import pair_chances
from salon.store import save_study
from salon.study import Criterion, Item, Prompt, Study

NAMES = ("ada", "bo", "cy")


@pytest.fixture
def study(tmp_path):
    items = [Item(id=f"p{p}-{g}", prompt=f"p{p}", generator=g, image=f"{p}{g}.png") for p in range(4) for g in NAMES]
    asked = [Prompt(id=f"p{p}", text=f"poster {p}") for p in range(4)]
    folder = tmp_path / "posters"
    save_study(Study.build("posters", [Criterion(id="best")], tables={"prompts": asked, "items": items}), folder)
    for n, item in enumerate(items):
        Image.new("RGB", (60, 40), (20 * n, 90, 120)).save(folder / item.image)
    return folder


def cast(folder: Path, votes: int, *, liar: int = 0) -> None:
    """Votes of ten voters who like ada best; the last one casts `liar` votes for cy alone."""
    rng = np.random.default_rng(0)
    with open_public_arena(folder, None, PublicArenaSettings(), create=True) as arena:
        database, field = arena.database, arena.field
        chances = pair_chances(None, field.possible, random=1)
        voters = [
            database.admit_voter(f"k{n}", address=f"a{n}", device="d", puzzle=f"p{n}", limits=()) for n in range(11)
        ]
        for n in range(votes + liar):
            voter = voters[10] if n >= votes else voters[n % 10]
            ballot = database.deal(voter, draw_ballot(field, chances, arena.settings, rng=rng))
            shown = [field.generators[field.generator[field.place[number]]] for number in ballot.items]
            p = 1 / (1 + np.exp(0.8 * (NAMES.index(shown[0]) - NAMES.index(shown[1]))))
            answer = int(rng.random() > p)
            if n >= votes and "cy" in shown:
                answer = shown.index("cy")
            database.cast(ballot, answer, mark=str(n))


def test_the_board_is_printed_and_is_json(salon, study):
    cast(study, 200)
    said = salon("arena", "board", study)
    assert said.code == 0
    assert re.search(r"200 votes of 10 voters", said.out)
    assert re.findall(r"\b(ada|bo|cy)\b", said.out)[:3] == ["ada", "bo", "cy"]
    board = json.loads(salon("arena", "board", study, "--json", "--least-votes", 1000).out)
    assert board["places"] == []
    assert sorted(board["waiting"]) == ["ada", "bo", "cy"]


def test_a_report_flags_who_votes_for_one_alone(salon, study):
    cast(study, 400)
    said = salon("arena", "report", study, "--window-minutes", 100_000_000)
    assert (said.code, "0 voters" in said.out) == (0, True)
    (study / "arena.db").unlink()
    cast(study, 1000, liar=150)
    found = json.loads(salon("arena", "report", study, "--window-minutes", 100_000_000, "--json").out)
    assert [(voter["voter"], voter["follows"]) for voter in found["voters"]] == [(11, "cy")]
    said = salon("arena", "report", study, "--window-minutes", 100_000_000)
    assert said.code == 1
    assert "cy" in said.out
    assert "If nothing is set aside" in salon("arena", "board", study, "--window-minutes", 100_000_000).out


@pytest.mark.parametrize("form", ["huggingface", "csv"])
def test_a_release_is_read_by_check_and_bench_arena(salon, study, form):
    cast(study, 300)
    said = salon("arena", "release", study, "-o", "votes", "--to", form)
    assert (said.code, "300 votes of 10 voters" in said.out) == (0, True)
    assert salon("check", "votes", "--json").code in (0, 1)
    board = json.loads(salon("bench", "arena", "votes", "--json").out)
    assert board["boards"][0]["places"][0]["generator"] == "ada"
    assert salon("arena", "release", study, "-o", "votes", "--to", form).code == 2
    assert salon("arena", "release", study, "-o", "votes", "--to", form, "--overwrite").code == 0


def test_what_cannot_be_served(salon, study, tmp_path):
    assert salon("arena", "serve", tmp_path / "nowhere").code == 2
    assert salon("arena", "board", study).code == 2  # no votes were ever cast here
    assert salon("arena", "serve", study, "--captcha", "nobody").code == 2
    assert salon("arena", "serve", study, "--criterion", "nothing").code == 2
    assert salon("arena", "serve", study, "--random", 0).code == 2
    assert "--base-url" in salon("arena", "serve", study, "--host", "0.0.0.0").err


def test_a_server_fits_the_board_beside_it_and_both_end(study):
    """As a user starts it: the board is there after the first fit, and Ctrl-C ends both."""
    flags = ["--port", "0", "--refit-seconds", "0.1", "--json"]
    command = [sys.executable, "-m", "salon", "arena", "serve", str(study), *flags]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as server:
        try:
            said = ""
            while not said.rstrip().endswith("}"):
                line = server.stdout.readline()
                assert line, "the server ended"
                said += line
            address = json.loads(said)["address"]

            def fitted() -> bool:
                return httpx2.get(f"{address}/board.json").status_code == 200

            until(fitted, "a board that was fitted")
            assert httpx2.get(f"{address}/board.json").json()["votes"] == 0
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(timeout=60) == 0
