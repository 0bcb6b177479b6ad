"""`salon fuse` at the terminal: tables, JSON, files, and what it refuses; real votes against their published order."""

import csv
import json

import evalica
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from drawn_studies import Drawn, names, shared_ranks
from ran_salon import salon

from salon.store import save_study
from salon.study import Item, Prompt, Rater, Study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six items that ten raters compare, some answers the other way round."""
    ranks = shared_ranks(1, 10, 6, 1.2, np.random.default_rng(3))
    path = tmp_path_factory.mktemp("fuse") / "study"
    save_study(Drawn(1, 6).compare(ranks, raters=names(10)).study(), path)
    return path


def test_json_has_a_row_with_interval_for_every_item(folder, capsys):
    code, said = salon(capsys, "fuse", folder, "--method", "bradley-terry", "--json")
    report = json.loads(said.out)
    assert code == 0
    assert len(report["scores"]) == 6
    assert {"item", "criterion", "value", "low", "high"} <= set(report["scores"][0])
    assert report["signature_line"].startswith("fuse|data:")
    assert [row["rank"] for row in report["scores"]] == sorted(row["rank"] for row in report["scores"])


def test_the_table_says_what_the_numbers_rest_on(folder, capsys):
    code, said = salon(capsys, "fuse", folder, "--top", 2)
    assert code == 0
    assert "q0." in said.out
    assert "... and 4 more" in said.out
    assert "policy: Missing answers" in said.out
    assert "intervals: 95%" in said.out


def test_a_prompt_is_named_by_its_words(capsys, tmp_path):
    drawn = Drawn(2, 3).rank(shared_ranks(2, 4, 3, 1.2, np.random.default_rng(3))).study()
    texts = [Prompt(id=prompt.id, text=f"A jazz night\nnumber {prompt.id}") for prompt in drawn.nouns("prompts")]
    tables = {kind: drawn.table(kind) for kind in drawn.counts} | {"prompts": texts}
    save_study(Study.build("told", drawn.criteria, tables=tables), tmp_path / "told")
    page = tmp_path / "told.html"
    said = salon(capsys, "fuse", tmp_path / "told", "--html", page)[1].out
    first = texts[0].id
    assert f" · {first}: A jazz night number {first}\n" in said
    assert f"{first}: A jazz night number {first}" in page.read_text(encoding="utf-8")
    assert "A jazz night" not in salon(capsys, "fuse", tmp_path / "told", "--by", "generator")[1].out


def test_what_went_in_has_no_empty_columns(capsys, tmp_path):
    save_study(Drawn(3, 3).rank(shared_ranks(3, 4, 3, 1.2, np.random.default_rng(3))).study(), tmp_path / "ranks")
    said = salon(capsys, "fuse", tmp_path / "ranks")[1].out
    (line,) = [line for line in said.splitlines() if line.startswith("criterion")]
    assert line.split() == ["criterion", "group", "items", "raters", "answers"]


def test_ways_of_making_intervals_are_counted(capsys, tmp_path):
    """Where all raters of a prompt agree exactly there is no error; the line says in how many prompts."""
    same, other = np.tile([1.0, 2, 3], (1, 3, 1)), np.array([[[1.0, 2, 3], [2, 2, 3], [1, 3, 2]]])
    save_study(Drawn(2, 3).rate(np.concatenate([same, other])).study(), tmp_path / "rates")
    said = salon(capsys, "fuse", tmp_path / "rates")[1].out
    assert "none: errors need raters who differ" in said
    assert said.count("(1 of 2 groups)") == 2


def test_a_study_of_many_prompts_does_not_flood_the_terminal(capsys, tmp_path):
    """Five prompts are printed and the others counted; generators are offered where items name them."""
    ranks = shared_ranks(12, 3, 3, 1.2, np.random.default_rng(3))
    items = [Item(id=f"q{q}.{i}", prompt=f"q{q}", generator="xyz"[i]) for q in range(12) for i in range(3)]
    drawn = Drawn(12, 3).compare(ranks, raters=names(3))
    save_study(drawn.study(), tmp_path / "items")
    save_study(drawn.study(tables={"items": items}), tmp_path / "named")
    for name in ("items", "named"):
        said = salon(capsys, "fuse", tmp_path / name, "--prior", 3)[1].out
        assert len(said.splitlines()) < 60
        assert "7 more groups: -o, --json and --html hold all" in said
        assert ("--by generator" in said) == (name == "named")


def test_models_among_the_raters_are_told(capsys, tmp_path):
    ranks = shared_ranks(1, 3, 6, 1.2, np.random.default_rng(3))
    kinds = {"some": ("person", "model", "model"), "all": ("model",) * 3, "none": ("person",) * 3}
    told = {"some": "2 of 3 raters are models", "all": "all 3 raters are models", "none": None}
    for name, given in kinds.items():
        raters = [Rater(id=rater, kind=kind) for rater, kind in zip(names(3), given)]
        save_study(Drawn(1, 6).compare(ranks, raters=names(3)).study(raters=raters), tmp_path / name)
        report = json.loads(salon(capsys, "fuse", tmp_path / name, "--prior", 3, "--json")[1].out)
        found = [warning for warning in report["warnings"] if "raters are models" in warning]
        assert [warning.split(",")[0].split(":")[0] for warning in found] == ([told[name]] if told[name] else [])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_scores_are_written_whole_and_never_over_a_file(folder, capsys, tmp_path, ending):
    target = tmp_path / f"scores.{ending}"
    assert salon(capsys, "fuse", folder, "-o", target)[0] == 0
    rows = {
        "csv": lambda: list(csv.DictReader(target.read_text(encoding="utf-8").splitlines())),
        "jsonl": lambda: [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()],
        "parquet": lambda: pyarrow.parquet.read_table(target).to_pylist(),
    }[ending]()
    assert len(rows) == 6
    assert all(row["signature"].startswith("fuse|") for row in rows)
    code, said = salon(capsys, "fuse", folder, "-o", target)
    assert code == 2
    assert "--overwrite" in said.err
    assert salon(capsys, "fuse", folder, "-o", target, "--overwrite")[0] == 0


def test_a_page_is_written(folder, capsys, tmp_path):
    assert salon(capsys, "fuse", folder, "--html", tmp_path / "fuse.html")[0] == 0
    assert "<svg" in (tmp_path / "fuse.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--method", "nonsense"], "nonsense"),
        (["--method", "mean"], "ratings"),
        (["--criterion", "beauty"], "a criterion of the study is needed"),
        (["-o", "scores.xlsx"], ".parquet"),
        (["--prior", "-1"], "--prior"),
        (["--by", "generator"], "name their generator"),
        (["--compare"], "leave out --compare"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(folder, capsys, flags, said):
    code, printed = salon(capsys, "fuse", folder, *flags)
    assert code == 2
    assert said in printed.err
    assert "Traceback" not in printed.err


def test_an_undefeated_item_is_named_with_the_way_out(capsys, tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("left,right,winner,worker\n" + "a,b,a,w1\nb,c,b,w1\na,c,a,w2\n", encoding="utf-8")
    code, printed = salon(capsys, "fuse", votes, "--method", "bradley-terry", "--json")
    error = json.loads(printed.out)
    assert (code, error["error"]) == (2, "NotIdentified")
    assert "'a' never lost" in error["found"]
    assert "--prior 3" in error["remedy"]
    assert salon(capsys, "fuse", votes, "--method", "bradley-terry", "--prior", 3)[0] == 0


# -- real votes ------------------------------------------------------------------------------------------------------


def leaderboard(capsys, path, *flags):
    code, said = salon(capsys, "fuse", path, "--by", "generator", "--json", *flags)
    assert code == 0, said.err
    return json.loads(said.out)


@pytest.mark.data
def test_llmfao_in_evalica_s_order(salon_data, capsys):
    path = salon_data / "llmfao" / "llmfao.csv"
    votes = pd.read_csv(path)
    winner = votes["winner"].map({"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw})
    theirs = evalica.bradley_terry(votes["left"], votes["right"], winner, tie_weight=0.5, tolerance=1e-12).scores
    ours = leaderboard(capsys, path, "--method", "bradley-terry")
    assert [row["generator"] for row in ours["scores"]] == theirs.sort_values(ascending=False).index.tolist()
    log = np.log(theirs) - np.log(theirs).mean()
    assert max(abs(row["value"] - log[row["generator"]]) for row in ours["scores"]) < 1e-6
    assert ours["groups"][0]["comparisons"] == 8931


@pytest.mark.data
def test_llmfao_by_davidson_with_its_ties(salon_data, capsys):
    report = leaderboard(capsys, salon_data / "llmfao" / "llmfao.csv", "--method", "davidson")
    (group,) = report["groups"]
    assert group["gradient"] < 1e-9
    assert group["ties"] == pytest.approx(0.389, abs=0.001)
    assert group["tie"] == pytest.approx(1.48, abs=0.01)
    assert 0 < group["tie_error"] < 0.5
    assert "method:davidson" in report["signature_line"]


@pytest.mark.data
def test_pwcmp_fits(salon_data, capsys):
    code, said = salon(capsys, "fuse", salon_data / "pwcmp" / "ex3_tmo_cmp_data.csv", "--method", "thurstone",
                       "--prior", 3, "--json")  # fmt: skip
    report = json.loads(said.out)
    assert code == 0
    assert all(row["low"] < row["value"] < row["high"] for row in report["scores"])


def arena_rows(prompts, votes_each, *, tied_to=None, seed=5):
    """Two of four generators under each prompt, `votes_each` times; the lower number mostly wins."""
    rng = np.random.default_rng(seed)
    rows = ["prompt_id,left,right,left_generator,right_generator,winner,rater"]
    for prompt in range(prompts):
        a, b = rng.choice(4, 2, replace=False) if tied_to is None else tied_to[prompt % len(tied_to)]
        for vote in range(votes_each):
            won = "left" if (a < b) == (rng.random() < 0.8) else "right"
            rows.append(f"p{prompt},p{prompt}-{a},p{prompt}-{b},g{a},g{b},{won},r{(prompt + vote) % 9}")
    return "\n".join(rows) + "\n"


def test_an_arena_is_scored_by_generator_unless_items_are_asked_for(capsys, tmp_path):
    votes = tmp_path / "arena.csv"
    votes.write_text(arena_rows(120, 1), encoding="utf-8")
    report = json.loads(salon(capsys, "fuse", votes, "--json")[1].out)
    assert report["by"] == "generator"
    assert [row["generator"] for row in report["scores"]] == ["g0", "g1", "g2", "g3"]
    assert "--by item" in report["warnings"][0]
    assert "|by:generator|" in report["signature_line"]
    printed = salon(capsys, "fuse", votes)[1].out
    assert printed.splitlines()[1].startswith("warning: scores are of the 4 generators: under 120 of 120 prompts")
    asked = json.loads(salon(capsys, "fuse", votes, "--by", "item", "--json")[1].out)
    assert asked["by"] == "item"
    assert len(asked["scores"]) == 240


def test_items_that_hold_together_or_generators_that_do_not_are_scored_as_items(capsys, tmp_path):
    votes = tmp_path / "votes.csv"
    for text in (arena_rows(20, 4), arena_rows(20, 1, tied_to=((0, 1), (2, 3))), arena_rows(3, 1)):
        votes.write_text(text, encoding="utf-8")
        assert json.loads(salon(capsys, "fuse", votes, "--json")[1].out)["by"] == "item"


def test_a_file_has_three_lines_of_notes_and_the_rest_is_counted(capsys, tmp_path):
    votes = tmp_path / "arena.csv"
    votes.write_text(arena_rows(30, 2) + "p0,p0-1,p0-2,g1,g2,N/A,r1\n", encoding="utf-8")
    notes = [line for line in salon(capsys, "fuse", votes)[1].err.splitlines() if line.startswith("note:")]
    assert len(notes) == 3
    assert notes[0].startswith("note: read arena.csv as comparisons; columns guessed by their names: --left left")
    assert notes[1].startswith("note: left out: 1 ")
    assert notes[2].startswith("note: and ")
    assert notes[2].endswith(" more: salon import shows them")


def test_the_best_of_a_sparse_catalogue_are_not_those_with_one_rating(capsys, tmp_path):
    rng = np.random.default_rng(2)
    worth, known = 3.4 + 0.5 * rng.normal(size=200), rng.permutation(np.linspace(0.3, 0.9, 200) ** 4)
    rows = [f"u{u},m{i},{np.clip(np.rint(worth[i] + rng.normal()), 1, 5):g}"
            for u in range(40) for i in np.flatnonzero(rng.random(200) < known)]  # fmt: skip
    table = tmp_path / "films.csv"
    table.write_text("\n".join(["userId,movieId,rating", *rows]) + "\n", encoding="utf-8")
    report = json.loads(salon(capsys, "fuse", table, "--json")[1].out)
    assert report["method"] == "shrunk-mean"
    assert (report["scale_low"], report["scale_high"]) == (1, 5)
    assert min(row["n"] for row in report["scores"][:3]) > 2
    assert "--method mean" in report["warnings"][0]
    plain = json.loads(salon(capsys, "fuse", table, "--method", "mean", "--json")[1].out)
    assert plain["scores"][0]["value"] == 5
    assert min(row["n"] for row in plain["scores"][:3]) == 1
    assert "drawn to" not in str(plain["warnings"])
