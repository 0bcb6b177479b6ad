"""`salon evaluate` on a study of colored pictures, with heads that were really trained on it."""

from __future__ import annotations

import json
import shutil
from itertools import combinations, product

import numpy as np
import pytest
from PIL import Image
from ran_salon import salon
from scipy.special import expit

from salon.models import EncoderPart, preference_model
from salon.store import open_study, save_study
from salon.study import Comparison, Criterion, Item, Prompt, Rater, Study
from salon.train import HeadSettings, train_heads as training

PROMPTS, ITEMS, RATERS = 40, 3, 3
QUICK = ("--draws", "100")
CHANNELS = {"red": 0, "blue": 2}


class Colors:
    """An encoder: the mean color of a picture, and the length of a text."""

    name = signature = "colors"
    text_width, licence = 3, "none"
    parts = (EncoderPart("color", 3, False),)

    def pictures(self, images, part):
        return np.array([np.asarray(image).mean(axis=(0, 1)) / 255 for image in images], np.float32)

    def texts(self, texts):
        return np.array([[len(text), 0, 0] for text in texts], np.float32)


def colored_study(folder, seed=0, prompts=PROMPTS, raters=RATERS) -> Study:
    """People like red under one criterion and blue under the other; the pictures have unlike blots."""
    rng = np.random.default_rng(seed)
    pictures, items, votes = {}, [], []
    for prompt in (f"s{seed}p{number}" for number in range(prompts)):
        here = [f"{prompt}-{k}" for k in range(ITEMS)]
        pictures |= {id: _picture(rng) for id in here}
        items += [Item(id=id, prompt=prompt, image=f"images/{id}.png", generator=f"g{id[-1]}") for id in here]
        for (a, b), criterion in product(combinations(here, 2), CHANNELS):
            red = [np.asarray(pictures[id])[..., CHANNELS[criterion]].mean() / 64 for id in (a, b)]
            won = rng.random(raters) < expit(6 * (red[0] - red[1]))
            said = [("a" if first else "b", f"r{number}") for number, first in enumerate(won)]
            votes += [Comparison(criterion=criterion, rater=rater, a=a, b=b, outcome=one) for one, rater in said]
    tables = {
        "prompts": [Prompt(id=id, text=f"poster {id}") for id in dict.fromkeys(item.prompt for item in items)],
        "items": items,
        "raters": [Rater(id=f"r{number}") for number in range(raters)],
        "comparisons": votes,
    }
    study = Study.build(f"colors-{seed}", [Criterion(id=id, question="More?") for id in CHANNELS], tables=tables)
    save_study(study, folder)
    (folder / "images").mkdir()
    for id, picture in pictures.items():
        picture.save(folder / "images" / f"{id}.png")
    return study


def _picture(rng) -> Image.Image:
    blots = rng.integers(0, 128, (9, 9, 1)) + rng.integers(0, 128, 3)
    return Image.fromarray(blots.astype(np.uint8)).resize((45, 45), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A study with two models trained on it, and another study."""
    home = tmp_path_factory.mktemp("evaluated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALON_CACHE", str(home / "cache"))
        patch.setattr(training, "open_encoder", lambda name, **options: Colors())
        study = colored_study(home / "study")
        colored_study(home / "other", seed=1, prompts=12)
        for name, form in (("anti", "antisymmetric"), ("pair", "pairwise")):
            settings = HeadSettings(
                encoder="colors", form=form, width=8, lr=0.02, epochs=12, train=0.6, validation=0.2, test=0.2
            )
            training.train_study(study, home / "study", settings, home / name)
    return home


@pytest.fixture(autouse=True)
def _colors(monkeypatch, place):
    monkeypatch.setenv("SALON_CACHE", str(place / "cache"))
    for module in (training, preference_model):
        monkeypatch.setattr(module, "open_encoder", lambda name, **options: Colors())


def report_of(capsys, *arguments):
    code, printed = salon(capsys, "evaluate", *arguments, *QUICK, "--json")
    found = json.loads(printed.out)
    assert code == 0, found
    return found


def test_models_on_their_test_split(capsys, place):
    found = report_of(capsys, place / "anti", place / "pair", place / "study", "--also", place / "other")
    study, (other,) = found, found["also"]
    assert (study["split"], other["split"]) == ("test", "all")
    assert 0 < study["prompts"] < PROMPTS / 2
    named = {one["name"]: one for one in study["judges"]}
    assert named["anti"]["pooled"]["accuracy"]["value"] > 0.65
    assert named["anti"]["pooled"]["ceilings"]["next_rater"]["value"] > 0.5
    assert named["anti"]["order_flips"] is None
    assert named["pair"]["order_flips"]["value"] < 0.5
    assert {part["criterion"] for part in named["anti"]["criteria"]} == {"red", "blue"}
    assert not found["leaking"]
    assert other["pairs"] == 12 * 3 * 2
    assert "no model was trained on colors-1, so all its prompts are taken" in found["policies"]


def test_what_was_trained_on_is_refused(capsys, place):
    code, printed = salon(capsys, "evaluate", place / "anti", place / "study", "--split", "train", *QUICK)
    assert code == 2
    assert "not trained on" in printed.err
    assert "--allow-leak" in printed.err
    found = report_of(capsys, place / "anti", place / "study", "--split", "train", "--allow-leak")
    assert found["leaking"]
    leak = found["judges"][0]["leak"]
    assert leak["pictures"] > 0
    assert leak["texts"] > 0


def test_a_near_copy_elsewhere_is_a_leak(capsys, place, tmp_path):
    """Another study, in which one picture is a training picture saved again."""
    shutil.copytree(place / "other", tmp_path / "copied")
    guarded = report_of(capsys, place / "anti", place / "study", "--split", "train", "--allow-leak")
    first = guarded["judges"][0]["leak"]["words"].split("(")[1].split(",")[0].strip(")")
    again = Image.open(place / "study" / "images" / f"{first}.png").point(lambda value: value * 0.95)
    again.save(tmp_path / "copied" / "images" / "s1p0-0.png")
    code, printed = salon(capsys, "evaluate", place / "anti", tmp_path / "copied", *QUICK)
    assert code == 2
    assert "1 near copy of a picture (s1p0-0)" in printed.err


def test_a_grown_study_keeps_its_split(capsys, place, tmp_path):
    """Three more votes on every pair: other data, but the same pictures."""
    shutil.copytree(place / "study", tmp_path / "grown")
    study = open_study(tmp_path / "grown")
    more = [one.model_copy(update={"rater": "new"}) for one in study.nouns("comparisons") if one.rater == "r0"]
    tables = {kind: study.table(kind) for kind in study.counts if kind not in ("comparisons", "raters")}
    tables["comparisons"] = [*study.nouns("comparisons"), *more]
    tables["raters"] = [*study.nouns("raters"), Rater(id="new")]
    save_study(Study.build("renamed", study.criteria, tables=tables), tmp_path / "grown", overwrite=True)
    found = report_of(capsys, place / "anti", tmp_path / "grown")
    assert (found["split"], found["votes"]) == ("test", found["pairs"] * 4)


def test_scorers_stand_beside_models(capsys, place, tmp_path):
    items = list(open_study(place / "study").nouns("items"))
    table = tmp_path / "reds.csv"
    rows = [
        f"{item.id},{np.asarray(Image.open(place / 'study' / item.image)).mean(axis=(0, 1))[0]}" for item in items[1:]
    ]
    table.write_text("\n".join(["item,value", *rows]))
    found = report_of(capsys, place / "anti", place / "study", "--scorer", f"table:{table}")
    kinds = {one["kind"]: one for one in found["judges"]}
    scorer = kinds["scorer"]
    assert scorer["pooled"]["pairs"] == kinds["heads"]["pooled"]["pairs"]
    reached = {part["criterion"]: part["figures"]["accuracy"]["value"] for part in scorer["criteria"]}
    assert reached["red"] > 0.7
    (test,) = found["comparisons"]
    assert test["pairs"] == scorer["pooled"]["pairs"]
    alone = report_of(capsys, place / "study", "--scorer", f"table:{table}")
    assert alone["split"] == "all"


def test_people_stand_beside_models(capsys, place, tmp_path):
    """On the model's test split; alone on all prompts. Two others on every pair: a ceiling each."""
    found = report_of(capsys, place / "anti", place / "study", "--rater", "r0", "--rater", "r2")
    kinds = {one["name"]: one["kind"] for one in found["judges"]}
    assert kinds == {"anti": "heads", "r0": "person", "r2": "person"}
    assert found["split"] == "test"
    assert all(one["pooled"]["ceilings"]["next_rater"] for one in found["judges"])
    assert not found["leaking"]
    html = tmp_path / "raters.html"
    code, printed = salon(capsys, "evaluate", place / "study", "--raters", "--html", html, *QUICK)
    assert code == 0
    assert all(name in printed.out for name in ("r0", "r1", "r2", "is held against the majority of the other people"))
    assert "How reliable are these raters?" in html.read_text()
    beside = salon(capsys, "judge", "report", place / "study", "--rater", "r1", "--json", "--no-check", *QUICK)[1]
    assert [one["name"] for one in json.loads(beside.out)["judges"]] == ["r1"]
    code, printed = salon(capsys, "evaluate", place / "study", "--raters", "--rater", "r0", *QUICK)
    assert code == 2
    assert "leave one out" in printed.err


def test_page_and_terminal(capsys, place, tmp_path):
    html = tmp_path / "report.html"
    code, printed = salon(capsys, "evaluate", place / "anti", place / "pair", place / "study", "--html", html, *QUICK)
    assert code == 0
    assert "Next rater" in printed.out
    assert "Differences of accuracy on the same pairs" in printed.out
    assert "evaluate|data:" in printed.out
    assert "How reliable are these models?" in html.read_text()


def test_the_learning_curve_ends_at_the_model_itself(capsys, place):
    found = report_of(
        capsys, place / "anti", place / "study", "--learning-curve", "--curve-shares", "0.5", "--curve-shares", "1.0",
        "--curve-seeds", "1",
    )  # fmt: skip
    (model,) = found["judges"]
    half, whole = found["learning_curve"]["points"]
    assert whole["accuracy"]["value"] == model["pooled"]["accuracy"]["value"]
    assert half["pairs"] * 2 == pytest.approx(whole["pairs"], abs=6)
    assert found["learning_curve"]["ceiling"] == model["pooled"]["ceilings"]


def test_refusals(capsys, place, tmp_path):
    colored_study(tmp_path / "single", seed=2, prompts=6, raters=1)
    code, printed = salon(capsys, "evaluate", place / "anti", tmp_path / "single", *QUICK)
    assert code == 2
    assert "only beside its ceiling" in printed.err
    code, printed = salon(capsys, "evaluate", place / "anti", tmp_path / "single", "--no-ceiling", *QUICK)
    assert code == 0
    assert "no ceiling" in printed.out
    code, printed = salon(capsys, "evaluate", place / "study")
    assert code == 2
    assert "a model, a scorer or a rater" in printed.err
    code, printed = salon(capsys, "evaluate", place / "study", place / "anti")
    assert code == 2
    assert "the study comes last" in printed.err
    shutil.copytree(place / "anti", tmp_path / "bare")
    (tmp_path / "bare" / "guard.parquet").unlink()
    code, printed = salon(capsys, "evaluate", tmp_path / "bare", place / "study", *QUICK)
    assert code == 2
    assert "leak guard" in printed.err
