"""check, null, anchor and plan from the terminal: exit codes, JSON for machines, words for people, files whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from drawn_studies import Drawn, random_ranks, shared_ranks
from ran_salon import Salon

from salon.check import CheckReport, PlanReport
from salon.check.results import ANSWERS
from salon.cli.check_report import print_plan
from salon.report import disagreements, estimate
from salon.stats import power
from salon.store import save_study
from salon.study import Checklist, Criterion, Design, Item, Prompt, Ranking, Rater, Rating, Study

RNG = np.random.default_rng
QUICK = ("--draws", 200, "--tie-repeats", 3, "--null-draws", 20_000)
GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "nulls" / "cycle_rates.json").read_text())


def saved(study: Study, name: str = "study") -> Path:
    save_study(study, Path(name))
    return Path(name)


def signal(n: int = 60) -> Study:
    return Drawn(n, 4).rank(shared_ranks(n, 5, 4, 0.8, RNG(1))).study(design=Design(kind="complete"))


def noise(n: int = 60) -> Study:
    return Drawn(n, 4).rank(random_ranks(n, 5, 4, RNG(2))).study()


# -- check -----------------------------------------------------------------------------------------------------------


def test_verdict_first_then_numbers(salon: Salon) -> None:
    told = salon("check", saved(signal()), *QUICK)
    assert told.code == 0
    assert told.err == ""
    assert told.out.index("do raters agree more than chance? yes, as one taste") < told.out.index("mean tau")
    for words in ("random raters", "p (Holm)", "oracle", "policy:", "check|data:"):
        assert words in told.out


def test_json_is_the_documented_report(salon: Salon) -> None:
    record = salon("check", saved(signal()), *QUICK, "--json").json
    report = CheckReport.model_validate(record)
    assert report.format == "salon.check/2"
    statistics = record["criteria"][0]["statistics"]
    assert {"median_T", "mean_tau", "mean_pmax", "cycle_rate"} < set(statistics)
    assert record["signature"]["data"] == signal().hash[:12]


def test_html_and_json_agree(salon: Salon) -> None:
    told = salon("check", saved(signal()), *QUICK, "--json", "--html", "deep/er/check.html")
    page = Path("deep/er/check.html").read_text(encoding="utf-8")
    assert disagreements(page, told.json) == []
    assert page.startswith("<!doctype html>")


@pytest.mark.parametrize(("study", "code"), [(signal, 0), (noise, 1)])
def test_the_gate_answers_with_its_exit_code(salon: Salon, study: Callable[[], Study], code: int) -> None:
    folder = saved(study())
    assert salon("check", folder, *QUICK, "--gate").code == code
    assert salon("check", folder, *QUICK, "--gate", "--json").json["criteria"][0]["agree"] == (
        "yes" if code == 0 else "no"
    )
    assert salon("check", folder, *QUICK).code == 0


def test_the_gate_needs_every_criterion(salon: Salon) -> None:
    drawn = Drawn(60, 4).rank(shared_ranks(60, 5, 4, 0.8, RNG(3))).rank(random_ranks(60, 5, 4, RNG(4)), criterion="d")
    folder = saved(drawn.study())
    assert salon("check", folder, *QUICK, "--gate").code == 1
    assert salon("check", folder, *QUICK, "--gate", "--criterion", "c").code == 0
    unknown = salon("check", folder, *QUICK, "--criterion", "e")
    assert unknown.code == 2
    assert "one of c, d" in unknown.err


def test_an_adaptive_study_does_not_pass_the_gate(salon: Salon) -> None:
    study = Drawn(60, 4).rank(shared_ranks(60, 5, 4, 0.5, RNG(5))).study(design=Design(kind="adaptive"))
    assert salon("check", saved(study), *QUICK, "--gate").code == 1


def test_stable_ties_warn_on_the_terminal(salon: Salon) -> None:
    study = Drawn(40, 4).rate(RNG(6).integers(1, 3, (40, 5, 4))).study()
    told = salon("check", saved(study), *QUICK, "--ties", "stable")
    assert "manufactures" in told.out
    assert "shuffled" in told.out


ODD: dict[str, Callable[[], Study]] = {
    "even raters": lambda: Drawn(30, 4).rank(random_ranks(30, 4, 4, RNG(7))).study(),
    "two items": lambda: Drawn(30, 2).rank(random_ranks(30, 5, 2, RNG(8))).study(),
    "one prompt": lambda: Drawn(1, 4).rank(random_ranks(1, 5, 4, RNG(9))).study(),
    "one rater": lambda: Drawn(10, 4).rank(random_ranks(10, 1, 4, RNG(10))).study(),
    "all tied": lambda: Drawn(10, 3).rate(np.ones((10, 3, 3))).study(),
    "votes": lambda: Drawn(2, 3).vote("r0", 0, 0, 1, "a").vote("r1", 0, 0, 1, "b").study(),
    "one vote": lambda: Drawn(1, 3).vote("r0", 0, 0, 1, "a").study(),
    "a tie": lambda: Drawn(1, 2).vote("r0", 0, 0, 1, "tie").study(),
    "no prompts": lambda: _strays(),
    "300 raters": lambda: _many(),
    "hostile": lambda: _hostile(),
}


def _strays() -> Study:
    rows = [Rating(criterion="c", rater=rater, item=item, value=1) for rater in ("a", "b") for item in ("x", "y")]
    return Drawn(0, 0).add("ratings", *rows).study(tables={"items": [Item(id="x"), Item(id="y")]})


def _many() -> Study:
    rng, drawn = RNG(11), Drawn(100, 3)
    for prompt in range(100):
        drawn.rank(random_ranks(1, 3, 3, rng), raters=[f"r{i}" for i in rng.permutation(300)[:3]], first=prompt)
    return drawn.study()


NASTY = (
    "[red]boom[/red]",
    "\x1b[31mred\x1b[0m",
    "a\x07b\u202ec",
    "👩‍🎨 café",
    "</script><b>x",
    "{{ 7*7 }}",
    "[/]",
    "x" * 3000,
)


def _hostile() -> Study:
    """Labels that are markup, escapes, other directions, emoji and endless, everywhere a label can stand."""
    rng, rows = RNG(12), []
    prompts = [Prompt(id=f"{name}|{n}", text=name) for n in range(4) for name in NASTY[:5]]
    items = [Item(id=f"{prompt.id}|{i}", prompt=prompt.id) for prompt in prompts for i in range(3)]
    for prompt in prompts:
        for rater in NASTY:
            order = tuple(f"{prompt.id}|{i}" for i in rng.permutation(3))
            rows.append(Ranking(criterion=NASTY[0], rater=rater, items=order, ranks=(1, 2, 3)))
    criterion = Criterion(id=NASTY[0], name="".join(NASTY[:5]))
    raters = [Rater(id=name) for name in NASTY]
    tables = {"prompts": prompts, "items": items, "raters": raters, "rankings": rows}
    return Study.build(NASTY[1] + NASTY[0], [criterion], tables=tables)


@pytest.mark.parametrize("name", ODD)
def test_odd_studies_print_in_every_form(salon: Salon, name: str) -> None:
    folder = saved(ODD[name]())
    told = salon("check", folder, *QUICK, "--json", "--html", "check.html")
    assert told.code == 0, told.err
    assert disagreements(Path("check.html").read_text(encoding="utf-8"), told.json) == []
    printed = salon("check", folder, *QUICK)
    assert printed.code == 0, printed.err
    assert "\x1b" not in printed.out
    assert "\x07" not in printed.out
    if name == "hostile":
        assert "[red]boom[/red]" in printed.out
        assert "<b>x" not in Path("check.html").read_text(encoding="utf-8")


def test_labels_cannot_speak_to_the_terminal(salon: Salon, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a real terminal, where click lets escapes through: only Salon's own colors may be among them."""
    folder = saved(_hostile())
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    told = salon("check", folder, *QUICK)
    assert "\x1b[1m" in told.out  # Salon's own
    assert "\x1b[31mred" not in told.out
    assert "\x07" not in told.out
    unknown = salon("check", folder, "--criterion", "\x1b[31mred")
    assert unknown.code == 2
    assert "\x1b[31mred" not in unknown.err


@pytest.mark.parametrize("target", ["votes.csv/check.html", "/proc/salon/check.html", "."])
def test_a_report_that_cannot_be_written(salon: Salon, target: str) -> None:
    Path("votes.csv").write_text("a file, not a folder")
    told = salon("check", saved(signal(10)), *QUICK, "--html", target)
    assert told.code == 2
    assert told.err
    assert sorted(path.name for path in Path().iterdir()) == ["study", "votes.csv"]


def test_an_old_report_survives_a_failed_check(salon: Salon) -> None:
    Path("check.html").write_text("old")
    assert salon("check", "nowhere", "--html", "check.html").code == 2
    assert Path("check.html").read_text() == "old"


@pytest.mark.parametrize(
    "flags",
    [
        ("--seed", -1),
        ("--level", 1),
        ("--alpha", "nan"),
        ("--draws", 1),
        ("--flag-from", "nan"),
        ("--smallest-tau", 2),
        ("--ties", "sideways"),
        ("--anchor", "nothing.json"),
        ("--anchor", "broken.json"),
        ("--anchor", "other.json"),
    ],
)
def test_flags_out_of_range(salon: Salon, flags: tuple[object, ...]) -> None:
    Path("broken.json").write_bytes(b"\xff{")
    Path("other.json").write_text('{"name": "x"}')
    told = salon("check", saved(signal(10)), *flags, "--json")
    assert told.code == 2
    assert told.err


def test_a_value_out_of_range_says_what_the_flag_is(salon: Salon) -> None:
    told = salon("check", saved(signal(10)), "--level", 95)
    assert "--level: it must be less than 1" in told.err
    assert "do:    --level is: Confidence level of the intervals" in told.err


def test_the_nearest_word_of_a_choice_is_suggested(salon: Salon) -> None:
    folder = saved(signal(10))
    assert "Did you mean 'stable'?" in salon("check", folder, "--ties", "stabel").err
    assert "Did you mean" not in salon("check", folder, "--ties", "sideways").err


def test_nothing_to_check(salon: Salon) -> None:
    empty = saved(Study.build("empty", [Criterion(id="c")], tables={}), "empty")
    point = Checklist(criterion="c", rater="r0", item="q0.0", points=("legible",), answers=(True,))
    lists = saved(Drawn(1, 2).add("checklists", point).study(), "lists")
    for folder in (empty, lists, Path("nowhere")):
        told = salon("check", folder, "--json")
        assert told.code == 2
        assert told.json["needed"]


# -- null ------------------------------------------------------------------------------------------------------------


def test_the_null_of_four_items_and_five_raters(salon: Salon) -> None:
    record = salon("null", "--items", 4, "--raters", 5, "--json").json
    assert record["method"] == "exact"
    assert record["cycle_rate"] == "3875/18432"
    assert record["mean_pmax"] == "11/16"
    assert record["median_T"] == "-1/15"
    assert len(record["t_pmf"]) == 18
    assert record["t_pmf"]["-1/5"] == "8455/82944"
    assert record["t_pmf"]["1"] == "1/331776"


@pytest.mark.parametrize("shape", [shape for shape in GOLDEN if shape not in ("6,6", "5,9")])
def test_golden_cycle_rates(salon: Salon, shape: str) -> None:
    items, raters = shape.split(",")
    fresh = salon("null", "--items", items, "--raters", raters, "--no-cache", "--json").json
    kept = salon("null", "--items", items, "--raters", raters, "--json").json
    assert fresh["cycle_rate"] == GOLDEN[shape]
    assert fresh == kept


@pytest.mark.parametrize(
    ("items", "raters", "rate"), [(3, 6, 0.0039), (4, 6, 0.0147), (5, 6, 0.0348), (3, 7, 0.075), (6, 3, 0.4901)]
)
def test_more_cycle_rates_of_the_spec(salon: Salon, items: int, raters: int, rate: float) -> None:
    top, bottom = salon("null", "--items", items, "--raters", raters, "--json").json["cycle_rate"].split("/")
    assert int(top) / int(bottom) == pytest.approx(rate, abs=5.1e-5)


def test_a_simulated_null_says_so(salon: Salon) -> None:
    line = ("null", "--items", 9, "--raters", 9, "--limit", 0.001, "--draws", 2000, "--no-cache")
    record = salon(*line, "--json").json
    assert (record["method"], record["draws"]) == ("monte carlo", 2000)
    assert record["cycle_rate_error"] > 0
    assert salon(*line, "--json").json == record
    assert "Monte Carlo, n=2,000" in salon(*line).out


def test_even_raters_and_refusals(salon: Salon) -> None:
    even = salon("null", "--raters", 4, "--json").json
    assert (even["cycle_rate"], even["cycles_possible"]) == ("0", False)
    for flags in (("--raters", 1), ("--items", 1), ("--raters", "many"), ("--seed", -1)):
        assert salon("null", *flags).code == 2
    assert "3875/18432" in salon("null").out


# -- anchor ----------------------------------------------------------------------------------------------------------


def test_an_anchor_of_a_study_goes_into_a_check(salon: Salon) -> None:
    folder = saved(signal())
    made = salon("anchor", folder, "--draws", 2000, "--name", "mine", "--json")
    assert made.json["name"] == "mine"
    Path("mine.json").write_text(made.out, encoding="utf-8")
    anchors = salon("check", folder, *QUICK, "--anchor", "mine.json", "--json").json["anchors"]
    assert anchors[0]["name"] == "mine"
    assert anchors[0]["mean_tau"] == made.json["mean_tau"]
    assert "mean tau" in salon("anchor", folder, "--draws", 500).out


def test_stable_anchors_warn_on_stderr_so_that_json_stays_json(salon: Salon) -> None:
    folder = saved(Drawn(20, 4).rate(RNG(13).integers(1, 3, (20, 5, 4))).study())
    told = salon("anchor", folder, "--draws", 500, "--ties", "stable", "--json")
    assert "manufactures agreement" in told.err
    assert f"{told.json['tie_control']:+.3f}" in told.err
    assert salon("anchor", folder, "--draws", 500, "--json").err == ""


@pytest.mark.parametrize(
    "flags",
    [
        ("--raters", 50),
        ("--items", 40),
        ("--drop", "nobody"),
        ("--criterion", "x"),
        ("--seed", -1),
    ],
)
def test_anchors_that_cannot_be(salon: Salon, flags: tuple[object, ...]) -> None:
    told = salon("anchor", saved(signal(10)), *flags, "--json")
    assert told.code == 2
    assert told.err


def test_a_kind_that_is_not_known(salon: Salon) -> None:
    Path("votes.csv").write_text("left,right,winner\na,b,left\n")
    told = salon("anchor", "votes.csv", "--kind", "nonsense")
    assert told.code == 2
    assert "one of comparisons" in told.err


# -- plan ------------------------------------------------------------------------------------------------------------


def test_a_plan_prints_and_writes_the_same_numbers(
    salon: Salon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(power, "_POOL", 5_000)
    monkeypatch.setattr(power, "_POOL_PER_PROMPT", 50)
    line = ("plan", "--prompts", 20, "--tau", 0.2, "--sims", 100, "--raters", 3)
    record = salon(*line, "--json").json
    assert [one["test"] for one in record["power"]] == ["T", "p_max", "cycle"]
    print_plan(PlanReport.model_validate(record))
    printed = capsys.readouterr().out
    first = record["power"][0]["holm"]
    assert estimate(first["value"], first["low"], first["high"]) in printed
    assert "20 prompts, 4 items, 3 raters, 1 criterion; " in printed
    assert "cannot be made" not in printed
    print_plan(PlanReport.model_validate(salon(*line[:-1], 4, "--json").json))
    assert "cycle cannot be made with this design: majority cycles need" in capsys.readouterr().out
    for flags in (("--tau", 2), ("--tau", 0.1, "--theta", 0.3), ("--seed", -1), ("--sims", 3), ("--items", 90)):
        assert salon("plan", *flags).code == 2


# -- real judgments --------------------------------------------------------------------------------------------------


GUIDE = Path(__file__).parent.parent.parent / "docs" / "guide" / "import.md"
REAL = {
    "dsg_tifa160/tifa160-likert-anns.csv": ("ratings", 160),
    "llmfao/llmfao.csv": ("votes", 13),
    "pwcmp/ex3_tmo_cmp_data.csv": ("votes", 5),
    "genai_bench/image_generation.csv": ("comparisons", 1735),
}


def said_in_the_guide(file: str) -> str:
    """What the import guide says that a check finds in a public file."""
    (row,) = (line for line in GUIDE.read_text(encoding="utf-8").splitlines() if f"`{file}` |" in line)
    return row.split("|")[4].strip()


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_files_are_checked_directly(salon: Salon, salon_data: Path, name: str) -> None:
    told = salon(
        "check",
        salon_data / name,
        "--draws",
        200,
        "--tie-repeats",
        5,
        "--json",
        "--html",
        "c.html",
    )
    assert told.code == 0, told.err
    one = told.json["criteria"][0]
    assert (one["protocol"], one["prompts"]) == REAL[name]
    assert one["agree"] == "yes"
    assert ANSWERS[one["agree"], one["taste"]] == said_in_the_guide(Path(name).name)
    assert ("raters are models" in " ".join(told.json["warnings"])) == name.startswith("genai")
    strength = one["statistics"]["mean_tau"] or one["pair_agreement"]["value"]
    assert 0.1 < strength < 0.6
    assert one["ceilings"]["next_rater"]["value"] < one["ceilings"]["oracle"]["value"]
    assert disagreements(Path("c.html").read_text(encoding="utf-8"), told.json) == []


@pytest.mark.data
@pytest.mark.parametrize("name", ["imagereward/test.json", "imagenhub_t2i/Text-To-Image_rater1.tsv"])
def test_one_rater_per_prompt_is_told_to_the_user(salon: Salon, salon_data: Path, name: str) -> None:
    told = salon("check", salon_data / name, "--json", "--gate")
    assert told.code == 1
    for one in told.json["criteria"]:
        assert one["agree"] == "cannot tell" == said_in_the_guide("test.json")
        assert "two raters who answered for the same items" in one["sentence"]


@pytest.mark.data
def test_imagenhub_with_its_three_raters(salon: Salon, salon_data: Path) -> None:
    files = sorted((salon_data / "imagenhub_t2i").glob("*.tsv"))
    assert salon("import", "imagenhub", *files, "-o", "study").code == 0
    told = salon("check", "study", *QUICK, "--json")
    assert {one["protocol"] for one in told.json["criteria"]} == {"ratings"}
    assert all(one["agree"] == "yes" and one["tie_rate"] > 0.3 for one in told.json["criteria"])
    assert {ANSWERS[one["agree"], one["taste"]] for one in told.json["criteria"]} == {
        said_in_the_guide("Text-To-Image_rater*.tsv")
    }


@pytest.mark.data
def test_the_tifa160_anchor(salon: Salon, salon_data: Path) -> None:
    file = salon_data / "dsg_tifa160" / "tifa160-likert-anns.csv"
    record = salon("anchor", file, "--items", 4, "--raters", 5, "--json").json
    found = [record[name] for name in ("median_T", "mean_tau", "mean_pmax", "cycle_rate")]
    assert found == pytest.approx([0.267, 0.262, 0.775, 0.087], abs=0.01)
    stable = salon("anchor", file, "--items", 4, "--raters", 5, "--ties", "stable", "--json")
    assert f"{stable.json['tie_control']:+.3f}" in stable.err
