"""From judged posters to a model, a frozen reference and a leaderboard: the demo's last part, small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from missing_parts import remove_modules
from red_study import Colors

from salon.bench import Suite, entry_folder, entry_result, open_board, read_published, verify, with_hashes
from salon.bench.entry_files import RESULT
from salon.cli import demo, demo_board, demo_board as demo_select
from salon.cli.demo_board import demo_suite, make_board
from salon.collect import designers_study
from salon.generate import GenerateSettings, generate_items, house_generator, read_prompts
from salon.judge import SCORES_FOLDER as SCORES, ScoreSettings, read_scores, score_study, scores_file
from salon.models import preference_model
from salon.store import open_study, save_study
from salon.train import train_heads as training

ENTRIES = ("atelier", "proof", "proof+low-contrast@0.7")
WHOLE = demo_suite
LESSONS = demo_board.draw_lessons


def small_suite() -> Suite:
    """Two prompts at a quarter of the size."""
    suite = WHOLE()
    return with_hashes(replace(suite, card=suite.card.model_copy(update={"size": "184x260"})))


def retitled(suite: Suite) -> Suite:
    return with_hashes(replace(suite, card=suite.card.model_copy(update={"title": "Another"})))


@pytest.fixture(scope="module")
def posters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight small briefs by three houses, ranked by simulated designers."""
    folder = tmp_path_factory.mktemp("judged") / "posters"
    houses = [house_generator(name) for name in demo.GENERATORS[:3]]
    generate_items(read_prompts("briefs")[::30], houses, GenerateSettings(size="92x130"), folder)
    save_study(designers_study(folder), folder, overwrite=True)
    return folder


@pytest.fixture
def folder(posters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A demo's folder up to the judged posters; the model that will learn from them sees mean colors."""
    (tmp_path / "posters").symlink_to(posters)
    for module in (training, preference_model):
        monkeypatch.setattr(module, "open_encoder", lambda name, **options: Colors())
    monkeypatch.setattr(demo_board, "HEADS", demo_board.HEADS.model_copy(update={"axes": 0, "epochs": 3, "width": 4}))
    monkeypatch.setattr(demo_board, "draw_lessons", lambda folder, size: LESSONS(folder, "92x130"))
    monkeypatch.setattr(demo_board, "ENTRIES", ENTRIES)
    monkeypatch.setattr(demo_board, "EVERY", 12)
    monkeypatch.setattr(demo_board, "demo_suite", small_suite)
    return tmp_path


def bytes_of(folder: Path) -> dict[str, bytes]:
    board = open_board(folder / "board")
    return {one.name: (entry_folder(board, one.name) / RESULT).read_bytes() for one in board.entries}


def test_the_model_a_reference_and_a_board_again_and_by_another_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_board(folder)
    assert [one.entry for one in made.results] == sorted(ENTRIES)
    assert all(one.status == "complete" and one.overall is not None for one in made.results)
    assert made.validation.pairs > 0
    board = open_board(folder / "board")
    assert "no person's taste" in board.suite.reference.note
    assert all(read_published(entry_folder(board, name)) is not None for name in ENTRIES)
    assert verify(str(folder / "board"), entry_result).holds
    page = (folder / "board-site" / "index.html").read_text(encoding="utf-8")
    assert all(name in page for name in ENTRIES)

    lines = demo.board_lines(made)
    assert lines[0].split() == ["entry", "Capability", "EPS", "Overall", "rank"]
    assert {line.split()[0] for line in lines[1:-1]} == set(ENTRIES)
    right = f"{made.validation.accuracy.value:.0%}"
    assert lines[-1].startswith(f"EPS: a model trained just now on simulated designers; validation {right}")

    monkeypatch.setattr(demo_select, "CANDIDATES", 2)
    monkeypatch.setattr(demo_select, "PICK_EVERY", 120)
    picked = demo_select.pick_best(folder, size="92x130")
    assert (picked.prompts, picked.of) == (2, 2)
    assert 0 < picked.picks <= picked.best <= 1
    assert picked.everything <= picked.best
    assert (folder / "best" / "best" / "index.html").is_file()

    before = bytes_of(folder)
    make_board(folder)
    assert bytes_of(folder) == before

    monkeypatch.setattr(demo_board, "HEADS", demo_board.HEADS.model_copy(update={"seed": 1}))
    other = make_board(folder)
    assert bytes_of(folder) != before
    assert [one.capability for one in other.results] == [one.capability for one in made.results]

    monkeypatch.setattr(demo_board, "demo_suite", lambda: retitled(small_suite()))  # a later version of the demo
    make_board(folder)
    assert open_board(folder / "board").suite.card.title == "Another"


def test_without_a_trained_model_the_board_has_capability_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remove_modules(monkeypatch, "train", "salon.train.train_heads")
    demo._print_board(folder)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(ENTRIES) + 2
    assert told[-1] == "  no EPS: the optional part 'train' is needed for this (pip install 'salon[train]')"
    assert (folder / "board-site" / "index.html").exists()


def test_where_nothing_can_read_a_picture_the_demo_says_so_and_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remove_modules(monkeypatch, "models", "salon.train.train_heads", "salon.judge.measuring_judge")
    demo._print_board(folder)
    assert capsys.readouterr().out == (
        "  no board: the optional part 'models' is needed for this (pip install 'salon[models]')\n"
    )
    assert not (folder / "board-site").exists()
    demo._print_picks(folder)
    assert capsys.readouterr().out.startswith("  no picks: a model folder")


SMALL = "368x520"


@pytest.mark.slow
def test_the_damaged_entry_does_not_lead_where_the_model_saw_flaws(tmp_path: Path) -> None:
    prompts = read_prompts("briefs")[:: demo.EVERY]
    houses = [house_generator(name) for name in demo.GENERATORS]
    generate_items(prompts, houses, GenerateSettings(size=SMALL), tmp_path / "posters")
    scorer, _ = demo_board.train_scorer(tmp_path, SMALL)
    asked = [one.prompt for one in WHOLE().prompts]
    entries = [house_generator(name) for name in ENTRIES[1:]]  # the clean one, and the same with a planted flaw
    generate_items(asked, entries, GenerateSettings(size=SMALL), tmp_path / "field")
    field = open_study(tmp_path / "field")
    score_study(field, tmp_path / "field", scorer, ScoreSettings())
    rows = read_scores(scores_file(tmp_path / "field" / SCORES, scorer.name)).to_pylist()
    logits: dict[str, dict[str, float]] = {}
    for item, row in zip(field.nouns("items"), rows, strict=True):
        assert item.id == row["item"]
        logits.setdefault(item.generator, {})[item.prompt] = row["value"]
    means = {name: fmean(of.values()) for name, of in logits.items()}
    clean, damaged = logits["proof"], logits["proof+low-contrast@0.7"]
    assert means["proof+low-contrast@0.7"] < means["proof"]
    assert fmean(damaged[id] < clean[id] for id in clean) > 0.5  # poster by poster: they differ in nothing else
