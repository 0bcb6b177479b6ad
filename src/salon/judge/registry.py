"""The judge that the command line names: a VLM at an endpoint or here, a trained model, a measurement, a simulation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from salon.errors import BadValue, SalonError
from salon.judge.native_protocols import HOME
from salon.judge.vlm import MOST_REPLY_TOKENS
from salon.study import LoadedPlugin, Noun, Point, Study, load_plugin, plugin_lines

if TYPE_CHECKING:
    from salon.calls import Budget, CallStore, Secret
    from salon.judge.openai_chat import OpenAIChat
    from salon.judge.vlm import Conversation, NoReply, Reply, Vlm

RATES = {"accuracy": "accuracy", "bias": "position_bias", "ties": "tie_rate", "unparsed": "unparsed_rate"}
"""What a simulation may be told, and what `Simulated` calls it."""
OPENAI_URL = HOME["openai"]
WAYS = ("model", "transformers", "trained", "measured", "simulated", "script", "plugin")
"""The ways to answer."""
FLAGS = {"plugin": "judge"}
"""Flags whose names are not those of their fields."""
_QUESTIONS_PER_TASK = 16
"""Questions given to a worker at once: few enough that a worker that dies costs little."""


class JudgeSpec(Noun):
    """Who answers, and on which terms. One of the ways to answer (`WAYS`) is given."""

    model: str | None = Field(
        None,
        description="Model at an endpoint: MODEL or openai:MODEL@URL; anthropic:MODEL and gemini:MODEL ask in the "
        "services' own protocols.",
    )
    endpoint: str = Field(OPENAI_URL, description="Address of the endpoint.")
    api: Literal["openai", "anthropic", "gemini"] = Field(
        "openai", description="Protocol of the endpoint; anthropic:MODEL and gemini:MODEL say it too."
    )
    key_env: str = Field(
        "OPENAI_API_KEY",
        description="Environment variable with the key; none for one without. This machine needs none.",
    )
    allow_http: bool = Field(False, description="Allow plain http beyond this machine.")
    structured: Literal["auto", "schema", "json", "none"] = Field(
        "auto", description="How to make the endpoint answer JSON; auto finds out what it supports."
    )
    field: tuple[str, ...] = Field(
        (), description="Further field of every request, NAME=VALUE, such as reasoning_effort=high (repeatable)."
    )
    pixels: int = Field(1024 * 1024, ge=64, description="Most pixels of a picture; larger ones are made smaller.")
    picture_url: str | None = Field(
        None, description="Where the endpoint finds the pictures itself, such as https://host/{file}."
    )
    most_tokens: int = Field(
        MOST_REPLY_TOKENS, ge=0,
        description="A reply cut off at the token limit is asked again with more, up to this many; 0: never.",
    )  # fmt: skip
    concurrency: int = Field(32, ge=1, le=1000, description="Most requests at a time; fewer where the server asks.")
    per_minute: float | None = Field(None, gt=0, description="Most requests in a minute.")
    prices: Path | None = Field(None, description="Price list, TOML; what a call costs is not known without one.")
    budget: float | None = Field(None, ge=0, description="The most this run may spend, in the price list's currency.")
    calls: Path | None = Field(
        None, description="File that keeps bought answers  [default: beside the study, STUDY.calls.sqlite]"
    )
    transformers: str | None = Field(None, description="A VLM in this process: a folder with its weights, or its name.")
    trained: Path | None = Field(None, description="A preference model that salon train made: its folder.")
    measured: Literal["pixels", "layout"] | None = Field(
        None,
        description="No model: points answered by their rules, from pixels, or from the record of a drawn poster.",
    )
    device: str = Field("auto", description="With --transformers and --trained: cpu, cuda, mps.")
    dtype: str = Field("auto", description="With --transformers: float32, bfloat16, float16.")
    batch_size: int = Field(1, ge=1, description="With --transformers: questions at a time.")
    engine: Literal["here", "pool", "ray"] = Field(
        "here", description="With --transformers: where it runs, in this process, in several, or on Ray."
    )
    workers: int | None = Field(
        None, ge=1, description="Workers of a pool, on Ray, or of --measured pixels  [default: one for each core]"
    )
    address: str | None = Field(None, description="Address of a Ray cluster  [default: one on this machine]")
    simulated: str | None = Field(
        None, description="No model: a simulated judge, such as accuracy=0.7,bias=0.2,ties=0.1,unparsed=0.01."
    )
    simulated_seed: int = Field(0, ge=0, description="Seed of a simulated judge.")
    script: Path | None = Field(None, description="No model: the answers in a file of JSON lines.")
    plugin: str | None = Field(
        None,
        description="A judge of another package by its name, or of your own: python:MODULE:NAME.",
        json_schema_extra={"flag": FLAGS["plugin"]},
    )
    canaries: int = Field(
        8, ge=0, le=1000, description="Questions a hosted model is asked anew every day, to notice a change; 0: none."
    )
    name: str | None = Field(None, description="What to call it  [default: the name of its model]")

    @model_validator(mode="before")
    @classmethod
    def _split_model(cls, fields: Any) -> Any:
        """`openai:MODEL@URL` as protocol, model and endpoint; the service's address and key where none is named."""
        from salon.judge.native_protocols import HOME, KEY_VARIABLES, split_endpoint

        word = fields.get("model") if isinstance(fields, dict) else None
        if not isinstance(word, str):
            return fields
        api, model, url = split_endpoint(word)
        chosen = fields.get("api", "openai")
        if api == "openai" and not word.startswith("openai:"):
            api = chosen
        elif chosen not in ("openai", api):
            raise ValueError(f"the protocol is named twice: {word} and {chosen}; leave --api out")
        if url is not None and fields.get("endpoint", OPENAI_URL) not in (OPENAI_URL, url):
            raise ValueError(f"the endpoint is named twice: {word} and {fields['endpoint']}; leave --endpoint out")
        fields = fields | {"model": model, "api": api}
        if url is not None:
            fields["endpoint"] = url
        if api in HOME and api != "openai":
            if fields.get("endpoint", OPENAI_URL) == OPENAI_URL:
                fields["endpoint"] = HOME[api]
            if fields.get("key_env", KEY_VARIABLES["openai"]) == KEY_VARIABLES["openai"]:
                fields["key_env"] = KEY_VARIABLES[api]
        return fields

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The key for the endpoint; none where it is said so, and for a server of this machine when no key is set."""
        from salon.calls import Secret, base_address, is_local
        from salon.judge.native_protocols import KEY_HEADERS

        needless = is_local(base_address(self.endpoint)) and not os.environ.get(self.key_env)
        return () if self.key_env in ("", "none") or needless else (Secret(self.key_env, *KEY_HEADERS[self.api]),)

    @property
    def judge(self) -> str:
        """The judge's name."""
        local = None if self.transformers is None else Path(self.transformers).name
        trained = None if self.trained is None else self.trained.resolve().name
        script = None if self.script is None else self.script.stem
        plugin = None if self.plugin is None else self.plugin.rpartition(":")[2]
        return self.name or self.model or local or trained or self.measured or script or plugin or "simulated"

    @property
    def looks(self) -> bool:
        """Whether it is shown pictures and reads the question; models and measurements look for themselves."""
        return self.model is not None or self.transformers is not None or self.plugin is not None

    def check(self) -> None:
        """Raise BadValue unless exactly one of the ways to answer was given."""
        chosen = [FLAGS.get(way, way) for way in WAYS if getattr(self, way) is not None]
        if len(chosen) != 1:
            flags = [f"--{FLAGS.get(way, way)}" for way in WAYS]
            raise BadValue(
                f"one of {', '.join(flags[:-1])} and {flags[-1]} is needed",
                found=" and ".join(f"--{way}" for way in chosen) or "none of them",
                remedy="--model openai:NAME@URL for a server, --simulated accuracy=0.7,bias=0.2 to try it out",
            )
        if self.engine != "here" and self.transformers is None:
            raise BadValue(
                "--engine is for a VLM that runs in Salon's own processes: --transformers",
                found=f"--{chosen[0]}",
                remedy="an endpoint is asked many questions at once already: see --concurrency",
            )


@contextmanager
def open_judge(spec: JudgeSpec, study: Study, folder: Path, points: Sequence[Point] = ()) -> Iterator[Vlm]:
    """The VLM, for as long as the block lasts. Wrong files and a store of another version are found here.

    `points` are those it will be asked, for a measurement, which answers by their rules.
    """
    from salon.calls import CallStore
    from salon.judge.simulation import ScriptedVlm, SimulatedVlm, panel_truth

    spec.check()
    if spec.model is not None:
        with CallStore(calls_file(spec, folder)) as store, endpoint_vlm(spec, spec.model, store) as vlm:
            yield vlm
    elif spec.transformers is not None:
        yield _open_local(spec, folder)
    elif spec.trained is not None:
        from salon.judge import trained_model as trained  # torch only for those who need it

        device = None if spec.device == "auto" else spec.device
        yield trained.TrainedJudge(spec.judge, spec.trained, study, device=device)
    elif spec.measured is not None:
        from salon.judge import measuring_judge as measuring  # it reads text: only where needed

        if spec.measured == "layout":
            yield measuring.layout_judge(spec.judge, study, folder, points)
        else:
            yield measuring.pixel_judge(spec.judge, study, points, processes=spec.workers)
    elif spec.simulated is not None:
        rates = {RATES[name]: value for name, value in read_rates(spec.simulated).items()}
        yield SimulatedVlm(spec.judge, panel_truth(study), seed=spec.simulated_seed, **rates)
    elif spec.script is not None:
        yield ScriptedVlm(spec.judge, spec.script)
    elif spec.plugin is not None:
        yield make_plugin_judge(spec.judge, spec.plugin)


def make_plugin_judge(name: str, word: str) -> Vlm:
    """The judge that another package or module brings, called `name`, with its origin in the signature."""
    loaded = load_plugin("judges", word)
    if loaded is None:
        names = ", ".join(plugin for plugin, _ in plugin_lines("judges"))
        raise BadValue(
            "the name of an installed judge, or python:MODULE:NAME, is needed",
            found=repr(word),
            where="--judge",
            remedy=f"installed are {names}" if names else "salon plugins list names those installed: none",
        )
    return PluginJudge(name, loaded)


class PluginJudge:
    """A plugin as a VLM of Salon."""

    def __init__(self, name: str, loaded: LoadedPlugin) -> None:
        self.name, self.signature, self._loaded = name, loaded.signed(), loaded

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """What the plugin says."""
        replies: Iterator[tuple[int, Reply | NoReply]] = self._loaded.part.reply(conversations)
        while True:
            try:
                result = next(replies, None)
            except SalonError:
                raise
            except Exception as error:  # somebody else's code may raise anything
                raise self._loaded.failed(error) from error
            if result is None:
                return
            yield result


def calls_file(spec: JudgeSpec, folder: Path) -> Path:
    """Where bought answers are kept: beside the study, so that a copy of the study does not carry them along."""
    home = folder.resolve()
    return spec.calls or home.with_name(f"{home.name}.calls.sqlite")


def endpoint_vlm(spec: JudgeSpec, model: str, store: CallStore, budget: Budget | None = None) -> OpenAIChat:
    """The model at the endpoint; `budget` is one that several share, in place of its own."""
    from salon.calls import Budget, Limits, Prices
    from salon.judge.chat_protocol import PictureSettings
    from salon.judge.native_protocols import read_fields
    from salon.judge.openai_chat import OpenAIChat

    return OpenAIChat(
        spec.judge,
        model=model,
        base_url=spec.endpoint,
        store=store,
        secrets=spec.secrets,
        limits=Limits(concurrency=spec.concurrency, per_minute=spec.per_minute),
        prices=None if spec.prices is None else Prices.load(spec.prices),
        budget=budget or Budget(spec.budget),
        pictures=PictureSettings(pixels=spec.pixels, address=spec.picture_url),
        structured=spec.structured,
        fields=read_fields(spec.field),
        api=spec.api,
        most_tokens=spec.most_tokens,
        allow_http=spec.allow_http,
    )


def _open_local(spec: JudgeSpec, folder: Path) -> Vlm:
    from salon.engine import EngineSettings
    from salon.judge.chat_protocol import PictureSettings
    from salon.judge.local_vlm import LocalVlm  # torch only for those who need it
    from salon.judge.reply_storage import CachedVlm, DistributedVlm

    vlm: Vlm = LocalVlm(
        spec.transformers or "",
        name=spec.judge,
        device=spec.device,
        dtype=spec.dtype,
        batch=spec.batch_size,
        pictures=PictureSettings(pixels=spec.pixels),
    )
    home = folder.resolve()
    if spec.engine == "here":
        return CachedVlm(vlm, spec.calls or home.with_name(f"{home.name}.replies.jsonl"))
    engine = EngineSettings(
        engine=spec.engine,
        workers=spec.workers,
        address=spec.address,
        batch=max(_QUESTIONS_PER_TASK, spec.batch_size),
    )
    return DistributedVlm(vlm, spec.calls or home.with_name(f"{home.name}.replies"), engine)


def read_rates(text: str) -> dict[str, float]:
    """`accuracy=0.7,bias=0.2` as numbers by name; accuracy is needed."""
    rates: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            rates[name.strip()] = float(value)
        except ValueError:
            raise _bad_rates(text) from None
    if "accuracy" not in rates or not rates.keys() <= RATES.keys():
        raise _bad_rates(text)
    return rates


def _bad_rates(text: str) -> BadValue:
    return BadValue(
        "a simulated judge is described by shares, accuracy among them",
        found=repr(text),
        remedy="for instance accuracy=0.7,bias=0.2,ties=0.1,unparsed=0.01",
    )


def check_budget(budget: float | None, cost: Decimal | None, questions: int) -> str | None:
    """What to say about a budget that may not suffice; BadValue where it is not even enough for one question."""
    if budget is None or cost is None or not questions or cost <= Decimal(str(budget)):
        return None
    if Decimal(str(budget)) * questions < cost:
        raise BadValue(
            f"a budget for at least one question is needed; one may cost {cost / questions:.6f}",
            found=f"{budget:g}",
            remedy="raise --budget, lower --max-tokens or --pixels, or ask a cheaper model",
        )
    return f"the budget of {budget:g} may end before the questions do: they cost {cost:.4f} at the most"
