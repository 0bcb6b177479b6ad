"""Released scorers give the peers' own numbers, through the functions and the command that users call.

`prove/released_scorers.py` compares all pairs and writes the table of docs/methods/scorers.md; here are fewer of them.
"""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from click.testing import CliRunner
from peer_reference import TEXTS, TWINS, asked

from salon.cli.score import score
from salon.judge import ScoreSettings, make_scorer
from salon.models import open_parts
from salon.store import read_picture

pytestmark = pytest.mark.data
TOLERANCE = 1e-4
"""Of the standard deviation of all scores."""
SCORERS = ("hpsv2", "hpsv2-published", "pickscore", "imagereward", "laion", "mps")


def expected_numbers(folder, name):
    """(pictures, prompts) and their sd; a picture's own row is that of its twin."""
    told = json.loads((folder / "expected.json").read_text())
    key = {"hpsv2-published": "scores_without_antialias", "hpsv3": "mu"}.get(name, "scores")
    rows = [row if isinstance(row, list) else [row] for row in told[key]]
    table = np.array([[np.nan if value is None else value for value in row] for row in rows])
    table *= told.get("exp_logit_scale", 1)
    places = {image: number for number, image in enumerate(told["images"])}
    twins = np.array([table[places[TWINS[image]]] for image in told["images"]])
    return told, twins, float(np.nanstd(table))


@pytest.mark.parametrize("name", SCORERS)
def test_scores_of_square_networks(salon_peers, name):
    folder = salon_peers / "scorers" / name.split("-")[0]
    told, expected, sd = expected_numbers(folder, name)
    scorer = make_scorer(f"{name}:{folder / 'weights'}", ScoreSettings(device="cpu"))
    prompts = told.get("prompts", [None])
    chosen = prompts[::4] if len(prompts) > 1 else prompts
    items, texts = asked(salon_peers / "scorers" / "images", told["images"], chosen)
    first, every = asked(salon_peers / "scorers" / "images", told["images"][:1], prompts)
    found = np.array(scorer.score(items, texts)).reshape(len(told["images"]), -1)
    apart = np.abs(found - expected[:, :: 4 if len(prompts) > 1 else 1]) / sd
    fails = {name for name, row in zip(told["images"], expected) if np.isnan(row).any()}
    assert fails == ({"opaque-449x640.png"} if name.startswith("hpsv2") else set())  # where the release fails
    assert np.nanmax(apart) < TOLERANCE
    assert np.abs(np.array(scorer.score(first, every)) - expected[0]).max() / sd < TOLERANCE


@pytest.mark.parametrize("name", ["pickscore", "hpsv2", "laion", "imagereward", "mps", "hpsv3"])
def test_tensors_give_nearly_the_same_numbers(salon_peers, name):
    """Exactly for HPSv2, which resizes floats; for the others without Pillow's rounding to 8 bits."""
    folder = salon_peers / "scorers" / name
    told, expected, sd = expected_numbers(folder, name)
    scorer = make_scorer(f"{name}:{folder / 'weights'}", ScoreSettings(device="cpu"))
    rows = [told["images"].index(image) for image in ("small-64x64.png", "tall-333x517.png", "odd-1023x767.png")]
    shown = [read_picture(salon_peers / "scorers" / "images" / told["images"][row]).image for row in rows]
    tensors = [torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255 for image in shown]
    with torch.no_grad():
        found = scorer.score(tensors, [TEXTS["plain"]] * len(rows), differentiable=True).numpy()
    assert np.abs(found - expected[rows, 0]).max() / sd < (TOLERANCE if name == "hpsv2" else 0.05)


def test_mu_and_sigma_of_hpsv3(salon_peers):
    """One prompt a picture, in batches with padding; training on from these weights begins at the same numbers."""
    folder = salon_peers / "scorers" / "hpsv3"
    told, mu, sd = expected_numbers(folder, "hpsv3")
    images = salon_peers / "scorers" / "images"
    names, prompts = told["images"], told["prompts"]
    pairs = [(number, number % len(prompts)) for number in range(len(names))]
    scorer = make_scorer(f"hpsv3:{folder / 'weights'}", ScoreSettings(device="cpu"))
    one_each = [asked(images, [names[row]], [prompts[column]]) for row, column in pairs]
    found = scorer.results([items[0] for items, _ in one_each], [texts[0] for _, texts in one_each])
    assert max(abs(one.value - mu[pair]) for one, pair in zip(found, pairs)) / sd < TOLERANCE
    places = {image: number for number, image in enumerate(names)}
    logs = [told["log_sigma"][places[TWINS[names[row]]]][column] for row, column in pairs]
    assert np.abs(np.log([one.sigma for one in found]) - logs).max() / np.std(told["log_sigma"]) < TOLERANCE
    assert "positions:flat" in str(scorer.signature)
    assert "instruction:other" in str(scorer.signature)
    assert "not HPSv3's" in scorer.card.notes[0]

    parts = open_parts(folder / "weights")
    shown = [read_picture(images / names[row]).image for row, _ in pairs[:4]]
    quality = parts.network(parts.questions(shown, [TEXTS[prompts[column]] for _, column in pairs[:4]], [""] * 4))
    assert np.abs(quality.mu.detach().numpy() - [mu[pair] for pair in pairs[:4]]).max() / sd < TOLERANCE
    assert np.abs(quality.log_sigma.detach().numpy() - logs[:4]).max() / np.std(told["log_sigma"]) < TOLERANCE


@pytest.mark.parametrize("name", ["imagereward", "hpsv2"])
def test_by_the_command_with_awkward_prompts(salon_peers, tmp_path, name):
    """Prompts arrive to the letter, the empty one too; a transparent picture is scored on white."""
    folder = salon_peers / "scorers" / name
    told, expected, sd = expected_numbers(folder, name)
    rows = []
    for number, prompt in enumerate(told["prompts"]):
        picture = told["images"][number]
        shutil.copy(salon_peers / "scorers" / "images" / picture, tmp_path / picture)
        rows.append({"image": picture, "prompt": TEXTS[prompt]})
    (tmp_path / "prompts.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    ran = CliRunner().invoke(
        score, [str(tmp_path), "-s", f"{name}:{folder / 'weights'}", "--device", "cpu", "-o", str(tmp_path / "out")]
    )
    assert ran.exit_code == 0, ran.output
    (file,) = (tmp_path / "out").glob("*.parquet")
    found = {row["item"]: row["value"] for row in pq.read_table(file).to_pylist()}
    for number, row in enumerate(rows):
        if not np.isnan(expected[number, number]):
            assert abs(found[row["image"]] - expected[number, number]) / sd < TOLERANCE, row
