"""A suite of a few prompts, a generator of plain colors, a scorer that looks at them: a bench that runs in a blink.

A picture's red says whether its points hold, its green is its logit; both hang on generator, prompt and seed alone.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence

from PIL import Image

from salon.bench import Suite, with_hashes
from salon.bench.judging import SuiteJudge, open_for_any_study
from salon.bench.suite import PreferenceRule, SuiteCard, SuitePrompt, Tag
from salon.judge import Conversation, PictureScore, PictureScorer, ScorerInput, ScriptedVlm
from salon.judge.simulation import ScriptAnswer
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Point, Prompt, Route, ScorerCard, Signature

SIZE = (32, 24)


def tiny_suite(prompts: int = 4, **card: object) -> Suite:
    """Two tags, of which 'words' does not count for EPS; two points a prompt, one of them for two judges."""
    told = {"name": "tiny", "title": "A tiny suite", "size": "32x24", "preferences": (PreferenceRule(id="eps"),)}
    ids = [f"p{number}" for number in range(prompts)]
    return with_hashes(
        Suite(
            card=SuiteCard.parse({**told, **card}),
            tags=(
                Tag(id="look", group="Look", name="Color"),
                Tag(id="words", group="Text", name="Words", eps=False, why="taste is no judge of spelling"),
            ),
            prompts=tuple(
                SuitePrompt(prompt=Prompt(id=id, text=f"poster {id}"), tag="words" if id == "p0" else "look")
                for id in ids
            ),
            points=tuple(
                Point(id=f"{id}-{name}", prompt=id, text=f"Is {id} {name}?", tag=name)
                for id in ids
                for name in ("red", "large")
            ),
            routes=(
                Route(tag="red", judges=("eye",)),
                Route(tag="*", judges=("eye", "ear"), rule="unanimous"),
            ),
        )
    )


class Colors:
    """A generator whose pictures are one color each; `fate` may put a failure in the place of a picture."""

    def __init__(
        self, name: str, *, version: int = 1, fate: Callable[[Ask], FailedPicture | None] = lambda ask: None
    ) -> None:
        self.name = name
        self.abilities = Abilities(seeded=True, offline=True)
        self.signature = Signature(method=name, settings={"version": version}, version="test")
        self.asked: list[str] = []
        self._fate = fate

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index, ask in enumerate(asks):
            self.asked.append(ask.prompt.id)
            yield index, self._fate(ask) or GeneratedPicture(image=self._drawn(ask))

    def _drawn(self, ask: Ask) -> bytes:
        red, green, blue = hashlib.sha256(f"{self.signature}{ask.prompt.id}{ask.seed}".encode()).digest()[:3]
        target = io.BytesIO()
        Image.new("RGB", (ask.width or 32, ask.height or 24), (red, green, blue)).save(target, "PNG")
        return target.getvalue()


def by_red(asked: Conversation) -> ScriptAnswer:
    """PASS where the picture has any red to speak of."""
    with Image.open(asked.sights[0].path) as image:
        return "PASS" if image.convert("RGB").getpixel((0, 0))[0] > 60 else "FAIL"


def eyes(answers: Callable[[Conversation], ScriptAnswer] = by_red, *names: str) -> dict[str, SuiteJudge]:
    """Scripted judges for the suite's roles, all of one mind."""
    return {name: open_for_any_study(ScriptedVlm(name, answers)) for name in names or ("eye", "ear")}


def green(is_logit: bool = True, name: str = "green") -> PictureScorer:
    """A scorer: how green a picture is, from -2 to 2."""

    def look(shown: Sequence[ScorerInput]) -> list[PictureScore]:
        return [PictureScore(one.image.convert("RGB").getpixel((0, 0))[1] / 64 - 2) for one in shown]

    card = ScorerCard(is_logit=is_logit, measures="How green it is.")
    return PictureScorer(name, card, Signature(method=name, version="test"), look)
