"""The page of best of N says why the pick was picked: beside the runner-up, criterion by criterion."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from salon.report import disagreements
from salon.select import BestReport, PickSettings, ScorerColumn, blend_columns
from salon.select.best import OfferedPicture, choose_best
from salon.select.best_of import best_page
from salon.select.scores import ScoreTable

IDS = ("taste/mood", "words", "own")


def best_of(values: list[list[float]], sds: list[list[float]] | None = None, k: float = 1.0) -> BestReport:
    """The report of some items of one prompt under as many of `IDS` as there are columns."""
    columns = tuple(ScorerColumn(criterion=id, scorer=id, scale="logits") for id in IDS[: len(values[0])])
    items = tuple(f"item-{number}" for number in range(len(values)))
    spreads = np.full(np.shape(values), np.nan) if sds is None else np.array(sds)
    table = ScoreTable(items, columns, np.array(values, float), spreads, {}, "data")
    offered = [OfferedPicture(item=item, prompt="p", image=f"{item}.png") for item in items]
    return choose_best(offered, table, blend_columns(columns), PickSettings(k=k), place="here", texts={"p": "a poster"})


def page_of(report: BestReport, folder: Path) -> str:
    for number, item in enumerate(report.picks[0].items):
        Image.new("RGB", (40, 60), (40 * number, 90, 90)).save(folder / str(item.image))
    html = best_page(report, folder).html()
    assert disagreements(html, json.loads(report.model_dump_json())) == []
    return html


def note_of(html: str) -> str:
    return re.sub(r"<[^>]+>", "", re.search(r'class="note[^>]*>(.*?)</(?:p|div|aside)>', html, re.S)[1])


def test_pictures_then_words_then_criteria_then_numbers(tmp_path: Path) -> None:
    report = best_of([[0.1, 0.2, 0.0], [3.0, 0.5, 0.9], [1.0, 0.9, 0.9]])
    second = report.picks[0].runner_up
    assert second.item == "item-2"
    assert list(second.ahead) == ["taste/mood", "own", "words"]
    assert sum(second.ahead.values()) == pytest.approx((3 + 0.5 + 0.9 - 1 - 0.9 - 0.9) / 3)
    html = page_of(report, tmp_path)
    places = [html.index(words) for words in ("The pick<", "The runner-up<", "is ahead of the runner-up", "Rank 3")]
    assert places == sorted(places)
    assert html.index("Rank 3") < html.index('id="by-what"') < html.index('class="cards"')
    assert "is ahead of the runner-up in Mood and tone, and behind in words: what it gains is more." in note_of(html)
    balance = re.search(r'<ul class="balance">(.*?)</ul>', html, re.S)[1]
    assert re.findall(r"the (?:pick is|two are) (\w+)", balance) == ["ahead", "even", "behind"]
    assert "Share of the words asked for that can be read." in balance  # what the criterion asks, in words
    assert "The best of all in words, own. item-2" in html


def test_one_criterion_and_all_criteria_and_a_surer_pick(tmp_path: Path) -> None:
    assert "in Mood and tone, the only criterion." in note_of(page_of(best_of([[2.0], [1.0]]), tmp_path))
    every = note_of(page_of(best_of([[2.0, 0.9], [1.0, 0.2]]), tmp_path))
    assert "in every criterion, most in Mood and tone." in every
    surer = best_of([[2.0], [1.8]], [[1.5], [0.1]])
    assert surer.picks[0].pick.chosen == "item-1"
    assert "no higher total than the runner-up, but its scorers are surer of it." in note_of(page_of(surer, tmp_path))


def test_without_a_second_there_is_no_comparison(tmp_path: Path) -> None:
    report = best_of([[2.0], [np.nan]])
    assert report.picks[0].runner_up is None
    html = page_of(report, tmp_path)
    assert 'class="balance"' not in html
    assert "The runner-up<" not in html
    assert "No score under taste/mood" in html
