"""Several contestants side by side: whose row it is, who is not told apart, and one number on page and in JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from browser import chromium, page_faults
from click.testing import CliRunner
from PIL import Image
from public_files import ALL, UNDERSTANDING, made

from salon.bench import (
    PosterContestant,
    PosterFile,
    PosterPaperTable,
    PosterScoreSettings,
    compare_files,
    compared_page,
    is_apart,
    score_files,
    with_released,
)
from salon.bench.posters.comparison import ComparisonReport
from salon.bench.posters.contestants import Name, fill_responses
from salon.bench.posters.files import JudgeCard, record_judge
from salon.bench.posters.judge_protocol import released_hash
from salon.cli.main import salon as command
from salon.errors import BadFile, BadValue
from salon.report import disagreements

__all__ = ["chromium"]

QUICK = PosterScoreSettings(draws=200)


def contestant(name: Name, tasks: tuple[str, ...] = ALL, n: int = 28) -> PosterContestant:
    return PosterContestant(name, [fill_responses(made(task, n), name) for task in tasks], QUICK)


def compared(*names: Name, tasks: tuple[str, ...] = ALL) -> ComparisonReport:
    return compare_files([contestant(name, tasks) for name in names])


def test_values_are_those_of_the_single_reports() -> None:
    report = compared("random", "perfect")
    for at, name in enumerate(("random", "perfect")):
        alone = score_files(contestant(name).files, QUICK, contestant=name)  # type: ignore[arg-type]
        assert report.reports[at] == alone
        figures = [metric.figure for task in alone.tasks for metric in task.metrics]
        assert [row.values[at].figure for row in report.rows] == figures
    assert [row.title for row in report.groups] == [
        "OCR", "Font", "Layout", "Understanding", "Rating", "Generation", "Overall",
    ]  # fmt: skip


def test_the_best_of_each_row_and_who_is_behind() -> None:
    report = compared("random", "perfect", tasks=("font_attributes", "alignment", "font_size_ocr"))
    for row in report.rows:
        blind, best = row.values
        if row.metric != "Spread across sizes":
            assert best.best
            assert is_apart(blind) is True
            assert blind.behind.value == pytest.approx(best.figure.value - blind.figure.value)  # type: ignore[union-attr]
    spread = next(row for row in report.rows if row.metric.startswith("Spread"))
    assert spread.better == "low"
    assert all(value.best for value in spread.values)  # neither has any


def by_hand(name: str, wrong: set[int]) -> PosterContestant:
    """Font attributes answered right, but for some items."""
    file: PosterFile = made("font_attributes", 40)
    said = {
        i: {"response": "BA"["AB".index(item.truth)] if i in wrong else item.truth} for i, item in enumerate(file.items)
    }
    return PosterContestant(name, [file.edited(said)], QUICK)


def test_differences_are_paired() -> None:
    """One wrong answer more on the same items: apart by the draws in which that item is, though intervals overlap."""
    half = set(range(20))
    report = compare_files([by_hand("a", half), by_hand("b", half | {20}), by_hand("c", half | set(range(20, 32)))])
    _, b, c = report.rows[0].values
    assert b.behind.value == pytest.approx(2 / 40)  # type: ignore[union-attr]
    assert is_apart(b) is False  # a draw without the item shows no difference
    assert b.behind.high < 0.2  # type: ignore[union-attr, operator]
    assert b.figure.high - b.figure.low > 0.4  # type: ignore[union-attr, operator]
    assert is_apart(c) is True


def test_who_was_not_asked_has_no_value_and_groups_of_other_tasks_are_not_compared() -> None:
    report = compare_files([contestant("perfect", ("logo_ocr", "simple_ocr")), contestant("random", ("logo_ocr",))])
    logo, simple = report.rows
    assert logo.values[1].behind is not None
    assert simple.values[1].figure is None
    assert all(value.behind is None and not value.best for row in report.groups for value in row.values)


def test_other_items_and_two_of_one_name_are_refused() -> None:
    with pytest.raises(BadFile, match="same items of logo_ocr"):
        compare_files([contestant("perfect", ("logo_ocr",)), contestant("random", ("logo_ocr",), n=5)])
    with pytest.raises(BadValue, match="different names"):
        compare_files([contestant("perfect", ("logo_ocr",))] * 2)


# -- the paper's tables ------------------------------------------------------------------------------------------------


def table(report: ComparisonReport, number: int) -> PosterPaperTable:
    return next(one for one in report.tables if one.number == number)


def published(number: int) -> dict[str, dict[str, float]]:
    """The paper's rows of a table, by model and column."""
    report = compare_files([contestant("perfect", ALL, n=14)], published=["all"])
    one = table(report, number)
    keys = [column.key for column in one.columns]
    return {row.contestant: dict(zip(keys, [c.value for c in row.cells])) for row in one.rows if row.published}  # type: ignore[misc]


def test_a_perfect_contestant_fills_the_seven_tables_with_ones() -> None:
    report = compared("perfect")
    assert [one.number for one in report.tables] == [1, 2, 3, 4, 5, 6, 7]
    assert [len(one.columns) for one in report.tables] == [7, 5, 3, 12, 1, 6, 6]
    for one in report.tables:
        (row,) = one.rows
        assert not row.published
        for column, cell in zip(one.columns, row.cells):
            assert cell.value == pytest.approx(0.0 if column.better == "low" else 1.0), column.key


def test_published_rows_follow_from_one_another() -> None:
    """Table 7 holds the means of Tables 1 to 5, cut after three digits, but for what the paper itself has wrong."""
    overall = published(7)
    steady = ("gap", "font_size_ocr.sd", "layout_generation.bias", "layout_generation.recall")
    wrong = {("GPT-5", "OCR"), ("Gemini-2.5-Pro", "OCR"), ("Qwen3-VL-4B", "Average")}
    for number, group in ((1, "OCR"), (2, "Font"), (3, "Understanding"), (4, "Layout"), (5, "Rating")):
        rows = published(number)
        assert list(rows) == list(overall)
        for model, values in rows.items():
            mean = np.mean([value for key, value in values.items() if key not in steady])
            if (model, group) not in wrong:
                assert mean - 0.0021 < overall[model][f"group:{group}"] < mean + 0.0011, (model, group)
    for model, values in overall.items():
        *groups, average = values.values()
        if (model, "Average") not in wrong:
            assert np.mean(groups) - 0.0021 < average < np.mean(groups) + 0.0011, model
    for model, values in published(6).items():
        *tasks, average = values.values()
        assert average == pytest.approx(np.mean(tasks), abs=0.0011), model
    gaps = published(1).values()
    assert all(row["gap"] == pytest.approx(row["simple_ocr.wr"] - row["hard_ocr.wr"], abs=0.0011) for row in gaps)


def test_published_rows_are_marked_chosen_by_name_and_never_ranked() -> None:
    report = compare_files([contestant("random"), contestant("always-a")], published=["gpt-5", "Qwen-Image"])
    names = {one.number: [row.contestant for row in one.rows if row.published] for one in report.tables}
    assert names == {1: ["GPT-5"], 2: ["GPT-5"], 3: ["GPT-5"], 4: ["GPT-5"], 5: ["GPT-5"], 6: ["Qwen-Image"],
                     7: ["GPT-5"]}  # fmt: skip
    assert not any(cell.best for one in report.tables for row in one.rows if row.published for cell in row.cells)
    assert table(report, 1).rows[-1].cells[3].value == 0.496
    assert any("published" in policy for policy in report.policies)
    with pytest.raises(BadValue, match="published rows"):
        compare_files([contestant("random")], published=["GPT-9"])


def test_tables_hold_the_released_numbers_where_they_are_asked_for() -> None:
    ours, theirs = compared("list-everything"), compare_files([contestant("list-everything")], compat="released")
    alone = with_released(ours.reports[0], contestant("list-everything").files)
    effect = next(task for task in alone.tasks if task.task == "font_effect").metrics[0].released
    assert table(theirs, 2).rows[0].cells[2].value == effect == 1.0
    assert table(ours, 2).rows[0].cells[2].value < 0  # type: ignore[operator]
    assert theirs.rows == ours.rows
    crashed = table(theirs, 1).rows[0].cells[2]  # no record reaches .1
    assert (crashed.value, crashed.why) == (None, "the released scoring ends with ZeroDivisionError")
    whole = compare_files([contestant("perfect")], compat="released")
    assert table(whole, 7).rows[0].cells[-1].value == whole.reports[0].overall_released is not None


def owing(name: str) -> PosterContestant:
    """Perfect answers, on which no judge has spoken."""
    files = [file.edited({item.number: {"judge": None} for item in file.items}) if file.task.judged else file
             for file in contestant("perfect").files]  # fmt: skip
    return PosterContestant(name, files, QUICK)


def test_who_owes_verdicts_is_not_ranked() -> None:
    report = compare_files([owing("owing"), contestant("random"), contestant("empty")])
    judged = [row for row in report.rows if row.values[0].owed]
    assert {row.task for row in judged} >= {"composition_understanding", "intention_understanding"}
    for row in (*judged, *(one for one in report.groups if one.title in ("Understanding", "Overall"))):
        assert row.values[0].owed > 0
        assert not row.values[0].best
        assert row.values[0].behind is None
        assert any(value.best for value in row.values[1:])
    logo = next(row for row in report.rows if row.task == "logo_ocr")
    assert logo.values[0].best  # where no verdict counts, it is ranked
    cells = dict(zip((row.contestant for row in table(report, 7).rows), (r.cells[-1] for r in table(report, 7).rows)))
    assert (cells["owing"].best, cells["owing"].owed > 0) == (False, True)
    assert cells["random"].best
    assert "not ranked" in compared_page(report).html()


def judged(
    name: str, *protocols: str, tasks: tuple[str, ...] = ("logo_ocr", "intention_understanding")
) -> PosterContestant:
    """Perfect answers with verdicts by these protocols."""
    files = [fill_responses(made(task, 28), "perfect") for task in tasks]
    cards = tuple(JudgeCard(judge="eye", signature="eye-1", verdicts=9, protocol=one) for one in protocols)
    return PosterContestant(name, files, QUICK, judges=cards)


@pytest.mark.parametrize(
    ("first", "second", "comparable"),
    [
        (("salon",), ("salon",), True),
        (("released",), ("released",), True),
        ((), (), True),
        (("salon",), ("released",), False),
        (("released",), (), False),
        (("salon", "released"), ("salon", "released"), False),
        (("salon", "released"), ("salon",), False),
    ],
)
def test_only_verdicts_of_one_protocol_are_ranked(first, second, comparable) -> None:
    report = compare_files([judged("a", *first), judged("b", *second)])
    rows = {row.task or row.title: row for row in (*report.rows, *report.groups)}
    assert [value.best for value in rows["logo_ocr"].values] == [True, True]  # no verdict counts
    column = [one.key for one in table(report, 3).columns].index("intention_understanding.share")
    cells = [row.cells[column] for row in table(report, 3).rows]
    last = [row.cells[-1] for row in table(report, 7).rows]
    for values in (
        *(rows[name].values for name in ("intention_understanding", "Understanding", "Overall")),
        cells,
        last,
    ):
        assert [value.best for value in values] == [comparable] * 2
        assert [value.other_protocol for value in values] == [not comparable] * 2
    html = compared_page(report).html()
    assert ("not comparable, and not ranked" in html) is not comparable
    assert any(policy.startswith("Judged by different protocols (a: ") for policy in report.policies) is not comparable


def test_the_tables_say_by_which_prompts_contestants_were_judged() -> None:
    rivals = [judged("a", "released"), judged("b", "salon"), judged("c"), owing("d"), contestant("perfect")]
    report = compare_files(rivals, published=["GPT-5"])
    assert [one.protocol for one in report.judged] == ["released", "salon", "not recorded", "none", "none"]
    assert report.judged[0].prompts == released_hash()
    named = [row.judged for row in table(report, 7).rows]
    assert named == [f"released prompts ({released_hash()[:8]})", "Salon’s prompts", "not recorded", "none", "none",
                     "as published"]  # fmt: skip
    assert {row.judged for row in table(report, 1).rows} == {None}  # nothing of it is judged
    assert [one.judges[0].judge for one in report.reports[:2]] == ["eye", "eye"]
    html = compared_page(report).html()
    for words in ("Judge protocols", *named[:3]):
        assert str(words) in html


def test_a_mean_over_fewer_tasks_is_not_ranked_in_the_tables() -> None:
    report = compare_files([contestant("perfect", ("logo_ocr", "simple_ocr")), contestant("random", ("logo_ocr",))])
    one, other = (row.cells[0] for row in table(report, 7).rows)
    assert (one.partial, other.partial, one.best, other.best) == (False, True, False, False)
    assert "simple_ocr" in other.why


# -- side by side ------------------------------------------------------------------------------------------------------


def test_cases_are_those_on_which_contestants_differ() -> None:
    wrong = {3, 17}
    report = compare_files([by_hand("a", set()), by_hand("b", wrong)])
    assert {case.number for case in report.cases[:2]} == wrong
    first = report.cases[0]
    assert [answer.worth for answer in first.answers if answer] == [1.0, 0.0]
    assert first.answers[0].read == first.wanted  # type: ignore[union-attr]
    assert first.prompt.startswith("Question")


def test_galleries_show_pictures_truth_and_answers(tmp_path: Path) -> None:
    file = made("logo_ocr", 6)
    for item in file.items:
        place = tmp_path / "set" / item.path
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (30, 30), (200, 10, 10)).save(place)
    said = {i: {"response": "<script>alert(1)</script>"} for i in range(6)}
    report = compare_files(
        [
            PosterContestant("a", [fill_responses(file, "perfect")], QUICK),
            PosterContestant("b", [file.edited(said)], QUICK),
        ]
    )
    html = compared_page(report, tmp_path / "set").html()
    assert html.count('<img class="shown" src="data:image') == 4
    assert "<script>alert(1)" not in html
    assert "Brand 1" in html
    assert "no picture" in compared_page(report).html()


def test_generators_are_shown_with_their_own_posters(tmp_path: Path) -> None:
    """Each has its posters in a folder and under paths of its own."""
    rivals = []
    for at, name in enumerate(("atelier", "ledger")):
        file = made("gen_style", 3)
        own = file.edited({i: {"path": f"posters/{name}/{i}.png", "judge": file.items[i].truth} for i in range(3)})
        for item in own.items:
            place = tmp_path / name / item.path
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (30, 30), (0, 90 * at, 9 * item.number)).save(place)
        rivals.append(PosterContestant(name, [own], QUICK, tmp_path / name))
    html = compared_page(compare_files(rivals), None, [one.pictures for one in rivals]).html()
    assert len(set(re.findall(r'<img class="shown" src="([^"]+)"', html))) == 6


@pytest.mark.browser
def test_every_number_of_the_page_is_the_documents(chromium, tmp_path: Path) -> None:
    rivals = [contestant(name, UNDERSTANDING) for name in ("random", "perfect", "empty")]  # type: ignore[arg-type]
    report = compare_files(rivals, published=["GPT-5"])
    html = compared_page(report).html()
    assert disagreements(html, json.loads(report.model_dump_json())) == []
    for words in (
        "No clear difference",
        "Table 4: Layout",
        "GPT-5 (published)",
        "leads by the average",
        "Difficulty",
        ">Word recall</text>",
        "Worth nothing",
    ):
        assert words in html
    assert page_faults(chromium, html, tmp_path) == []


def test_compare_from_the_terminal(tmp_path: Path) -> None:
    def run(*args: str | Path) -> str:
        done = CliRunner().invoke(command, ["bench", "posters", *map(str, args)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    for task in ("font_attributes", "text_localization", "intention_understanding"):
        made(task).write(tmp_path / "set" / made(task).task.place)
    run("run", tmp_path / "set", "--contestant", "perfect", "--boxes", "thousand")
    run("run", tmp_path / "set", "--contestant", "random")
    page = tmp_path / "page.html"
    places = (tmp_path / "set.perfect", tmp_path / "set.random")
    told = json.loads(run("compare", *places, "--draws", "100", "--json", "--html", page))
    assert told["contestants"] == ["perfect", "random"]
    assert [one["settings"]["boxes"] for one in told["reports"]] == ["thousand", "share"]  # as their runs say
    assert "Text localisation" in page.read_text()
    words = run("compare", *places, "--draws", "100")
    assert "1.000" in words
    assert "the best of its row" in words
    assert "Table 2. Font" in words
    record_judge(tmp_path / "set.perfect", "eye", "eye-1", 3, "released")
    words = run("compare", *places, "--draws", "100")
    assert f"released prompts ({released_hash()[:8]})" in words
    assert "perfect judged by: released prompts" in words
    words = run("compare", *places, "--draws", "100", "--compat", "released", "--published", "gpt-5")
    assert "Table 4. Layout, released scoring" in words
    assert "GPT-5 (published)" in words


def test_the_runners_two_files_are_one_contestant(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        who: Name = "perfect" if name == "good" else "random"
        for kind, tasks in (("bench", ("logo_ocr", "alignment")), ("score", ("gen_style",))):
            rows = [row for task in tasks for row in fill_responses(made(task, 4), who).records]
            (tmp_path / f"{name}_{kind}.json").write_text(json.dumps(rows))
    places = [tmp_path / f"{name}_{kind}.json" for name in ("good", "bad") for kind in ("bench", "score")]
    done = CliRunner().invoke(
        command, ["bench", "posters", "compare", *map(str, places), "--draws", "100", "--json"], catch_exceptions=False
    )
    told = json.loads(done.output)
    assert told["contestants"] == ["good", "bad"]
    assert [len(report["tasks"]) for report in told["reports"]] == [3, 3]
