"""What generated posters are worth: figures by hand, deletions, the oracle beside, pages, and the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from PIL import Image
from public_files import made

from salon.bench import PosterFile, PosterReport, PosterScoreSettings, find_files, read_judges, report_page, score_files
from salon.bench.posters.contestants import fill_responses
from salon.bench.posters.files import find_picture
from salon.bench.posters.generate import generate_files
from salon.bench.posters.make import make_tasks
from salon.bench.posters.make.briefs import PROMPTS
from salon.bench.posters.measurement import measure_files
from salon.cli.main import run
from salon.generate import GenerateSettings, house_generator

QUICK = PosterScoreSettings(draws=100)
TASKS = tuple(PROMPTS)


def with_pictures(folder: Path, file: PosterFile) -> list[Path]:
    """An empty file where each poster stands: scoring asks only whether it is there."""
    places = [folder / item.path.replace("\\", "/") for item in file.items]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    return places


def numbers(report: PosterReport) -> dict[str, float]:
    """Every number that may not rise when posters go."""
    task = report.tasks[0]
    found = {metric.id: metric.figure.value for metric in task.metrics if metric.figure is not None}
    found |= {f"{m.id} at best": m.figure.value if m.at_best is None else m.at_best for m in task.metrics if m.figure}
    found |= {f"kind {one.kind}": one.met.value for one in task.points if one.met is not None}
    found |= {f"group {one.group}": one.figure.value for one in report.groups if one.figure is not None}
    return found


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_deleting_posters_never_raises_a_score(data: st.DataObject, tmp_path: Path) -> None:
    name = data.draw(st.sampled_from(TASKS))
    file = fill_responses(made(name, 6), "perfect")
    wrong = {"gen_style": ["Retro"], "gen_font": ["serif"]}.get(name, ["No", "", "Yes"])
    spoiled = data.draw(st.sets(st.integers(0, 5)))
    file = file.edited({number: {"judge": wrong} for number in spoiled})
    places = with_pictures(tmp_path, file)
    before = numbers(score_files([file], QUICK, pictures=tmp_path))
    gone = data.draw(st.sets(st.integers(0, 5), min_size=1))
    for number in gone:
        places[number].unlink()
    report = score_files([file], QUICK, pictures=tmp_path)
    assert report.tasks[0].missing == len(gone)
    assert report.tasks[0].items == 6
    for id, value in numbers(report).items():
        assert value <= before.get(id, 0.0) + 1e-12, (name, id, gone)


def test_figures_by_hand() -> None:
    """Three posters of three points: 3/3, 1/3 with one verdict owed, 0/3."""
    file = made("gen_dense", 3).edited({
        0: {"judge": ["Yes", "yes.", "Yes"]},
        1: {"judge": ["No", "Yes", "perhaps"]},
        2: {"judge": ["No", "No", "No"]},
    })  # fmt: skip
    task = score_files([file], QUICK).tasks[0]
    share, strict = task.metrics
    assert share.figure is not None
    assert share.figure.value == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert share.at_best == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert strict.figure is not None
    assert strict.figure.value == pytest.approx(1 / 3)
    (kind,) = task.points
    assert (kind.kind, kind.points, kind.owed) == ("eyes", 9, 1)
    assert kind.met is not None
    assert kind.met.value == pytest.approx(4 / 9)
    assert [case.number for case in task.posters] == [2, 1, 0]


def test_richness_is_the_mean_share_of_attributes() -> None:
    """37 attributes; serif on both posters, thin on one: (2/2 + 1/2) / 37."""
    file = made("gen_font", 2).edited({0: {"judge": ["serif, thin"]}, 1: {"judge": ["Serif"]}})
    figure = score_files([file], QUICK).tasks[0].metrics[0].figure
    assert figure is not None
    assert figure.value == pytest.approx(1.5 / 37)
    assert figure.low is not None


def test_the_oracle_stands_beside_and_never_in_the_score(tmp_path: Path) -> None:
    file = made("gen_dense", 2).edited({
        0: {"judge": ["No", "No", "Yes"], "oracle": ["Yes", "No", "Yes"]},
        1: {"judge": ["No", "No", "No"], "oracle": ["Yes", "Yes", "Yes"]},
    })  # fmt: skip
    report = score_files([file], QUICK)
    share = report.tasks[0].metrics[0]
    assert share.figure is not None
    assert share.figure.value == pytest.approx(1 / 6)
    assert share.oracle == pytest.approx((2 / 3 + 1) / 2)
    kind = report.tasks[0].points[0]
    assert (kind.oracle, kind.agree, kind.both) == (pytest.approx(5 / 6), 2, 6)
    only = file.edited({0: {"judge": None}, 1: {"judge": None}})
    with_pictures(tmp_path, only)
    alone = score_files([only], QUICK, pictures=tmp_path).tasks[0].metrics[0]
    assert alone.figure is not None
    assert alone.figure.value == 0.0
    open_oracle = file.edited({0: {"oracle": ["Yes", "", "Yes"]}})
    assert score_files([open_oracle], QUICK).tasks[0].metrics[0].oracle is None  # it could not answer everything


def test_flawed_posters_are_worth_less_by_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters faded by 0.8: no better than their parent, poster by poster, and worse in all."""
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))
    make_tasks(tmp_path / "set", ["gen_dense"], 2, 0, processes=1)
    worth = {}
    for house in ("proof", "proof+low-contrast@0.8"):
        out = tmp_path / house
        small = GenerateSettings(size="512x724")
        generate_files(find_files([tmp_path / "set"]), house_generator(house, processes=1), out, small)
        measure_files(find_files([out]), "pixels", pictures=out)
        task = score_files(find_files([out]), QUICK, pictures=out).tasks[0]
        assert task.owed == 0
        worth[house] = {case.number: case.worth for case in task.posters}
    parent, faded = worth.values()
    assert all(faded[number] <= parent[number] for number in parent)
    assert sum(faded.values()) < sum(parent.values())


# -- page and terminal -------------------------------------------------------------------------------------------------


def salon(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as left:
        run(["bench", "posters", *(str(argument) for argument in arguments)])
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


def test_the_page_shows_posters_and_what_they_lack(tmp_path: Path) -> None:
    file = made("gen_dense", 3).edited({0: {"judge": ["Yes", "No", ""], "why": ["", "<b>no moon</b>", ""]}})
    places = with_pictures(tmp_path, file)
    Image.new("RGB", (30, 40), "navy").save(places[0])
    places[2].unlink()
    page = str(report_page(score_files([file], QUICK, pictures=tmp_path), tmp_path).html())
    assert "1 of 3 points met" in page
    assert "&lt;b&gt;no moon&lt;/b&gt;" in page
    assert page.count("data:image/webp") == 1
    assert "no poster" in page
    assert "cannot be shown" in page
    assert "provisional" in page


def test_from_prompts_to_a_score_at_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salon.engine.processes.cores", lambda: 1)
    prompts, out = tmp_path / "set", tmp_path / "proof"
    make_tasks(prompts, ["gen_dense", "gen_style"], 2, 0, processes=1)
    made_ones = ("generate", prompts, "-g", "proof", "-o", out, "--size", "368x520")
    code, said, _ = salon(capsys, *made_ones)
    assert code == 0
    assert "proof: 4 posters, 0 there already, of 4" in said
    code, said, _ = salon(capsys, *made_ones, "--json")
    assert (code, json.loads(said)["kept"]) == (0, 4)
    code, said, _ = salon(capsys, "judge", out, "--measured", "layout")
    assert code == 0
    assert "beside the score" in said
    script = tmp_path / "strict.jsonl"
    script.write_text('{"text": "Yes", "items": ["gen_dense_00000"]}\n{"none": "refused", "text": "no"}\n')
    code, said, _ = salon(capsys, "judge", out / "gen_task" / "gen_dense.json", "--script", script)
    assert code == 1
    assert "no reply: refused" in said
    assert [(one.judge, one.verdicts > 0) for one in read_judges(out)] == [("strict", True)]
    code, said, _ = salon(capsys, "score", out, "--html", tmp_path / "page.html", "--draws", 100)
    assert code == 0
    assert "judged by strict" in said
    assert "Key points by what they are about" in said
    code, said, _ = salon(capsys, "score", out, "--json", "--draws", 100)
    report = json.loads(said)
    assert report["contestant"] == "proof"
    assert report["tasks"][0]["metrics"][1]["figure"]["value"] == 0.5
    assert report["tasks"][1]["metrics"][0]["oracle"] == 1.0


def test_failures_and_mistakes_at_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts, pictures = tmp_path / "set", tmp_path / "mine"
    make_tasks(prompts, ["gen_dense"], 2, 0, processes=1)
    pictures.mkdir()
    Image.new("RGB", (30, 40), "navy").save(pictures / "gen_dense_00001.png")
    code, said, _ = salon(capsys, "generate", prompts, "-g", f"folder:{pictures}", "-o", tmp_path / "out")
    assert code == 1
    assert "no poster: missing" in said
    (file,) = find_files([tmp_path / "out"])
    assert [find_picture(tmp_path / "out", item.path) is not None for item in file.items] == [False, True]
    assert salon(capsys, "generate", prompts, "-g", "nobody", "-o", tmp_path / "n")[0] == 2
    assert salon(capsys, "generate", prompts, "-g", "proof", "-o", prompts)[0] == 2
    assert salon(capsys, "generate", prompts, "-g", "proof", "-g", "mirage", "-o", tmp_path / "n")[0] == 2
    assert salon(capsys, "generate", prompts, "-g", "proof", "-o", tmp_path / "n", "--task", "gen_font")[0] == 2
    assert salon(capsys, "generate", prompts, "-g", "proof", "-o", tmp_path / "n", "--size", "huge")[0] == 2
    assert salon(capsys, "judge", tmp_path / "out", "--simulated", "accuracy=0.7")[0] == 2
    assert not (tmp_path / "n").exists()


def test_generators_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two folders of posters: one with a poster gone, one with a verdict owed."""
    for name, judged in (("first", ["Yes", "Yes", "Yes"]), ("second", ["Yes", "No", ""])):
        file = made("gen_dense", 2)
        file = file.edited({n: {"path": f"posters/images/{n}.png", "judge": judged} for n in range(2)})
        with_pictures(tmp_path / name, file)
        file.write(tmp_path / name / file.task.place)
    (tmp_path / "first" / "posters" / "images" / "1.png").unlink()
    code, said, _ = salon(capsys, "compare", tmp_path / "first", tmp_path / "second", "--json", "--draws", 100)
    assert code == 0
    report = json.loads(said)
    assert report["contestants"] == ["first", "second"]
    share = report["rows"][0]["values"]
    assert [one["figure"]["value"] for one in share] == [0.5, pytest.approx(1 / 3)]
    assert "second (2)" in report["policies"][0]
