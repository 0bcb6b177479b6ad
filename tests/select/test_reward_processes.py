"""The same pictures dealt to one, two and four processes have bit for bit the same rewards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import reward_worker
from PIL import Image

from salon.select import reward, write_sealed
from salon.select.reward_source import open_scorers
from salon.select.weights import make_reference

PICTURES = 13


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, pictures, and a reference that other pictures gave."""
    monkeypatch.setattr(reward_worker.preference_model, "open_encoder", lambda name, **options: reward_worker.Pixels())
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))
    reward_worker.make_model(tmp_path / "model")
    rng = np.random.default_rng(0)
    (tmp_path / "pictures").mkdir()
    for n in range(PICTURES):
        Image.fromarray(rng.integers(0, 256, (16, 12, 3), dtype=np.uint8)).save(tmp_path / "pictures" / f"{n:02}.png")
    others = list(rng.integers(0, 256, (12, 16, 12, 3), dtype=np.uint8))
    scorers = open_scorers([f"model:{tmp_path}/model"])
    values = [reward(one)(others, ["a poster"] * len(others)) for one in scorers.values()]
    signatures = [str(one.signature) for one in scorers.values()]
    made = make_reference("noise", list(scorers), np.array(values, float).T, signatures=signatures)
    write_sealed(made, tmp_path / "reference.json")
    return tmp_path


def test_one_two_and_four_processes_give_the_same_bits(folder: Path) -> None:
    told = subprocess.run(
        [sys.executable, reward_worker.__file__, folder],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        timeout=300,
    )
    found = json.loads(told.stdout)
    assert len({one["pid"] for one in found}) == 4
    whole = found[0]["1"]
    assert len(whole) == PICTURES
    assert len(set(whole)) == PICTURES
    for processes in (2, 4):
        dealt = [found[n % processes][str(processes)][n // processes] for n in range(PICTURES)]
        assert dealt == whole
