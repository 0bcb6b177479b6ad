"""Plugins: the example package, built and installed by pip and used by commands; and the checks for authors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loaded import start_salon
from PIL import Image

from salon import conformance
from salon.cli.plugins import builtin_words, list_plugins
from salon.errors import BadValue
from salon.judge import NoReply, PictureScore, Reply, ScorerInput, make_scorer, scorer_lines
from salon.store import recognize
from salon.study import GROUPS, Abilities, GeneratedPicture, Item, ScorerCard, Signature, load_plugin

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
ORIGIN = "salon-example 0.1.0"
DUELS = "winner;loser;judge\n" + "".join(
    f"{winner};{loser};r{rater}\n" for rater in range(3) for winner, loser in ("ab", "ac", "cb" if rater else "bc")
)
NAMES = {"scorers": "redness", "generators": "stripes", "judges": "redder", "formats": "duel", "fits": "win-share"}
NAMES |= {"rewards": "brightness"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip installed the example, built by its own backend."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", *offline, "--target", folder / "site", folder / "source"]
    subprocess.run(list(map(str, install)), check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("used")
    (folder / "votes.duel").write_text(DUELS)
    return folder


@pytest.fixture(scope="module")
def salon(site: Path, place: Path) -> Any:
    """`salon ...` with the example on PYTHONPATH, in `place`: what it printed as JSON."""
    env = os.environ | {"PYTHONPATH": str(site), "SALON_CACHE": str(place / "cache")}

    def run(*words: object, code: int = 0) -> Any:
        here = Path.cwd()
        os.chdir(place)
        try:
            process = start_salon(*words, "--json", env=env)
        finally:
            os.chdir(here)
        with process:
            out, err = process.communicate()
            assert process.wait() == code, out + err
            return json.loads(out)

    return run


def test_each_kind_is_listed_with_its_package_and_passes_its_checks(salon: Any) -> None:
    listed = salon("plugins", "list")["plugins"]
    assert {one["group"]: one["name"] for one in listed} == NAMES
    assert {one["package"] for one in listed} == {ORIGIN}
    assert not any(one["refused"] for one in listed)
    for group, name in NAMES.items():
        report = salon("plugins", "check", name, *(["--file", "votes.duel"] if group == "formats" else []))
        assert report["group"] == group
        assert report["passed"], report
        assert ORIGIN in report["origin"]
    scorers = [line["name"] for line in salon("score", "--list")["scorers"]]
    assert {"redness", "brightness"} <= set(scorers)


def test_each_kind_is_used_by_its_name_and_says_where_it_comes_from(salon: Any, place: Path) -> None:
    made = salon("generate", "briefs:posters", "-g", "stripes", "-o", "striped", "--limit", 3, "--seeds", 2)
    assert ORIGIN in made["generators"][0]["signature"]
    scored = salon("score", "striped", "-s", "redness", "-s", "brightness")["scorers"]
    assert [(one["scorer"], one["scored"]) for one in scored] == [("redness", 6), ("brightness", 6)]
    assert all(ORIGIN in one["signature"] for one in scored)
    same = salon("score", "striped", "-s", "python:salon_example.scorer:Redness", "--name", "own")["scorers"][0]
    assert (same["low"], same["high"]) == (scored[0]["low"], scored[0]["high"])
    salon("select", "best", "striped", "-s", "brightness", "-o", "picks")
    imported = salon("import", "duel", "votes.duel", "-o", "duels")
    assert any(ORIGIN in note for note in imported["notes"])
    assert salon("check", "votes.duel", "--draws", 100)["criteria"][0]["raters"]
    fused = salon("fuse", "duels", "--method", "win-share")
    assert fused["method"] == "win-share"
    assert ORIGIN in fused["signature_line"]
    best = max(fused["scores"], key=lambda one: one["value"])
    assert best["item"] == "a"
    assert best["low"] < best["value"] < best["high"]


def test_a_judge_answers_a_study_and_a_suite(salon: Any, place: Path) -> None:
    (place / "prompts.csv").write_text("id,text\np0,a red poster\np1,a lake\n")
    (place / "pictures").mkdir()
    for number, color in enumerate(["red", "blue", "navy", "tomato"]):
        Image.new("RGB", (32, 32), color).save(place / "pictures" / f"p{number // 2}_{'ab'[number % 2]}.png")
    salon("import", "pictures", "pictures", "-o", "looked", "--pattern", "{prompt}_{generator}.png",
          "--criterion-id", "ppaint/overall", "--prompts", "prompts.csv")  # fmt: skip
    run = salon("judge", "run", "looked", "--judge", "redder", "--pairs", "all")
    assert (run["judge"], run["questions"]) == ("redder", 4)
    assert ORIGIN in run["signature"]
    record = json.loads((place / "looked" / "judges" / "redder" / "judge.json").read_text())
    assert ORIGIN in json.dumps(record)
    salon("bench", "new", "suite", "--from", "prompts.csv")
    board = salon("bench", "run", "suite", "-g", "stripes", "-o", "board", "--judge", "judge=plugin:redder", code=1)
    assert board["entries"][0]["entry"] == "stripes"


def test_a_built_in_name_is_refused_to_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shadow.py").write_text("name, card = 'contrast', None\ndef score(items, prompts): return []\n")
    for package in ("first", "second"):
        info = tmp_path / f"{package}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            "[salon.scorers]\ncontrast = shadow:None\ntwice = shadow\n[salon.fits]\ndavidson = shadow\n"
            "[salon.formats]\npictures = shadow\n[salon.generators]\natelier = shadow\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    refused = {(one.group, one.name): one.refused for one in list_plugins() if one.package == "first 1"}
    assert refused.pop(("scorers", "twice")) == "several packages have a plugin of this name"
    assert set(refused.values()) == {"the name is built in"}
    assert len(refused) == 4
    assert "plugin" not in str(make_scorer("contrast").signature)
    assert [name for name, _ in scorer_lines()].count("contrast") == 1
    with pytest.raises(BadValue, match="refused") as error:
        make_scorer("twice")
    assert "several packages" in error.value.message()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("python:nowhere_at_all:Thing", "nowhere_at_all cannot be imported"),
        ("python:json:Nothing", "no 'Nothing' in json"),
        ("python:json:JSONDecoder", "without name, card, score"),
        ("python:json", "python:MODULE:NAME"),
        ("python:broken_plugin:Scorer", "ZeroDivisionError"),
        ("python:broken_plugin2:Scorer", "made without arguments"),
        ("no-such-scorer", "the name of a scorer"),
    ],
)
def test_what_is_wrong_with_a_word_is_said(
    word: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_plugin.py").write_text("1 / 0")
    (tmp_path / "broken_plugin2.py").write_text("class Scorer:\n    def __init__(self, size): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadValue) as error:
        make_scorer(word)
    assert said in error.value.message()


# -- a module without a package ------------------------------------------------------------------------------------


class Mean:
    """The mean of a picture; declares what it does."""

    name, card = "mean", ScorerCard(reads="image", low=0, high=255)

    def score(self, items, prompts):
        return [_mean(item.image) for item in items]


def _mean(path: str) -> float | None:
    try:
        with Image.open(path) as image:
            return float(np.asarray(image.convert("L")).mean())
    except OSError:
        return None


def scaled(pictures, prompts):
    """A reward function."""
    return [float(len(prompt)) for prompt in prompts]


def make_mean() -> Mean:
    """A function that makes a scorer."""
    return Mean()


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> str:
    """How this module is named."""
    monkeypatch.setitem(sys.modules, "own_plugins", sys.modules[__name__])
    return "python:own_plugins"


def test_an_object_of_a_module_is_a_scorer(own: str, tmp_path: Path) -> None:
    Image.new("RGB", (8, 8), (90, 90, 90)).save(tmp_path / "a.png")
    items = [Item(id="a", image=str(tmp_path / "a.png"), prompt="p"), Item(id="b", image=str(tmp_path / "no.png"))]
    for name in ("Mean", "make_mean"):
        scorer = make_scorer(f"{own}:{name}")
        assert scorer.score(items, [None, None]) == [90.0, None]
        assert "own_plugins:" in str(scorer.signature)
        assert "source " in str(scorer.signature)
    sent = ScorerInput(Image.new("RGB", (8, 8), (7, 7, 7)), None, "", Path("no-file"), "0" * 64)
    assert scorer.look([sent]) == [PictureScore(7.0)]  # as the scoring service asks: a picture without a file


def test_a_reward_function_is_a_scorer(own: str) -> None:
    sent = ScorerInput(Image.new("RGB", (8, 8)), None, "four", Path("no-file"), "0" * 64)
    scorer = make_scorer(f"{own}:scaled")
    assert (scorer.name, scorer.look([sent])) == ("scaled", [PictureScore(4.0)])


class _Bad(Mean):
    """Numbers that hang on the batch, off the scale, and zeros where there is none."""

    card = ScorerCard(reads="image", low=0, high=1)

    def score(self, items, prompts):
        return [(_mean(item.image) or 0.0) + len(items) + len(prompts[0].text) for item in items]


class _Wrong(Mean):
    def score(self, items, prompts):
        if len(items) > 1:
            raise RuntimeError("out of memory")
        return ["good"]


def test_a_plugin_that_fails_says_whose_fault_it_is(own: str) -> None:
    sent = ScorerInput(Image.new("RGB", (8, 8)), None, "", Path("no-file"), "0" * 64)
    scorer = make_scorer(f"{own}:_Wrong")
    with pytest.raises(BadValue, match="numbers or None are needed"):
        scorer.look([sent])
    with pytest.raises(BadValue) as error:
        scorer.look([sent, sent])
    assert "out of memory" in error.value.message()
    assert "own_plugins:_Wrong" in error.value.message()


# -- checks for authors --------------------------------------------------------------------------------------------


def failed(checks: list[conformance.ConformanceCheck]) -> list[str]:
    return [check.name for check in checks if not check.passed]


def test_a_good_scorer_passes_and_each_fault_is_named() -> None:
    assert failed(conformance.check_scorer(Mean())) == []
    assert failed(conformance.check_scorer(object())) == ["has name, card, score"]
    off = failed(conformance.check_scorer(_Bad()))
    assert off == [
        "a picture's number does not depend on the batch",
        "nor on the order of the pictures",
        "a broken picture has no number",
        "a missing picture has no number",
    ]
    narrow = type("Narrow", (Mean,), {"card": ScorerCard(reads="image", low=0, high=1)})
    assert failed(conformance.check_scorer(narrow())) == ["numbers lie on the declared scale"]

    class Reads(Mean):
        def score(self, items, prompts):
            return [None if _mean(item.image) is None else len(p.text) for item, p in zip(items, prompts)]

    assert "reads no prompt, as declared" in failed(conformance.check_scorer(Reads()))
    assert failed(conformance.check_scorer(_Wrong()))[0] == "answers without an exception"


def test_rewards_that_vary_or_give_nan() -> None:
    rng = np.random.default_rng(0)
    assert failed(conformance.check_reward(scaled)) == []
    assert "the same input gives the same output" in failed(
        conformance.check_reward(lambda pictures, prompts: rng.random(len(pictures)).tolist())
    )
    nan = failed(conformance.check_reward(lambda pictures, prompts: [float("nan")] * len(pictures)))
    assert "one number, or None, for each picture" in nan


def test_generators_that_forget_an_ask_or_a_size() -> None:
    import io

    class Small:
        name, abilities, signature = "small", Abilities(seeded=True), Signature(method="small")

        def make(self, asks):
            for index in range(len(asks) - 1):
                file = io.BytesIO()
                Image.effect_noise((16, 16), 50).save(file, "PNG")
                yield index, GeneratedPicture(image=file.getvalue())

    assert failed(conformance.check_generator(Small())) == [
        "every ask is answered once",
        "pictures open, in the size asked for",
        "the same seed gives the same picture, as declared",
    ]


def test_judges_that_cannot_be_read_or_stop_a_run() -> None:
    class Prose:
        name = "prose"

        def reply(self, conversations):
            for index, asked in enumerate(conversations):
                if any(not sight.path.stat().st_size > 100 for sight in asked.sights):
                    raise OSError("broken")
                yield index, Reply(text="Image A looks nicer to me")

    assert failed(conformance.check_judge(Prose())) == [
        "a broken picture gets a NoReply, and stops nothing",
        "verdicts can be read",
    ]

    class Silent(Prose):
        def reply(self, conversations):
            return ((n, NoReply(kind="error", reason="?")) for n, _ in enumerate(conversations))

    assert failed(conformance.check_judge(Silent())) == ["at least one question gets a reply"]


def test_fits_that_know_items_by_their_numbers() -> None:
    class ByNumber:
        name = "by-number"

        def __init__(self, reads: str) -> None:
            self.reads = reads

        def fit(self, judgments, items):
            return np.arange(items, dtype=float), np.zeros(items)

    for reads in ("comparisons", "rankings", "ratings"):
        assert failed(conformance.check_fit(ByNumber(reads))) == [
            "errors above 0, one for each item",
            "scores do not depend on how items are numbered",
        ]
    assert failed(conformance.check_fit(ByNumber("flags"))) == ["reads one of comparisons, rankings, ratings"]

    class Means(ByNumber):
        def fit(self, judgments, items):
            return np.bincount(judgments.item, judgments.value, items) / np.bincount(judgments.item, minlength=items)

    assert failed(conformance.check_fit(Means("ratings"))) == []


def test_a_format_that_takes_every_file_for_its_own() -> None:
    class Greedy:
        name, about = "greedy", "Everything."

        def recognise(self, head):
            return True

        def read(self, source):
            raise ValueError("cannot")

    assert len([name for name in failed(conformance.check_format(Greedy())) if "does not take" in name]) == 3


def test_every_kind_has_checks_and_a_protocol_that_is_there() -> None:
    import importlib

    assert set(conformance.CHECKS) == set(GROUPS)
    for group, kind in GROUPS.items():
        module, _, name = kind.protocol.rpartition(".")
        assert hasattr(importlib.import_module(module), name)
        assert len(kind.members) <= 4
        assert isinstance(builtin_words(group), list)
    assert load_plugin("judges", "nobody") is None


def test_a_file_of_no_kind_is_still_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("nothing\n")
    with pytest.raises(Exception, match="known kind"):
        recognize(tmp_path / "odd.txt")
