"""An adjudicator sees where raters are split and nothing else, settles or drops, and takes it back."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO

import pytest
from doors import Served, served
from owner_studio import Owner, answer_all, csrf_of, field, look
from starlette.testclient import TestClient

from salon.collect import ADJUDICATORS, list_rulings


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, TestClient]]:
    """A studio whose raters disagree on all three pairs of one prompt, and its adjudicator."""
    with served(tmp_path_factory.mktemp("split")) as door:
        answer_all(door)
        look(door.studio)
        made = Owner(door.client(door.owner)).post("/owner/adjudicators", once="adjudicator").text
        yield door, door.client(re.search(r"/enter/([^\"]+)", made)[1])  # type: ignore[index]


def cases(client: TestClient) -> list[str]:
    return re.findall(r"/adjudicate/case\?key=([0-9a-f]{20})", client.get("/adjudicate").text)


def test_only_an_adjudicator_rules_and_the_owner_looks_on(split: tuple[Served, TestClient]) -> None:
    door, judge = split
    key = cases(judge)[0]
    owner = Owner(door.client(door.owner))
    assert owner.client.get(f"/adjudicate/case?key={key}").status_code == 200
    for path in ("settle", "drop", "undo"):
        assert (
            owner.post(f"/adjudicate/{path}", key=key, answer="0", place="0", ruling="1", once="o").status_code == 403
        )
        assert judge.post(f"/adjudicate/{path}", data={"key": key, "answer": "0"}).status_code == 403, "no token"
    assert door.client(door.zoe).get("/adjudicate").status_code == 403
    assert judge.get("/owner").status_code == 403
    assert judge.get("/").status_code == 403


def test_pages_name_no_item_no_generator_and_no_rater(split: tuple[Served, TestClient]) -> None:
    door, judge = split
    keys = cases(judge)
    assert len(keys) == 3
    pages = [judge.get("/adjudicate").text, *(judge.get(f"/adjudicate/case?key={key}").text for key in keys)]
    told = "".join(pages)
    for name in ("secret-generator", "p1-0", "p1-1", *door.names.values()):
        assert name not in told
    assert "1 of 2" in told, "how the votes are split"


def test_a_ruling_is_a_judgment_of_its_own_and_can_be_taken_back(split: tuple[Served, TestClient]) -> None:
    door, judge = split
    key = cases(judge)[0]
    page = judge.get(f"/adjudicate/case?key={key}").text
    form = {"csrf": csrf_of(page), "key": key, "once": field(page, "once"), "answer": "1"}
    for odd in ("7", "00007", "00001", "-1", "9" * 5000, "p1-0", "item"):
        assert judge.post("/adjudicate/settle", data=form | {"answer": odd}).status_code == 422, odd
        assert judge.post("/adjudicate/drop", data=form | {"place": odd}).status_code == 422, odd
    assert judge.post("/adjudicate/settle", data=form | {"answer": "tie"}).status_code == 422, "no phase offers ties"
    assert judge.post("/adjudicate/settle", data=form).status_code == 303
    assert judge.post("/adjudicate/settle", data=form).status_code == 404, "it is settled"
    assert key not in cases(judge)
    study = door.studio.settled()
    final = [one for one in study.nouns("comparisons") if one.rater.startswith("adjudicator-")]
    assert (len(final), final[0].outcome, final[0].left) == (1, "b", "a")
    assert [rater.id for rater in study.nouns("raters") if rater.cohort == ADJUDICATORS] == [final[0].rater]
    assert study.counts["comparisons"] == 13, "what raters said stays"
    assert "question settled" in door.client(door.owner).get("/owner/audit").text
    ruling = list_rulings(door.studio.database)[0]
    assert judge.post("/adjudicate/undo", data={"csrf": form["csrf"], "ruling": str(ruling.id + 99)}).status_code == 409
    assert judge.post("/adjudicate/undo", data={"csrf": form["csrf"], "ruling": str(ruling.id)}).status_code == 303
    assert key in cases(judge)
    assert door.studio.settled().counts["comparisons"] == 12


def test_a_dropped_item_is_not_in_what_is_exported(split: tuple[Served, TestClient]) -> None:
    door, judge = split
    key = cases(judge)[0]
    page = judge.get(f"/adjudicate/case?key={key}").text
    form = {"csrf": csrf_of(page), "key": key, "once": "drop-1"}
    for place in ("2", "tie", "p1-0", "-1"):
        assert judge.post("/adjudicate/drop", data=form | {"place": place}).status_code == 422
    assert judge.post("/adjudicate/drop", data=form | {"place": "0"}).status_code == 303
    assert len(cases(judge)) == 1, "both pairs with the item are gone"
    packed = zipfile.ZipFile(BytesIO(door.client(door.owner).get("/owner/export?to=jsonl").content))
    assert len(packed.read("items.jsonl").splitlines()) == 5
    assert len(packed.read("comparisons.jsonl").splitlines()) == 8  # of 12: two pairs, two raters each
    assert b"dropped by adjudication" in packed.read("study.toml")
    assert door.studio.database.read_study().counts["items"] == 6, "the database forgets nothing"
    live = look(door.studio).disputes
    before, after = live.before[0], live.after[0]
    assert (before.questions, after.questions) == (6, 4)
    assert before.with_final < after.with_final
