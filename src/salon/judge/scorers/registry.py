"""A scorer from the words that name it on the command line.

    words, contrast, palette ...       a measurement, by rule
    effnet-lite2+minilm+ocr            pictures against prompts, by small networks inside packages
    minilm+ocr                         the text in the picture against the prompt
    clip:FOLDER ... hpsv3:FOLDER       a released scorer, from a folder with its weights or a hub name
    model:FOLDER@CRITERION             a model of your own, made by `salon train` or `salon distill train`
    onepass:FOLDER@CRITERION           a one-pass scorer, made by `salon distill train`, or an untrained VLM
    onepass:openai:MODEL@URL@CRITERION  an untrained VLM at an endpoint
    chat:FILE@openai:MODEL@URL         the VLM at an endpoint, asked by a template of yours or of Salon
    checklist:FILE@VLM                 a weighed checklist, asked of the VLM in a folder
    table:FILE                         scores made elsewhere: item, value, sigma
    NAME, python:MODULE:NAME           a plugin: a scorer or a reward function of another package, or of a module

Each kind is imported when it is named, so its libraries are only needed by those who use it.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import json
import math
import tempfile
import tomllib
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.errors import BadFile, BadValue, SalonError
from salon.judge.chat_template import split_chat_name
from salon.judge.measurements.table import MEASUREMENTS
from salon.judge.model_scorers import split_model_name, split_rater
from salon.judge.scoring import MissingScore, PictureScore, PictureScorer, ScoreResult, ScorerInput, ScoreSettings
from salon.models import ResultCache, is_one_pass
from salon.store import read_plain
from salon.study import (
    Item,
    LoadedPlugin,
    Prompt,
    Scorer,
    ScorerCard,
    Signature,
    find_plugin,
    import_plugin_object,
    is_python_word,
    load_plugin,
    needs_arguments,
    plugin_lines,
)

COMPOSITES: dict[str, tuple[str, str]] = {
    "effnet-lite2+minilm+ocr": ("composite", "things and words in the picture against the prompt"),
    "minilm+ocr": ("text_match", "words in the picture against the prompt"),
}
RELEASED: dict[str, tuple[str, str]] = {
    "clip": ("clip_score", "CLIP score; any CLIP"),
    "pickscore": ("pickscore", "PickScore"),
    "hpsv2": ("hpsv2", "HPSv2.1"),
    "hpsv2-published": ("hpsv2_published", "HPSv2.1 under the torchvision of its publication: no antialias"),
    "laion": ("laion_aesthetic", "LAION-Aesthetic-V2"),
    "imagereward": ("image_reward", "ImageReward"),
    "mps": ("mps", "MPS"),
    "hpsv3": ("hpsv3", "HPSv3, with its sigma"),
    "hpsv3++": ("hpsv3_plus", "HPSv3++, with its sigma; --rl-step"),
}
_OTHER_FORMS = (
    ("model:FOLDER@CRITERION", "a model trained by salon train; --model FOLDER takes all its criteria"),
    ("onepass:FOLDER@CRITERION", "a VLM trained by salon distill train; --model FOLDER takes all its criteria"),
    ("onepass:FOLDER", "an untrained VLM, asked for all criteria of the study at once"),
    ("onepass:openai:MODEL@URL", "the same at an endpoint"),
    ("chat:FILE@openai:MODEL@URL", "a VLM at an endpoint, asked by a template; also anthropic:MODEL and gemini:MODEL"),
    ("checklist:FILE@VLM", "weighed yes-or-no questions"),
    ("table:FILE", "scores made elsewhere"),
    ("python:MODULE:NAME", "a scorer, or a reward function, of your own"),
)


def scorer_lines() -> list[tuple[str, str]]:
    """How each scorer is named, and what it is; for `--list`."""
    composites = [(name, text) for name, (_, text) in COMPOSITES.items()]
    released = [(f"{name}:FOLDER", text) for name, (_, text) in RELEASED.items()]
    rules = [(name, rule.tells.rstrip(".")) for name, rule in MEASUREMENTS.items()]
    plugins = [line for group in ("scorers", "rewards") for line in plugin_lines(group, builtin_scorers())]
    return [*rules, *composites, *released, *_OTHER_FORMS, *plugins]


def builtin_scorers() -> list[str]:
    """Words that no plugin may take."""
    other_kinds = [form.partition(":")[0] for form, _ in _OTHER_FORMS]
    return [*MEASUREMENTS, *COMPOSITES, *RELEASED, *other_kinds]


def make_scorer(text: str, settings: ScoreSettings | None = None, cache: ResultCache | None = None) -> Scorer:
    """The scorer that `text` names, under these settings; BadValue with the nearest name otherwise."""
    settings = settings or ScoreSettings()
    kind, _, place = text.partition(":")
    rater, model = split_rater(text), split_model_name(text)
    chat = split_chat_name(text)
    options: dict[str, Any] = {"device": settings.device, "batch": settings.batch}
    reading: dict[str, Any] = {"text": settings.text, "batch": settings.batch}
    scorer: Scorer | None
    if text in MEASUREMENTS:
        scorer = _import("scorers.rules").measurement_scorer(text, cache)
    elif text in COMPOSITES:
        scorer = getattr(_import("scorers.composite"), COMPOSITES[text][0])(cache, **reading)
    elif kind in RELEASED and place:
        if kind != "laion":  # it reads no prompt
            options["text"] = settings.text
        if kind in ("hpsv3", "hpsv3++"):
            options |= {"instruction": settings.instruction, "other_instruction": settings.other_instruction}
        if kind == "hpsv3++":
            options["step"] = settings.rl_step
        scorer = getattr(_import("scorers.released"), RELEASED[kind][0])(place, **options)
    elif (chat is not None or (rater is not None and rater.is_endpoint)) and settings.engine != "here":
        raise BadValue(
            "--engine is for networks that run in Salon's own processes",
            found=f"{settings.engine} with an endpoint",
            remedy="an endpoint is asked many questions at once already: see --concurrency",
        )
    elif chat is not None:
        scorer = _import("scorers.chat").ChatScorer(chat, settings.rater, batch=settings.batch)
    elif rater is not None:
        scorer = _import("scorers.one_pass").untrained_scorer(rater, settings.rater, **options)
    elif model is not None and (kind == "onepass" or is_one_pass(model[0])):
        scorer = _import("scorers.one_pass").one_pass_scorer(*model, **options)
    elif model is not None:
        scorer = _import("trained_model").trained_scorer(*model, **options)
    elif kind == "table" and place:
        scorer = TableScorer(Path(place))
    elif kind == "checklist" and "@" in place:
        file, _, vlm = place.partition("@")
        rules = _import("scorers.rules")
        questions = rules.read_questions(Path(file))
        answering = _import("local_vlm").LocalVlm(vlm, device=settings.device or "auto")
        scorer = rules.checklist_scorer(answering, questions, **reading)
    else:
        scorer = plugin_scorer(text, builtin_scorers(), batch=settings.batch)
    if scorer is None:
        near = difflib.get_close_matches(text, [name for name, _ in scorer_lines()], n=2, cutoff=0.4)
        raise BadValue(
            "the name of a scorer is needed",
            found=repr(text),
            remedy=(f"did you mean {' or '.join(near)}? " if near else "") + "salon score --list names all",
        )
    return scorer


def _import(name: str) -> Any:
    """A module of this package, imported when it is needed: many load torch."""
    return importlib.import_module(f"salon.judge.{name}")


# -- plugins -----------------------------------------------------------------------------------------------------------


def plugin_scorer(word: str, builtin: Collection[str], *, batch: int = 8) -> PictureScorer | None:
    """The scorer, or the reward function as a scorer, that `word` names; None where no plugin has this name."""
    loaded = load_plugin("rewards" if _is_reward(word, builtin) else "scorers", word, builtin)
    return None if loaded is None else scorer_of_plugin(loaded, batch=batch)


def scorer_of_plugin(loaded: LoadedPlugin, *, batch: int = 8) -> PictureScorer:
    """A loaded plugin as a scorer: one with `score`, or a function of pictures and prompts.

    It sees pictures and prompts and nothing else: neither the generator's name nor the study. So the same picture with
    the same prompt has the same number everywhere, and it is cached like that of a built-in scorer.
    """
    card = getattr(loaded.part, "card", None) or ScorerCard(reads="image and prompt", measures="A reward function.")
    if not isinstance(card, ScorerCard):
        raise BadValue("the card of a scorer is a ScorerCard", found=type(card).__name__, where=loaded.origin)

    def measure(inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        try:
            if hasattr(loaded.part, "score"):
                numbers = list(_plugin_scores(loaded.part, inputs))
            else:
                images, texts = [picture.image for picture in inputs], [picture.text for picture in inputs]
                numbers = list(loaded.part(images, texts))
        except SalonError:
            raise
        except Exception as error:  # somebody else's code may raise anything
            raise loaded.failed(error) from error
        if len(numbers) != len(inputs):
            raise BadValue(
                "one number for each picture is needed", found=f"{len(numbers)} for {len(inputs)}", where=loaded.origin
            )
        return [_plugin_result(number, loaded) for number in numbers]

    return PictureScorer(loaded.name, card, loaded.signed(), measure, batch=batch)


def _is_reward(word: str, builtin: Collection[str]) -> bool:
    """Whether a word means a reward function: by its entry point, or an object that takes pictures when called."""
    plugin = find_plugin("scorers", word, builtin)
    if plugin is None:
        return find_plugin("rewards", word, builtin) is not None
    if not is_python_word(word):
        return False
    part = import_plugin_object(plugin)
    if hasattr(part, "score"):
        return False
    if inspect.isclass(part):
        return any("__call__" in vars(base) for base in part.__mro__)
    return callable(part) and needs_arguments(part)


def _plugin_scores(part: Any, inputs: Sequence[ScorerInput]) -> Sequence[float | None]:
    """A scorer reads files: a picture that came over HTTP becomes one while it looks."""
    with ExitStack() as stack:
        folder: Path | None = None
        items = []
        for number, picture in enumerate(inputs):
            path = picture.path
            if not path.is_file():
                folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="salon-")))
                path = folder / f"{number}.png"
                picture.image.save(path)
            items.append(Item(id=picture.sha256[:16], image=str(path), prompt=picture.prompt and picture.prompt.id))
        numbers: Sequence[float | None] = part.score(items, [picture.prompt for picture in inputs])
        return numbers


def _plugin_result(number: Any, loaded: LoadedPlugin) -> ScoreResult:
    if number is None:
        return MissingScore("the plugin gave no number")
    try:
        value = float(number)
    except (TypeError, ValueError):
        raise BadValue(
            "numbers or None are needed", found=f"{type(number).__name__}: {number!r}"[:80], where=loaded.origin
        ) from None
    return PictureScore(value) if math.isfinite(value) else MissingScore(f"the plugin gave {value}")


# -- tables of scores made elsewhere -----------------------------------------------------------------------------------

_NO_VALUE = MissingScore("the table has no value for the item")
HOW_TO_DECLARE = 'say in {card}, beside the table: is_logit = true and scorer = "what made the numbers"'


class TableScorer:
    """Scores from a table of item, value and, where there is one, sigma: numbers made elsewhere, on a GPU for instance.

    A card beside the table says what its numbers are. For `hpsv3.csv` it is `hpsv3.toml`:

        scorer = "HPSv3, weights of 2025-08"     # what made the numbers: tables that say the same are of one scorer
        is_logit = true                          # s(difference) is a probability, as EPS needs it
        measures = "Preference, mu of HPSv3."

    All fields of a scorer's card may stand there. `hpsv3.json`, as `salon score` writes it, serves too. Without a card
    higher is better, nothing is a logit, and the table is known by the hash of its file.
    """

    def __init__(self, file: Path, *, card: ScorerCard | None = None) -> None:
        self.name = file.stem
        self.file = file
        table = read_plain(file, "scores", ("item", "value"))
        items = table.column("item").cast(pa.string()).to_pylist()
        values = table.column("value").to_pylist()
        sigmas = table.column("sigma").to_pylist() if "sigma" in table.column_names else [None] * len(items)
        values_by_item: dict[str, ScoreResult] = {}
        for row, (item, value, sigma) in enumerate(zip(items, values, sigmas), 1):
            if item in values_by_item:
                raise BadValue("each item may stand once", found=repr(item), where=f"{file}, row {row}")
            values_by_item[item] = _table_result(value, sigma, f"{file}, row {row}")
        self._values = values_by_item
        declared, made_by = (card, None) if card is not None else _read_card(file)
        self.card = declared or ScorerCard(measures="Scores that were made elsewhere.", source=file.name)
        if made_by:  # whichever file holds them: a field's table and a later entry's are one scorer's
            self.signature = Signature(method="table", settings={"scorer": made_by})
        else:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            self.signature = Signature(method="table", data=digest, settings={"file": file.name})

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """The value of each item, None where the table has none."""
        return [result.value if isinstance(result, PictureScore) else None for result in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[ScoreResult]:
        """Value and sigma of each item."""
        return [self._values.get(item.id, _NO_VALUE) for item in items]

    def knows(self, item: str) -> bool:
        """Whether the table has a value for the item."""
        return isinstance(self._values.get(item), PictureScore)


def _read_card(file: Path) -> tuple[ScorerCard | None, str | None]:
    """The card beside a table, and what it says made the numbers."""
    toml, record = file.with_suffix(".toml"), file.with_suffix(".json")
    if toml.is_file():
        fields = _read_card_file(toml, tomllib.loads)
        made_by = fields.pop("scorer", None)
        if made_by is not None and (not isinstance(made_by, str) or not made_by.strip()):
            raise BadValue("the scorer is named by a text", found=repr(made_by), where=str(toml))
        return ScorerCard.parse({"source": file.name, **fields}, where=str(toml)), made_by
    if record.is_file() and record != file:
        fields = _read_card_file(record, json.loads)
        if isinstance(fields.get("card"), dict) and "signature" in fields:
            return ScorerCard.parse(fields["card"], where=str(record)), str(fields["signature"])
    return None, None


def _read_card_file(path: Path, read: Any) -> dict[str, Any]:
    try:
        fields = read(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise BadFile("a card of a table of scores is needed", found=str(error), where=str(path)) from None
    if not isinstance(fields, dict):
        raise BadFile("a card of a table of scores is needed", found=type(fields).__name__, where=str(path))
    return fields


Cell = float | str | None


def _table_result(value: Cell, sigma: Cell, where: str) -> ScoreResult:
    if value is None:
        return _NO_VALUE
    for name, number in (("value", value), ("sigma", sigma)):
        if number is not None and (isinstance(number, str | bool) or not math.isfinite(number)):
            raise BadValue(f"a finite number is needed as {name}", found=repr(number), where=where)
    return PictureScore(float(value), None if sigma is None else float(sigma))
