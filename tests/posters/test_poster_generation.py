"""Generators as contestants: houses, a hosted one, a folder; failures, resuming, judges over what was made."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from images_server import ImagesServer
from PIL import Image
from public_files import made

from salon.bench import (
    PosterFile,
    PosterReport,
    PosterScoreSettings,
    find_files,
    generate_named,
    judge_named,
    read_card,
    score_files,
)
from salon.bench.posters.files import find_picture
from salon.bench.posters.generate import generate_files
from salon.bench.posters.item_scores import point_verdicts
from salon.bench.posters.judge import judge_files
from salon.bench.posters.make import make_tasks
from salon.bench.posters.make.briefs import PROMPTS
from salon.bench.posters.measurement import measure_files
from salon.errors import BadFile, BadValue
from salon.generate import CallTerms, GenerateSettings, house_generator
from salon.judge import Conversation, JudgeSpec, NoReply, ScriptedVlm
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Signature

QUICK = PosterScoreSettings(draws=100)
SMALL = GenerateSettings(size="368x520")


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("prompts") / "set"
    make_tasks(home, list(PROMPTS), 3, 1, processes=1)
    return home


@pytest.fixture(autouse=True)
def readings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings of pictures are kept for the whole module, and nowhere else."""
    monkeypatch.setenv("SALON_CACHE", str(tmp_path_factory.getbasetemp() / "poster-readings"))


class Painter:
    """Makes one-colored pictures; `fails` says which prompts it cannot make."""

    name = "painter"
    abilities = Abilities(offline=True)
    signature = Signature(method="painter")

    def __init__(self, fails: Callable[[Ask], bool] = lambda ask: False, shade: int = 90) -> None:
        self.fails, self.shade = fails, shade
        self.asked: list[str] = []

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index, ask in enumerate(asks):
            self.asked.append(ask.prompt.view())
            if self.fails(ask):
                yield index, FailedPicture(reason="no idea", kind="refused")
            else:
                data = io.BytesIO()
                Image.new("RGB", (40, 40), (self.shade, len(self.asked), 9)).save(data, "PNG")
                yield index, GeneratedPicture(image=data.getvalue())


def values(report: PosterReport) -> dict[str, float]:
    return {f"{t.task}.{m.id}": m.figure.value for t in report.tasks for m in t.metrics if m.figure is not None}


def scored(home: Path) -> PosterReport:
    return score_files(find_files([home]), QUICK, pictures=home)


def oracle_share(home: Path, task: str) -> float:
    """Share of points that the record says are there."""
    file = next(one for one in find_files([home]) if one.task.name == task)
    said = [one.oracle for item in file.items for one in point_verdicts(file, item) if one.kind != "eyes"]
    return sum(bool(one) for one in said) / len(said)


def drawn(prompts: Path, house: str, out: Path, tasks: Sequence[str] = tuple(PROMPTS)) -> Path:
    files = [file for file in find_files([prompts]) if file.task.name in tasks]
    generate_files(files, house_generator(house, processes=1), out, SMALL)
    measure_files(find_files([out]), "layout", pictures=out)
    return out


# -- making ------------------------------------------------------------------------------------------------------------


def test_a_house_draws_every_prompt_and_the_files_lead_to_it(prompts: Path, tmp_path: Path) -> None:
    out = drawn(prompts, "proof", tmp_path / "proof")
    for bare, file in zip(find_files([prompts]), find_files([out]), strict=True):
        assert [one.prompt for one in file.items] == [one.prompt for one in bare.items]
        places = [find_picture(out, item.path) for item in file.items]
        assert all(place is not None and place.is_relative_to(out / "posters" / "images") for place in places)
    card = read_card(out)
    assert card is not None
    assert card.contestant == "proof"
    assert oracle_share(out, "gen_dense") == oracle_share(out, "gen_intention") == 1.0
    style = next(one for one in find_files([out]) if one.task.name == "gen_style")
    assert [r["oracle"] for r in style.records] == [[r["style"]] for r in style.records]
    assert set(values(scored(out)).values()) == {0.0}  # the oracle never enters a score


def test_a_house_with_flaws_scores_lower(prompts: Path, tmp_path: Path) -> None:
    found = {
        house: oracle_share(drawn(prompts, house, tmp_path / str(at), ["gen_dense"]), "gen_dense")
        for at, house in enumerate(("proof", "proof+low-contrast@0.8", "proof+missing-text@1", "mirage"))
    }
    assert found["proof"] == 1.0
    assert max(list(found.values())[1:]) < 1.0
    assert found["proof+missing-text@1"] < found["proof+low-contrast@0.8"]


def test_a_generator_that_fails_half_the_time_is_asked_again(prompts: Path, tmp_path: Path) -> None:
    files, out = find_files([prompts]), tmp_path / "out"
    half = Painter(fails=lambda ask: ask.prompt.id.endswith(("0", "2")))
    report = generate_files(files, half, out)
    assert (report.wanted, report.made, report.failed) == (15, 5, {"refused": 10})
    assert half.asked[0] == files[0].items[0].prompt  # the record's words and nothing else
    file = find_files([out])[0]
    assert [find_picture(out, item.path) is not None for item in file.items] == [False, True, False]
    assert file.items[0].path == files[0].items[0].path
    judge_files(find_files([out]), ScriptedVlm("judge", lambda asked: "Yes"), pictures=out)
    found = scored(out)
    assert values(found)["gen_dense.strict"] == pytest.approx(1 / 3)
    assert [task.missing for task in found.tasks] == [2] * 5
    again = Painter()
    report = generate_files(files, again, out)
    assert (report.made, report.kept, report.failed, len(again.asked)) == (10, 5, {}, 10)
    assert find_files([out])[0].items[1].judge is not None  # verdicts on the posters that stayed are kept
    assert generate_files(files, again, out).made == 0


def test_public_files_keep_everything_but_the_path(tmp_path: Path) -> None:
    """Backslashes, lists as text, Chinese prompts, names that are the same in every file."""
    files, out = [made(name, 3) for name in PROMPTS], tmp_path / "out"
    painter = Painter()
    assert generate_files(files, painter, out).made == 15
    assert painter.asked[:3] == [f"Question {i} – 问题" for i in range(3)]
    for bare, file in zip(files, find_files([out]), strict=True):
        for old, new in zip(bare.records, file.records, strict=True):
            assert new.pop("picture")
            assert new == {**old, "path": new["path"]}
            assert find_picture(out, new["path"]) is not None
    back = find_files([out])[0].edited(
        {i: {"path": r["path"], "picture": None} for i, r in enumerate(files[0].records)}
    )
    assert back.text == files[0].text


def test_a_run_that_is_stopped_leaves_files_that_lead_to_what_is_there(prompts: Path, tmp_path: Path) -> None:
    def stop(ask: Ask) -> bool:
        if ask.prompt.id == "gen_dense_00002":
            raise KeyboardInterrupt
        return False

    files, out = find_files([prompts]), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        generate_files(files, Painter(fails=stop), out)
    assert sum(find_picture(out, item.path) is not None for file in find_files([out]) for item in file.items) == 2
    assert generate_files(files, Painter(), out).kept == 2


def test_verdicts_go_when_another_picture_takes_the_place(prompts: Path, tmp_path: Path) -> None:
    files, out = [file for file in find_files([prompts]) if file.task.name == "gen_dense"], tmp_path / "out"
    generate_files(files, Painter(), out)
    judge_files(find_files([out]), ScriptedVlm("judge", lambda asked: "Yes"), pictures=out)
    gone = find_picture(out, find_files([out])[0].items[1].path)
    assert gone is not None
    gone.unlink()
    generate_files(files, Painter(shade=200), out)
    assert [item.judge is None for item in find_files([out])[0].items] == [False, True, False]


def test_a_hosted_generator_and_a_folder(prompts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    files = [file for file in find_files([prompts]) if file.task.name in ("gen_dense", "gen_style")]
    with ImagesServer() as server:
        server.script[files[0].items[1].prompt] = ["moderated"]
        out = tmp_path / "hosted"
        report = generate_named(
            files, f"openai:tiny@{server.url}", out, GenerateSettings(), CallTerms(tmp_path / "calls")
        )
    assert (report.made, report.failed) == (5, {"refused": 1})
    assert {one.prompt for one in server.seen} == {item.prompt for file in files for item in file.items}
    pictures = tmp_path / "mine"
    pictures.mkdir()
    Image.new("RGB", (30, 30), "red").save(pictures / "gen_dense_00001.png")
    (pictures / "gen_dense_00002.png").write_bytes(b"no picture")
    told = generate_named(
        files, f"folder:mine={pictures}", tmp_path / "f", GenerateSettings(), CallTerms(tmp_path / "c")
    )
    assert (told.made, told.failed) == (1, {"broken-image": 1, "missing": 4})


def test_other_prompts_generators_and_places_are_refused(prompts: Path, tmp_path: Path) -> None:
    files, out = find_files([prompts]), tmp_path / "out"
    generate_files(files[:1], Painter(), out)
    other = Painter()
    other.name = "other"
    with pytest.raises(BadFile, match="painter"):
        generate_files(files[:1], other, out)
    make_tasks(tmp_path / "new", ["gen_dense"], 3, 9, processes=1)
    with pytest.raises(BadFile, match="same items"):
        generate_files(find_files([tmp_path / "new"]), Painter(), out)
    with pytest.raises(BadFile, match="another folder"):
        generate_files(files[:1], Painter(), prompts)
    make_tasks(tmp_path / "und", ["alignment"], 1, 0, processes=1)
    with pytest.raises(BadValue, match="ask for posters"):
        generate_files(find_files([tmp_path / "und"]), Painter(), tmp_path / "n")


# -- judging -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def painted(prompts: Path, tmp_path: Path) -> Path:
    generate_files(find_files([prompts]), Painter(), tmp_path / "out")
    return tmp_path / "out"


def words(asked: Conversation) -> str:
    return "".join(part for part in asked.parts if isinstance(part, str))


def test_a_vlm_judges_all_five_tasks(painted: Path) -> None:
    def says(asked: Conversation) -> str:
        text = words(asked)
        return "Memphis" if "styles" in text else "serif, thin" if "lettering of" in text else "Yes"

    report = judge_files(find_files([painted]), ScriptedVlm("judge", says), pictures=painted)
    found = values(scored(painted))
    assert report.nothing_to_judge == 0
    assert [found[f"gen_{name}.share"] for name in ("dense", "composition", "intention")] == [1.0] * 3
    assert found["gen_font.richness"] == pytest.approx(2 / 37)
    assert found["gen_style.accuracy"] in (0.0, pytest.approx(1 / 3))


def test_a_judge_that_errors_keeps_what_it_said(painted: Path) -> None:
    heard: list[str] = []

    def says(asked: Conversation) -> str | NoReply:
        heard.append(words(asked))
        if len(heard) == 6:
            raise RuntimeError("down")
        return NoReply(kind="timeout", reason="slow") if len(heard) % 2 else "Yes"

    with pytest.raises(RuntimeError):
        judge_files(find_files([painted]), ScriptedVlm("judge", says), pictures=painted)
    task = scored(painted).tasks[0]
    file = find_files([painted])[0]
    assert sum(one.holds is True for item in file.items for one in point_verdicts(file, item)) == 2
    assert task.owed == sum(len(item.truth) for item in file.items) - 2
    assert task.metrics[0].at_best == 1.0


def test_pixels_answer_what_they_can_and_leave_the_rest_to_others(painted: Path) -> None:
    report = measure_files(find_files([painted]), "pixels", pictures=painted)
    assert (report.kept, report.no_reply, report.nothing_to_judge) == (0, {}, 0)
    assert report.not_asked == 3 + 3 + 2 * 3 + 2 * 3  # letterings, styles, an operation and a motif, purpose and motif
    assert measure_files(find_files([painted]), "pixels", pictures=painted).answered == 0
    asked: list[str] = []
    judge_files(
        find_files([painted]), ScriptedVlm("judge", lambda one: asked.append(words(one)) or "No"), pictures=painted
    )
    assert len(asked) == report.not_asked
    file = find_files([painted])[0]
    told = [one for item in file.items for one in point_verdicts(file, item)]
    assert {(one.kind, one.holds) for one in told if one.kind in ("text", "place")} == {
        ("text", False),
        ("place", False),
    }
    assert all(one.why for one in told)


def test_the_oracle_needs_a_record(painted: Path) -> None:
    report = measure_files(find_files([painted]), "layout", pictures=painted)
    assert (report.answered, report.no_reply) == (0, {"no record of its drawing": 15})


def test_broken_posters_and_wrong_rules(painted: Path) -> None:
    file = find_files([painted])[0]
    place = find_picture(painted, file.items[0].path)
    assert place is not None
    place.write_bytes(b"\x89PNG broken")
    assert measure_files([file], "pixels", pictures=painted).no_reply == {"broken picture": 1}
    with pytest.raises(BadValue, match="record 2"):
        measure_files([_with_rules(file, [{"kind": "sound"}] * len(file.items[1].truth))], "pixels", pictures=painted)
    with pytest.raises(BadValue, match="for each of"):
        measure_files([_with_rules(file, [None])], "pixels", pictures=painted)


def _with_rules(file: PosterFile, rules: list[dict[str, str] | None]) -> PosterFile:
    return file.edited({1: {"rules": rules, "judge": None}})


def test_long_points_and_other_scripts(painted: Path) -> None:
    """A point of 100 KB, one in Chinese, one in Arabic: asked whole, scored, shown short."""
    file = find_files([painted])[0]
    points = ["漢" * 50_000, "标题是“夜市”", "العنوان كبير"]
    rules = [{"kind": "text", "text": point} for point in points]
    file.edited({0: {"gt": points, "rules": rules, "prompt": "海报 " * 4000}}).write(file.path)
    heard: list[int] = []
    measure_files(find_files([painted]), "pixels", pictures=painted)
    found = find_files([painted])[0]
    assert [one.holds for one in point_verdicts(found, found.items[0])] == [False] * 3
    again = found.edited({0: {"judge": None, "why": None}})
    judge_files([again], ScriptedVlm("judge", lambda one: heard.append(len(words(one))) or "Yes"), pictures=painted)
    assert max(heard) > 50_000
    text = json.dumps(scored(painted).model_dump(mode="json"), ensure_ascii=False)
    assert "漢" * 1000 not in text


def test_what_cannot_see_is_no_judge(painted: Path) -> None:
    with pytest.raises(BadValue, match="shown a poster"):
        judge_named(find_files([painted]), JudgeSpec(simulated="accuracy=0.7"), painted, pictures=painted)
