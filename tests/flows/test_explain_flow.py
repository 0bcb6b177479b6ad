"""Explanations from a model, a judged study and measurements: exact parts, neighbours without copies, one page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import red_study
import torch
from browser import chromium, page_faults
from click.testing import CliRunner
from PIL import Image

from salon.cli.lazy_commands import select
from salon.errors import BadFile, BadValue
from salon.judge import make_scorer, score_study, trained_model as trained
from salon.models import HeadShape, ModelCard, ModelCriterion, PreferenceHeads, preference_model, save_heads
from salon.report import disagreements
from salon.select import ExplainSettings, ModelAnswer, explain, explain_page, open_judged_study, open_neighborhood
from salon.select.explain_picture import rater_opinions
from salon.store import open_study, save_study
from salon.study import Comparison, Criterion, Item, Prompt, Ranking, Rater, Rating, Scale, Signature, Study

__all__ = ["chromium"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged study of six prompts whose pictures are large enough to measure, and heads of two criteria."""
    folder = tmp_path_factory.mktemp("explained")
    study = red_study.study_in(folder / "study", prompts=6)
    save_study(study, folder / "tables")
    for file in (folder / "tables").iterdir():
        file.rename(folder / "study" / file.name)
    for path in (folder / "study" / "images").iterdir():
        Image.open(path).resize((96, 96), Image.Resampling.NEAREST).save(path)
    torch.manual_seed(3)
    colors = red_study.Colors()
    shape = HeadShape(form="scalar", parts=colors.parts, text_width=3, criteria=("mood", "type"), width=4)
    card = ModelCard(
        kind="heads", name="tiny", backbone="colors", backbone_name="colors", form="scalar", is_logit=True, study="red",
        criteria=tuple(ModelCriterion(id=id, name=id.title(), view=("intent",)) for id in shape.criteria), data="0",
        signature=Signature(method="test", version="test"),
    )  # fmt: skip
    save_heads(folder / "model", PreferenceHeads(shape), card, readme="tiny")
    return folder


@pytest.fixture(autouse=True)
def _colors(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("SALON_CACHE", str(home / "cache"))
    monkeypatch.setattr(preference_model, "open_encoder", lambda name, **options: red_study.Colors())
    trained._load_cached.cache_clear()


@pytest.fixture
def judged(home: Path):
    return open_judged_study(open_study(home / "study"), home / "study")


def image(home: Path, name: str) -> Path:
    return home / "study" / "images" / f"{name}.png"


def told(home, judged, *names, **more):
    settings = ExplainSettings(neighbours=4, measure=False)
    return explain(
        [image(home, name) for name in names], models=[home / "model"], judged_study=judged, settings=settings, **more
    )


def test_parts_sum_to_what_the_model_says(home: Path, judged) -> None:
    found = told(home, judged, "0-0", weights="mood=3,type=1").pictures[0]
    prompt = judged.prompts["q0"]
    item = Item(id="x", image=str(image(home, "0-0")))
    values = [make_scorer(f"model:{home / 'model'}@{id}").score([item], [prompt])[0] for id in ("mood", "type")]
    assert found.total == pytest.approx(0.75 * values[0] + 0.25 * values[1])
    assert [part.adds for part in found.contributions] == pytest.approx([0.75 * values[0], 0.25 * values[1]])


def test_neighbours_are_the_nearest_judged_pictures_and_no_copies(home: Path, judged, tmp_path: Path) -> None:
    copy = tmp_path / "copy.png"
    shutil.copy(image(home, "2-1"), copy)
    found = explain(
        [copy], models=[home / "model"], judged_study=judged, settings=ExplainSettings(neighbours=4, measure=False)
    )
    near = found.pictures[0].neighbours
    assert "2-1" not in {one.item for one in near}
    vectors = red_study.Colors().pictures([Image.open(judged.path(item)) for item in judged.items], "mean")
    own = red_study.Colors().pictures([Image.open(copy)], "mean")[0]
    cosines = vectors @ own / np.linalg.norm(vectors, axis=1) / np.linalg.norm(own)
    slow = sorted((1 - cosine, item.id) for cosine, item in zip(cosines, judged.items) if item.id != "2-1")
    assert [one.item for one in near] == [id for _, id in slow[:4]]
    assert [one.distance for one in near] == pytest.approx([apart for apart, _ in slow[:4]], abs=1e-6)
    assert all(one.said and one.scores.keys() == {"mood", "type"} for one in near)
    assert {one.same_prompt for one in near if one.item.startswith("2-")} <= {True}


def test_why_one_stands_above_the_other(home: Path, judged) -> None:
    found = told(home, judged, "0-0", "0-1")
    first, second = found.pictures
    assert found.difference.total == pytest.approx(first.total - second.total)
    assert found.difference.told.startswith("the first" if first.total > second.total else "the second")
    assert found.simulated


def test_what_raters_said_by_hand() -> None:
    # a beats b for r0, ties with b for r1: shares 1 and 1/2. In a ranking a > c > b of r2: a beats both, 1
    study = Study.build(
        "said", [Criterion(id="c", scale=Scale(low=1, high=5))],
        tables={
            "prompts": [Prompt(id="p")],
            "items": [Item(id=id, prompt="p") for id in "abc"],
            "raters": [Rater(id=f"r{n}") for n in range(3)],
            "comparisons": [Comparison(criterion="c", rater="r0", a="a", b="b", outcome="a"),
                            Comparison(criterion="c", rater="r1", a="b", b="a", outcome="tie"),
                            Comparison(criterion="c", rater="r1", a="a", b="c", outcome="both_bad")],
            "rankings": [Ranking(criterion="c", rater="r2", items=("a", "c", "b"), ranks=(1, 2, 3))],
            "ratings": [Rating(criterion="c", rater="r0", item="b", value=4)],
        },
    )  # fmt: skip
    (won,) = rater_opinions(study, 0)
    assert (won.kind, won.raters, won.figure.value) == ("won", 3, pytest.approx(2.5 / 3))
    assert 0 <= won.figure.low < 2.5 / 3 < won.figure.high <= 1
    rated = rater_opinions(study, 1)[1]
    assert (rated.kind, rated.figure.value, rated.figure.low) == ("rated", 4, None)  # one rater: no interval


def test_measurements_stand_among_those_the_study_keeps(home: Path, judged) -> None:
    study = open_study(home / "study")
    score_study(study, home / "study", make_scorer("naturalness"))
    found = explain(
        [image(home, "1-0")], models=[home / "model"], judged_study=judged, settings=ExplainSettings(neighbours=0)
    )
    by_name = {one.name: one for one in found.pictures[0].measurements}
    stands = by_name["naturalness"]
    assert stands.n == 18
    assert 0 < stands.below < 1
    assert stands.quartiles[0] <= stands.quartiles[1] <= stands.quartiles[2]
    assert by_name["words"].unmeasured == "the prompt quotes no words"
    assert any("salon score STUDY" in note and "-s balance" in note for note in found.notes)


def test_the_page_prints_the_numbers_of_the_document(home: Path, judged) -> None:
    found = told(home, judged, "0-0", "0-1")
    html = explain_page(found, [image(home, "0-0"), image(home, "0-1")], home / "study").html()
    assert disagreements(html, found.model_dump(mode="json")) == []
    assert html.count("data:image/webp") == 2 + sum(len(one.neighbours) for one in found.pictures)
    assert "no causes" in html
    assert "Simulated study" in html


@pytest.mark.browser
def test_covering_a_place_that_matters_costs_most(home: Path, judged, chromium, tmp_path: Path) -> None:
    gray = np.full((96, 96, 3), 120, np.uint8)
    gray[48:, :48] = (250, 20, 20)
    Image.fromarray(gray).save(tmp_path / "corner.png")
    settings = ExplainSettings(neighbours=0, measure=False, occlusion=2)
    found = explain([tmp_path / "corner.png"], models=[home / "model"], prompt=judged.prompts["q0"], settings=settings)
    drops = np.array(found.pictures[0].occlusion.drops)
    assert drops.shape == (2, 2)
    assert np.abs(drops).argmax() == 2  # row 2, column 1: the only place that is unlike the mean
    covered = Image.fromarray(gray)
    covered.paste(tuple(int(part) for part in gray.reshape(-1, 3).mean(axis=0).round()), (0, 48, 48, 96))
    covered.save(tmp_path / "covered.png")
    plain = ExplainSettings(neighbours=0, measure=False)
    again = explain([tmp_path / "covered.png"], models=[home / "model"], prompt=judged.prompts["q0"], settings=plain)
    assert drops[1, 0] == pytest.approx(found.pictures[0].total - again.pictures[0].total, abs=1e-6)
    html = explain_page(found, [tmp_path / "corner.png"]).html()
    assert html.count("row 2, column 1") >= 1
    assert page_faults(chromium, html, tmp_path) == []
    assert disagreements(html, found.model_dump(mode="json")) == []


def test_the_command(home: Path, tmp_path: Path) -> None:
    asked = ["explain", str(image(home, "0-0")), str(image(home, "0-2")), "--model", str(home / "model"), "--study"]
    asked += [str(home / "study"), "--no-measure", "--html", str(tmp_path / "why.html")]
    run = CliRunner().invoke
    shown, record = run(select, asked), run(select, [*asked, "--json"])
    assert shown.exit_code == record.exit_code == 0, shown.output
    assert "stands above by" in shown.output
    assert "won" in shown.output
    assert json.loads(record.output)["signature_line"].startswith("explain|")
    assert (tmp_path / "why.html").is_file()


def test_a_service_knows_the_neighbourhood_of_its_model_alone(home: Path, judged) -> None:
    near = open_neighborhood(home / "study", home / "model")
    own = {"mean": red_study.Colors().pictures([Image.open(image(home, "3-0"))], "mean")[0]}
    sha = judged.hashes[[item.id for item in judged.items].index("3-0")]
    found, note = near.nearest(ModelAnswer({}, {"tiny": own}), sha, 3)
    assert (len(found), note) == (3, "")
    assert "3-0" not in {one.item for one in found}
    assert near.nearest(ModelAnswer({}), sha, 3) == (
        (),
        "neighbours are known by the vectors of tiny, which does not serve now",
    )


def test_bad_input(home: Path, judged, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"no picture")
    with pytest.raises(BadFile):
        explain([tmp_path / "bad.png"], models=[home / "model"])
    with pytest.raises(BadValue, match="one picture"):
        explain([], models=[home / "model"])
    alone = explain(
        [image(home, "0-0")], names=["naturalness"], judged_study=judged, settings=ExplainSettings(measure=False)
    )
    assert alone.pictures[0].neighbours == ()
    assert "need a model of heads" in alone.notes[0]
    strange = told(home, None, "0-0")  # no study, no prompt: the heads read one, so there is no total
    assert strange.pictures[0].total is None
