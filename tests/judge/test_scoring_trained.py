"""Trained models in a scoring model: one look for all criteria, the numbers of `salon score`, chances by the model."""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.special import expit
from scoring_server import png
from trained_example import Colors, colors as colors, save_model

from salon.errors import BadFile, BadValue
from salon.judge import opened
from salon.judge.trained_model import pair_logits, trained_scorer
from salon.select import LoadFailed, LoadOrder, ScoringService, SentPicture, ServiceSettings
from salon.select.service.model import DecodedPicture, LoadInProgress, UnknownVersion, load_scoring
from salon.study import Item, Prompt
from salon.web.scoring.answers import blend_criteria
from salon.web.scoring.requests import ExplainIn, PickIn

PROMPT = Prompt(id="p", text="a poster")


def look(folder: Path, *criteria: str, form: str = "scalar"):
    model = load_scoring(LoadOrder(models=(str(save_model(folder, *criteria, form=form)),)))
    pictures = [Image.new("RGB", (4, 4), color) for color in ("red", "green")]
    asked = [DecodedPicture(image, str(number) * 64, PROMPT) for number, image in enumerate(pictures)]
    for number, image in enumerate(pictures):
        image.save(folder.parent / f"{number}.png")
    return model, model.thread.submit(model.look, asked).result()


@pytest.mark.parametrize("form", ["scalar", "pairwise", "antisymmetric"])
def test_numbers_and_chances_are_those_of_the_model(tmp_path: Path, colors: Colors, form: str) -> None:
    model, (red, green) = look(tmp_path / "m", "c", "d", form=form)
    looked = colors.looked
    paths = [tmp_path / "0.png", tmp_path / "1.png"]
    for id in ("c", "d"):
        scorer = trained_scorer(tmp_path / "m", id)
        expected = scorer.score([Item(id=path.name, image=str(path)) for path in paths], [PROMPT, PROMPT])
        assert [red.results[id].value, green.results[id].value] == pytest.approx(expected, abs=1e-6)
        network = opened(tmp_path / "m", None)[0]
        there, back = (pair_logits(network, [a], [b], ["a poster"], id)[0] for a, b in (paths, paths[::-1]))
        assert model.chance(id, red, green, PROMPT) == pytest.approx(float(expit((there - back) / 2)), abs=1e-6)
        assert model.chance(id, red, green, PROMPT) == pytest.approx(1 - model.chance(id, green, red, PROMPT))
        assert next(one.signature for one in model.criteria if one.criterion == id) == str(scorer.signature)
    assert looked == 3  # warm-up and two pictures, whatever the number of criteria
    assert {one.scale for one in model.criteria} == {model.criteria[0].scale}


def test_versions_name_what_is_computed(tmp_path: Path, colors: Colors) -> None:
    first, _ = look(tmp_path / "a", "c")
    same = load_scoring(LoadOrder(name="other", models=(str(tmp_path / "a"),)))
    another, _ = look(tmp_path / "b", "c", "d")
    assert first.version == same.version != another.version
    with pytest.raises(LoadFailed, match="not loaded"):
        load_scoring(LoadOrder(models=(str(tmp_path / "nothing"),)))
    with pytest.raises(LoadFailed, match="different names"):
        load_scoring(LoadOrder(models=(str(tmp_path / "a"), str(tmp_path / "a"))))
    with pytest.raises(LoadFailed, match="a scorer or a model"):
        load_scoring(LoadOrder())


def test_a_flag_head_is_served_and_has_no_say_unless_it_is_weighed(tmp_path: Path, colors: Colors) -> None:
    folder = save_model(tmp_path / "m", "c", "d", flag="bad")
    criteria = load_scoring(LoadOrder(models=(str(folder),))).criteria
    assert [(one.criterion, one.flag) for one in criteria] == [("c", False), ("d", False), ("bad", True)]
    assert blend_criteria(PickIn(), criteria, None).shares == {"c": 0.5, "d": 0.5, "bad": 0.0}
    assert blend_criteria(PickIn(), criteria[2:], None).shares == {"bad": 1.0}
    assert blend_criteria(ExplainIn(weights={"bad": 1}), criteria, None).shares == {"c": 0.0, "d": 0.0, "bad": 1.0}
    same = [criteria[0].model_copy(update={"criterion": "x/c"})]
    with pytest.raises(BadValue, match="one weight"):
        blend_criteria(PickIn(weights={"x/c": 1, "c": 2}), same, None)


def test_one_criterion_of_a_model_is_served_as_it_is_named_elsewhere(tmp_path: Path, colors: Colors) -> None:
    folder = save_model(tmp_path / "m", "c", "d", "e")
    model = load_scoring(LoadOrder(scorers=(f"model:{folder}@e", f"model:{folder}@c")))
    assert [one.criterion for one in model.criteria] == ["e", "c"]
    assert len(model.parts) == 1  # one network for both
    assert model.criteria[0].signature == str(trained_scorer(folder, "e").signature)
    with pytest.raises(LoadFailed, match="trained on is needed"):
        load_scoring(LoadOrder(scorers=(f"model:{folder}@z",)))


def test_a_service_swaps_trained_models_and_forgets_the_oldest(tmp_path: Path, colors: Colors) -> None:
    folders = [str(save_model(tmp_path / name, *criteria)) for name, *criteria in ("ac", "bcd", "cce", "dde")]
    data = png(90)
    asked = SentPicture(data, hashlib.sha256(data).hexdigest(), 64, PROMPT)

    async def play() -> None:
        service = ScoringService(ServiceSettings(loaded=2))
        first = service.open(LoadOrder(models=(folders[0],))).version
        assert list((await service.ask([asked])).looked[0].results) == ["c"]
        with pytest.raises(UnknownVersion):
            service.rollback()
        loading = asyncio.create_task(service.load(LoadOrder(models=(folders[1],))))
        await asyncio.sleep(0)
        with pytest.raises(LoadInProgress):
            await service.load(LoadOrder(models=(folders[2],)))
        second = (await loading).version
        assert service.active.version == first
        service.activate(second)
        answers = await service.ask([asked, asked])
        assert (answers.model.version, list(answers.looked[0].results)) == (second, ["c", "d"])
        third = (await service.load(LoadOrder(models=(folders[2],)))).version
        assert [one.version for one in service.versions] == [first, second, third]  # none may leave: both are needed
        service.activate(third)
        await service.load(LoadOrder(models=(folders[3],)))
        await asyncio.sleep(0.1)
        assert first not in [one.version for one in service.versions]
        assert service.rollback().version == second
        with pytest.raises(BadFile.__mro__[1], match="picture"):
            await service.ask([SentPicture(data[:40], "0" * 64, 64, PROMPT)])
        await service.close()
        assert not service.ready

    with ThreadPoolExecutor(1) as own:
        own.submit(asyncio.run, play()).result()


def test_what_is_not_finite_has_no_number(tmp_path: Path, colors: Colors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Colors, "pictures", lambda self, images, part: np.full((len(images), 3), np.nan, np.float32))
    _, (red, _) = look(tmp_path / "m", "c")
    assert "no finite number" in red.results["c"].reason
