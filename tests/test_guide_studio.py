"""The studio of docs/guide/collect.md: it opens on its study, and every screen in it is there."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from salon.collect.plan import make_plan
from salon.generate import read_prompts
from salon.study import Item, Study
from tools import posed_studio, screens

LARGEST, ALL = 120_000, 1_500_000


def test_the_settings_of_the_guide_fit_its_study():
    prompts = [prompt for prompt in read_prompts("briefs:posters") if prompt.id in screens.BRIEFS]
    assert len(prompts) == 4
    items = [Item(id=f"{p.id}/{house}/0", prompt=p.id, generator=house) for p in prompts for house in screens.WORTH]
    study = Study.build("posters", screens.guide_criteria(), tables={"prompts": prompts, "items": items})
    plan = make_plan(study, screens.guide_settings())
    asked = {run.phase.protocol for runs in plan.runs.values() for run in runs}
    assert asked == {"rank", "rate", "flag", "choose", "compare", "checklist", "regions", "text"}
    ranked = next(run for run in plan.runs["designers"] if run.phase.id == "order")
    assert {len(unit.items) for unit in ranked.units} == {4}


def test_every_screen_is_shown_once_and_small_enough():
    shown = re.findall(r"!\[[^]]+\]\(screens/(\S+\.jpg)\)", screens.GUIDE.read_text(encoding="utf-8"))
    kept = {path.name: path.stat().st_size for path in screens.SCREENS.iterdir()}
    assert sorted(shown) == sorted(kept)
    assert max(kept.values()) <= LARGEST
    assert sum(kept.values()) <= ALL


def test_a_studio_that_cannot_open_is_not_waited_for(monkeypatch, tmp_path):
    monkeypatch.setattr(posed_studio, "create_app", lambda *_: None)
    monkeypatch.setattr(posed_studio.uvicorn.Server, "run", lambda self, sockets: None)
    with pytest.raises(RuntimeError, match="before it was open"), posed_studio.served(SimpleNamespace(folder=tmp_path)):
        pytest.fail("it is not open")
