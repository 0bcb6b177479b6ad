"""Checks that the author of a plugin can run: `salon plugins check WORD`, or from a test of their own.

    from salon.conformance import check_scorer
    assert not [check for check in check_scorer(Redness()) if not check.passed]

Each check asks for one thing that Salon relies on, on pictures and judgments drawn here with a fixed seed.
"""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pydantic import Field

from salon.errors import BadValue, SalonError
from salon.fuse import PROTOCOLS, GroupComparisons, GroupRankings, GroupRatings
from salon.judge import Conversation, NoReply, ParsedAnswer, Reply, Sight, option_menu, read_verdict
from salon.store import as_format, head_of, import_form
from salon.study import (
    GROUPS,
    Abilities,
    Ask,
    FailedPicture,
    GeneratedPicture,
    Item,
    Noun,
    Prompt,
    ScorerCard,
    Signature,
    load_plugin,
    missing_members,
)

CLOSE = 1e-5
"""Largest difference, as a share of the values' size, that rounding in a batch explains."""
_TEXTS = ("a red poster", "a calm lake at night", "", "Jazz at the Harbour, large type")


class ConformanceCheck(Noun):
    """One thing that Salon relies on."""

    name: str
    passed: bool
    found: str = Field("", description="What was found instead, or what was tried.")


class ConformanceReport(Noun):
    """What a plugin does and does not do right."""

    word: str
    group: str
    origin: str
    passed: bool
    checks: tuple[ConformanceCheck, ...]


def check_plugin(group: str, word: str, builtin: Sequence[str] = (), *, file: Path | None = None) -> ConformanceReport:
    """Load the plugin that `word` names and check it; a format reads `file`."""
    loaded = load_plugin(group, word, builtin)
    if loaded is None:
        remedy = f"salon plugins list names those installed; or python:MODULE:NAME for a {GROUPS[group].noun}"
        raise BadValue(f"a plugin of salon.{group} is needed", found=repr(word), remedy=remedy)
    options = {"file": file} if group == "formats" else {}
    checks = tuple(CHECKS[group](loaded.part, **options))
    passed = all(check.passed for check in checks)
    return ConformanceReport(word=word, group=group, origin=loaded.origin, passed=passed, checks=checks)


# -- scorers and rewards -----------------------------------------------------------------------------------------


def check_scorer(scorer: Any) -> list[ConformanceCheck]:
    """Numbers that depend on the picture (and the prompt where it is declared) and on nothing else."""
    checks = _members("scorers", scorer)
    if not checks[0].passed:
        return checks
    card = scorer.card
    checks.append(_check("the card is a ScorerCard", isinstance(card, ScorerCard), type(card).__name__))
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        items, prompts = _items(Path(folder))
        checks += _numbers(lambda places: scorer.score([items[n] for n in places], [prompts[n] for n in places]))
        if isinstance(card, ScorerCard) and all(check.passed for check in checks):
            values = [value for value in scorer.score(items, prompts) if value is not None]
            low = -math.inf if card.low is None else card.low
            high = math.inf if card.high is None else card.high
            on_scale = _check(
                "numbers lie on the declared scale", all(low <= value <= high for value in values), repr(values)
            )
            checks.append(on_scale)
            if card.reads == "image":
                with_other_prompts = scorer.score(items, prompts[::-1])
                checks.append(
                    _check("reads no prompt, as declared", _same(scorer.score(items, prompts), with_other_prompts))
                )
        broken = Path(folder) / "broken.png"
        broken.write_bytes(Path(items[0].image or "").read_bytes()[:60])
        for name, path in (("a broken picture", broken), ("a missing picture", Path(folder) / "nowhere.png")):
            lost = Item(id="lost", image=str(path))
            checks.append(_no_number(name, partial(scorer.score, [lost], prompts[:1])))
    return checks


def check_reward(reward: Any) -> list[ConformanceCheck]:
    """The same for a function of pictures and prompts."""
    checks = _members("rewards", reward)
    if not checks[0].passed:
        return checks
    pictures = _pictures()
    return checks + _numbers(lambda places: reward([pictures[n] for n in places], [_TEXTS[n] for n in places]))


def _numbers(ask: Callable[[Sequence[int]], Any]) -> list[ConformanceCheck]:
    everyone = range(len(_TEXTS))
    try:
        together = list(ask(everyone))
        again = list(ask(everyone))
        alone = [value for place in everyone for value in ask([place])]
        turned = list(ask(everyone[::-1]))[::-1]
    except Exception as error:
        return [_check("answers without an exception", False, _error_words(error))]
    valid = [
        value is None
        or ((isinstance(value, (int, float, np.number)) and not isinstance(value, bool)) and math.isfinite(value))
        for value in together
    ]
    return [
        _check("one number, or None, for each picture", len(together) == len(_TEXTS) and all(valid), repr(together)),
        _check("at least one picture has a number", any(value is not None for value in together)),
        _check("the same input gives the same output", together == again, f"{together} and {again}"),
        _check("a picture's number does not depend on the batch", _same(together, alone), f"{together} and {alone}"),
        _check("nor on the order of the pictures", _same(together, turned), f"{together} and {turned}"),
    ]


def _no_number(name: str, ask: Callable[[], Any]) -> ConformanceCheck:
    try:
        numbers = list(ask())
    except Exception:  # an error is as good as None
        return _check(f"{name} has no number", True)
    return _check(f"{name} has no number", numbers == [None], repr(numbers))


# -- generators and judges ---------------------------------------------------------------------------------------


def check_generator(generator: Any) -> list[ConformanceCheck]:
    """Every ask answered once, with a picture that opens; the same seed, the same picture, where it says so."""
    checks = _members("generators", generator)
    if not checks[0].passed:
        return checks
    checks += [
        _check("abilities is an Abilities", isinstance(generator.abilities, Abilities)),
        _check("signature is a Signature", isinstance(generator.signature, Signature)),
    ]
    if not all(check.passed for check in checks):
        return checks
    size = (generator.abilities.sizes or ((96, 128),))[0]
    prompts = [Prompt(id=f"p{number}", text=text or "a poster") for number, text in enumerate(_TEXTS[:2])]
    asks = [Ask(prompt=prompt, seed=seed, width=size[0], height=size[1]) for prompt in prompts for seed in (0, 1)]
    try:
        pairs = list(generator.make(asks))
    except Exception as error:
        return [*checks, _check("answers without an exception", False, _error_words(error))]
    answers = dict(pairs)
    pictures = {index: answer for index, answer in answers.items() if isinstance(answer, GeneratedPicture)}
    reasons = "; ".join(answer.reason for answer in answers.values() if isinstance(answer, FailedPicture))
    once = sorted(index for index, _ in pairs) == list(range(len(asks)))
    sizes = [_size(answer.image) for answer in pictures.values()]
    checks += [
        _check("every ask is answered once", once, repr([index for index, _ in pairs])),
        _check(
            "answers are GeneratedPicture or FailedPicture",
            all(isinstance(answer, GeneratedPicture | FailedPicture) for answer in answers.values()),
        ),
        _check("at least one picture is made", bool(pictures), reasons),
        _check("pictures open, in the size asked for", all(answer == size for answer in sizes), repr(sizes)),
    ]
    if generator.abilities.seeded and pictures:
        again = dict(generator.make(asks))
        same = all(getattr(again.get(index), "image", None) == answer.image for index, answer in pictures.items())
        checks.append(_check("the same seed gives the same picture, as declared", same))
    return checks


def check_judge(judge: Any) -> list[ConformanceCheck]:
    """Every question answered once, by a verdict that can be read, the same each time."""
    checks = _members("judges", judge)
    if not checks[0].passed:
        return checks
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        items, _ = _items(Path(folder))
        questions = [_question(items[0], items[1]), _question(items[1], items[0]), _question(items[0], items[1])]
        try:
            pairs = list(judge.reply(iter(questions)))
            again = dict(judge.reply(iter(questions)))
        except Exception as error:
            return [*checks, _check("answers without an exception", False, _error_words(error))]
        broken = Path(folder) / "broken.png"
        broken.write_bytes(b"no picture")
        lost = Item(id="lost", image=str(broken))
        checks.append(_no_reply(judge, _question(lost, items[0])))
    answers = dict(pairs)
    texts = [answer.text for answer in answers.values() if isinstance(answer, Reply)]
    menu = option_menu(("A", "B"))
    read = [isinstance(read_verdict(text, "verdict", menu), ParsedAnswer) for text in texts]
    once = sorted(index for index, _ in pairs) == [0, 1, 2]
    return [
        *checks,
        _check("every question is answered once", once, repr([index for index, _ in pairs])),
        _check("answers are Reply or NoReply", all(isinstance(answer, Reply | NoReply) for answer in answers.values())),
        _check("at least one question gets a reply", bool(texts)),
        _check("verdicts can be read", all(read), repr(texts[:2])),
        _check("the same question gets the same verdict", once and _texts(answers) == _texts(again)),
    ]


def _question(left: Item, right: Item) -> Conversation:
    sights = [Sight(item=item.id, path=Path(item.image or "")) for item in (left, right)]
    ends = 'Which is better? Answer with one JSON object and nothing else: {"verdict": "A"} or {"verdict": "B"}'
    return Conversation(
        parts=("Image A:", sights[0], "Image B:", sights[1], ends), options=("A", "B"), about=("check",)
    )


def _no_reply(judge: Any, question: Conversation) -> ConformanceCheck:
    try:
        answer = dict(judge.reply(iter([question]))).get(0)
    except Exception as error:
        return _check("a broken picture gets a NoReply, and stops nothing", False, _error_words(error))
    return _check("a broken picture gets a NoReply, and stops nothing", isinstance(answer, NoReply), repr(answer)[:100])


def _texts(answers: dict[int, Any]) -> list[str | None]:
    return [getattr(answers.get(number), "text", None) for number in range(3)]


# -- formats and fits --------------------------------------------------------------------------------------------


def check_format(form: Any, *, file: Path | None = None) -> list[ConformanceCheck]:
    """Knows its own file and no other, and reads it the same each time."""
    checks = _members("formats", form)
    if not checks[0].passed:
        return checks
    foreign = {"votes.csv": "left,right,winner,rater\na,b,a,r1\n", "list.json": '[{"a": 1}]', "words.txt": "no table\n"}
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        for name, text in foreign.items():
            (Path(folder) / name).write_text(text)
            try:
                recognised = form.recognise(head_of(Path(folder) / name))
            except Exception as error:
                recognised = _error_words(error)
            checks.append(_check(f"does not take {name} for its own", recognised is False, repr(recognised)))
    if file is None:
        return [*checks, _check("reads a file of its own", False, "none was given: --file FILE")]
    checks.append(_check("recognises its own file", form.recognise(head_of(file)) is True))
    try:
        studies = [import_form(as_format(form), [file]).study for _ in range(2)]
    except Exception as error:
        return [*checks, _check("reads a file of its own", False, _error_words(error))]
    answers = sum(studies[0].counts.get(kind, 0) for kind in (*PROTOCOLS, "checklists"))
    return [
        *checks,
        _check("reads a file of its own", answers > 0, f"{answers} judgments"),
        _check("the same file gives the same study", studies[0].hash == studies[1].hash),
    ]


def check_fit(fit: Any) -> list[ConformanceCheck]:
    """A score for each item, in the order of the judgments, whatever the items are numbered."""
    checks = _members("fits", fit)
    if checks[0].passed:
        checks.append(_check(f"reads one of {', '.join(PROTOCOLS)}", fit.reads in PROTOCOLS, repr(fit.reads)))
    if not all(check.passed for check in checks):
        return checks
    items = 6
    order = np.random.default_rng(1).permutation(items)
    try:
        first, again, renumbered_fit = (
            _fitted(fit, judgments, items) for judgments in _judgments(fit.reads, items, order)
        )
    except Exception as error:
        return [*checks, _check("answers without an exception", False, _error_words(error))]
    scores, errors = first
    shaped = scores.shape == (items,) and bool(np.isfinite(scores).all())
    checks += [
        _check("a finite score for each item", shaped, f"{scores.shape}"),
        _check("the same input gives the same output", np.array_equal(scores, again[0])),
    ]
    if errors is not None:
        good = errors.shape == (items,) and bool((errors > 0).all()) and bool(np.isfinite(errors).all())
        checks.append(_check("errors above 0, one for each item", good, repr(errors)))
    if shaped:
        renumbered = renumbered_fit[0].shape == (items,) and _same(list(scores), list(renumbered_fit[0][order]))
        checks.append(_check("scores do not depend on how items are numbered", renumbered))
        agree = float(np.corrcoef(np.argsort(np.argsort(scores)), np.arange(items))[0, 1])
        checks.append(_check("better items have higher scores", agree > 0.7, f"rank correlation {agree:.2f}"))
    return checks


def _fitted(fit: Any, judgments: Any, items: int) -> tuple[Any, Any]:
    result = fit.fit(judgments, items)
    scores, errors = result if isinstance(result, tuple) else (result, None)
    return np.asarray(scores, np.float64), None if errors is None else np.asarray(errors, np.float64)


def _judgments(reads: str, items: int, order: Any) -> Iterator[GroupComparisons | GroupRankings | GroupRatings]:
    """Judgments in which items of higher numbers are better, twice; then the same with items numbered by `order`."""
    makers: dict[str, Callable[..., GroupComparisons | GroupRankings | GroupRatings]] = {
        "comparisons": _compared,
        "rankings": _ranked,
        "ratings": _rated,
    }
    make = makers[reads]
    yield make(items, np.arange(items))
    yield make(items, np.arange(items))
    yield make(items, order)


def _compared(items: int, numbers: Any) -> GroupComparisons:
    rng = np.random.default_rng(0)
    rows = [(a, b, r) for r in range(8) for a in range(items) for b in range(a)]
    a, b, rater = (np.array(column, np.int32) for column in zip(*rows))
    lost = rng.random(len(a)) < 0.15
    outcome = np.where(rng.random(len(a)) < 0.1, 2, lost).astype(np.int8)  # `a` has the higher number
    nothing = np.zeros(len(a), np.int32)
    places = np.arange(len(a), dtype=np.int32)
    return GroupComparisons(numbers[a].astype(np.int32), numbers[b].astype(np.int32), outcome, rater,
                    np.full(len(a), 2, np.int8), nothing, places)  # fmt: skip


def _ranked(items: int, numbers: Any) -> GroupRankings:
    rng = np.random.default_rng(0)
    orders = [np.argsort(-(np.arange(items) + rng.normal(0, 0.8, items))) for _ in range(12)]
    ranks = np.tile(np.arange(1, items + 1, dtype=np.int32), len(orders))
    raters = np.arange(len(orders), dtype=np.int32)
    offsets = np.arange(0, items * len(orders) + 1, items, dtype=np.int64)
    return GroupRankings(
        offsets, numbers[np.concatenate(orders)].astype(np.int32), ranks, raters, np.zeros_like(raters)
    )


def _rated(items: int, numbers: Any) -> GroupRatings:
    rng = np.random.default_rng(0)
    rater, item = (part.ravel().astype(np.int32) for part in np.indices((10, items)))
    value = item + rng.normal(0, 0.8, len(item))
    return GroupRatings(numbers[item].astype(np.int32), value, rater, np.zeros_like(rater))


def check_captcha(captcha: Any) -> list[ConformanceCheck]:
    """A widget for anybody, no voter for an empty form, and sources that are addresses."""
    checks = _members("captchas", captcha)
    if not checks[0].passed:
        return checks
    sources = captcha.sources
    https = isinstance(sources, tuple) and all(str(source).startswith("https://") for source in sources)
    checks.append(_check("sources are a tuple of https addresses", https, repr(sources)))
    checks.append(_check("the widget is text", all(isinstance(captcha.widget(n), str) for n in (0, 1000))))
    for name, form in (("an empty form", {}), ("a form of another", {"solution": "x", "token": "x"})):
        try:
            found = repr(captcha.verify(form, 0))
        except BadValue:
            found = ""
        checks.append(_check(f"{name} makes no voter", not found, found))
    return checks


CHECKS: dict[str, Callable[..., list[ConformanceCheck]]] = {
    "scorers": check_scorer,
    "generators": check_generator,
    "judges": check_judge,
    "formats": check_format,
    "fits": check_fit,
    "captchas": check_captcha,
    "rewards": check_reward,
}


# -- helpers -----------------------------------------------------------------------------------------------------


def _check(name: str, passed: bool, details: str = "") -> ConformanceCheck:
    return ConformanceCheck(name=name, passed=bool(passed), found="" if passed else details[:300])


def _members(group: str, part: Any) -> list[ConformanceCheck]:
    missing = missing_members(group, part)
    name = f"has {', '.join(GROUPS[group].members)}" if GROUPS[group].members else "can be called"
    return [_check(name, not missing, f"no {', '.join(missing)}")]


def _pictures() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (48, 32, 3), np.uint8)).resize((64, 96)) for _ in _TEXTS]


def _items(folder: Path) -> tuple[list[Item], list[Prompt]]:
    for number, picture in enumerate(_pictures()):
        picture.save(folder / f"{number}.png")
    prompts = [
        Prompt(id=f"p{number}", text=text or "a poster", intent=text or "a poster")
        for number, text in enumerate(_TEXTS)
    ]
    return [Item(id=f"i{n}", image=str(folder / f"{n}.png"), prompt=f"p{n}") for n in range(len(_TEXTS))], prompts


def _size(image: bytes) -> tuple[int, int] | None:
    try:
        with Image.open(io.BytesIO(image)) as opened:
            opened.load()
            return opened.size
    except OSError:
        return None


def _same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Equal but for rounding."""
    if len(left) != len(right) or [value is None for value in left] != [value is None for value in right]:
        return False
    pairs = [(a, b) for a, b in zip(left, right) if a is not None]
    largest = max((abs(a) for a, _ in pairs), default=0.0)
    return all(abs(a - b) <= CLOSE * max(largest, 1e-9) for a, b in pairs)


def _error_words(error: Exception) -> str:
    return error.message() if isinstance(error, SalonError) else f"{type(error).__name__}: {error}"
