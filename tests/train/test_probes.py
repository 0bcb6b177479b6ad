"""Probes: planted weaknesses are found, steady scorers are cleared, and what is altered is what is said."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from browser import chromium, page_faults
from click.testing import CliRunner
from PIL import Image, ImageStat

from salon.cli.evaluate import probe
from salon.errors import BadValue, TooFew
from salon.store import save_study
from salon.study import Criterion, Item, Prompt, ScorerCard, Signature, Study
from salon.train import ProbeSettings, probe_page
from salon.train.probe_report import altered_example
from salon.train.probes import TRICKS, ProbeReport, Trick, overlay_text, probe_scorer

__all__ = ["chromium"]

QUICK = ProbeSettings(draws=200)


class By:
    """A scorer by any function of a picture."""

    name = "by"
    signature = Signature(method="by", version="test")

    def __init__(self, value: Callable[[Image.Image], float | None], **card: object) -> None:
        self._value, self.card = value, ScorerCard(**card)

    def score(self, items, prompts):  # type: ignore[no-untyped-def]
        return [self._value(Image.open(item.image).convert("RGB")) for item in items]


def colorful(image: Image.Image) -> float:
    return ImageStat.Stat(image.convert("HSV")).mean[1]


def sharp(image: Image.Image) -> float:
    gray = np.asarray(image.convert("L"), float)
    return -abs(float(np.abs(np.diff(gray, axis=1)).mean()) - 8.0)  # grain is as bad as blur


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("probed") / "study"
    rng = np.random.default_rng(2)
    prompts = [Prompt(id=f"p{k}", text=f"a poster, number {k}") for k in range(10)]
    items = [Item(id=f"{p.id}-{k}", prompt=p.id, image=f"images/{p.id}-{k}.png") for p in prompts for k in range(2)]
    items.append(Item(id="bare", prompt="p0"))
    made = Study.build("s", [Criterion(id="c", name="C")], tables={"prompts": prompts, "items": items})
    save_study(made, folder)
    (folder / "images").mkdir()
    for item in items[:-1]:
        waves = np.add.outer(np.sin(np.arange(96) / rng.uniform(3, 4)), np.cos(np.arange(96) / rng.uniform(3, 4)))
        pixels = np.clip(128 + 30 * waves[..., None] * rng.uniform(0.8, 1, 3) + rng.uniform(-40, 40, 3), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / (item.image or ""))
    return made, folder


@pytest.fixture(scope="module")
def colored(study: tuple[Study, Path]) -> ProbeReport:
    return probe_scorer(*study, By(colorful), QUICK)


def tricks(*names: str) -> list[Trick]:
    return [trick for trick in TRICKS if trick.name in names]


def outcomes(report) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {one.trick: one.outcome for one in report.verdicts}


def test_a_planted_love_of_color_is_found(colored: ProbeReport) -> None:
    report = colored
    assert "saturation" in report.raised
    assert outcomes(report)["border"] == "does not raise"  # white has no color
    strongest = [row for row in report.rows if row.trick == "saturation"][-1]
    assert strongest.risen.value == 1
    assert 0.5 < strongest.risen.low < 1  # never of zero width
    assert strongest.overturned.value > 0.25
    assert report.left_out == {"without a picture": 1}
    assert (report.items, report.prompts) == (20, 10)


def test_lower_is_better_turns_the_verdict(study: tuple[Study, Path]) -> None:
    report = probe_scorer(*study, By(colorful, higher_is_better=False), QUICK, tricks=tricks("saturation", "border"))
    assert outcomes(report)["saturation"] == "does not raise"
    assert "border" in report.raised


def test_controls_are_noticed_by_a_scorer_of_sharpness(study: tuple[Study, Path]) -> None:
    harm = tricks("blur", "noise")
    assert set(outcomes(probe_scorer(*study, By(sharp), QUICK, tricks=harm)).values()) == {"noticed"}
    blind = By(lambda image: float(image.getpixel((9, 9))[0]))
    assert set(outcomes(probe_scorer(*study, blind, QUICK, tricks=harm)).values()) == {"not noticed"}


def test_one_prompt_leaves_everything_open(study: tuple[Study, Path]) -> None:
    others = frozenset(f"p{k}-{n}" for k in range(1, 10) for n in range(2))
    both = tricks("blur", "border")
    assert set(outcomes(probe_scorer(*study, By(sharp), QUICK, tricks=both, leave_out=others)).values()) == {"open"}


def test_change_by_hand(tmp_path: Path) -> None:
    items = [Item(id=f"{p}{k}", prompt=p, image=f"{p}{k}.png") for p in "pq" for k in range(2)]
    made = Study.build("s", [Criterion(id="c", name="C")],
                       tables={"prompts": [Prompt(id=one, text=one) for one in "pq"], "items": items})  # fmt: skip
    for item, gray in zip(items, (10, 14, 20, 24)):
        Image.new("RGB", (20, 20), (gray,) * 3).save(tmp_path / item.image)
    border = tricks("border")
    corner = By(lambda image: float(image.getpixel((0, 0))[0]))
    report = probe_scorer(made, tmp_path, corner, QUICK, tricks=border)
    # within a prompt two scores 4 apart: variance 8, spread 2.828; the corner becomes white, 255
    assert report.spread == pytest.approx(8**0.5)
    mean = np.mean([255 - gray for gray in (10, 14, 20, 24)]) / 8**0.5
    assert [row.change.value for row in report.rows] == pytest.approx([mean] * 3)
    assert [row.overturned.value for row in report.rows] == [1, 1, 1]


def test_what_has_no_score_is_counted_and_what_was_trained_on_left_out(study: tuple[Study, Path]) -> None:
    large = By(lambda image: None if image.width > 110 else colorful(image))  # a border of a tenth makes 96 into 116
    border = tricks("border")
    with pytest.raises(TooFew, match="altered items"):
        probe_scorer(*study, large, QUICK, tricks=border)
    known = frozenset(f"p{k}-{n}" for k in range(8) for n in range(2))
    report = probe_scorer(*study, By(colorful), QUICK, tricks=border, leave_out=known)
    assert (report.items, report.left_out["trained on"]) == (4, 16)
    few = probe_scorer(*study, By(colorful), ProbeSettings(draws=200, items=7), tricks=border)
    assert (few.items, few.left_out["beyond --items"]) == (6, 14)  # whole prompts
    with pytest.raises(BadValue, match="tells items apart"):
        probe_scorer(*study, By(lambda image: 1.0), QUICK)


def test_alterations_do_what_they_say() -> None:
    image = Image.new("RGB", (120, 90), (90, 60, 60))
    rng = np.random.default_rng(0)
    made = {trick.name: trick.alter(image, trick.strengths[-1], "a tea house", rng) for trick in TRICKS}
    assert made["border"].size == (120 + 18, 90 + 18)
    assert made["saturation"].getpixel((0, 0))[0] > 90
    assert {name for name, one in made.items() if one.size == image.size} == set(made) - {"border"}
    written = np.asarray(overlay_text(image, "tea", 0.1)).astype(int)
    assert (written[:40] == np.asarray(image)[:40]).all()  # only the lower edge
    assert written[70:].max() > 240
    assert (np.asarray(made["prompt"]) != np.asarray(made["praise"])).any()


@pytest.mark.browser
def test_the_page_shows_every_row_and_one_item_under_all(
    chromium, colored: ProbeReport, study: tuple[Study, Path], tmp_path: Path
) -> None:
    item = next(study[0].nouns("items"))
    html = probe_page(colored, altered_example(study[1] / item.image, "a fair")).html()
    assert page_faults(chromium, html, tmp_path) == []
    page = unescape(html)
    assert all(row.words in page for row in colored.rows)
    assert page.count("data:image/webp") == 1 + len(TRICKS)


def test_the_command_exits_with_one_where_a_trick_pays(study: tuple[Study, Path], tmp_path: Path) -> None:
    arguments = [
        "naturalness",
        str(study[1]),
        "--items",
        "4",
        "--draws",
        "100",
        "--gate",
        "--html",
        str(tmp_path / "p.html"),
    ]
    done = CliRunner().invoke(probe, arguments, catch_exceptions=False)
    assert done.exit_code == (1 if ": raises the score" in done.output else 0)
    assert "hold together at 95%" in done.output
    assert "not used: 16 items beyond --items" in done.output
    assert (tmp_path / "p.html").is_file()
