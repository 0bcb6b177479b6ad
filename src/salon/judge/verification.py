"""Does a loaded scorer give the numbers that its release's own code gave?

    FOLDER/images/, prompts.json       pictures, and prompts by name: [{"name", "text"}]
    FOLDER/images.json                 if a picture has a "twin", the scorer should give the twin's numbers: Salon turns
                                       pictures upright and puts them on white, and releases do not
    FOLDER/expected.json               or FOLDER/KIND/expected.json for each kind of scorer:
        images, prompts                names; no prompts for a scorer of pictures alone
        scores                         scores[image][prompt], or scores[image]; null where the release fails
        mu, sigma                      the same for scorers that state their own standard deviation
        exp_logit_scale                a factor on all scores, where there is one

images/, images.json and prompts.json may also lie one folder up. Differences are in standard deviations of all expected
scores, so that one tolerance fits every scorer. A number that the scorer does not give, and the release does, is a
failure whatever the tolerance.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadFile
from salon.judge.scoring import PictureScore, score_items
from salon.study import Item, Noun, Prompt, Scorer

EXPECTED = "expected.json"
_VARIANTS = {"hpsv2-published": "scores_without_antialias"}
"""Scorers whose numbers stand under a name of their own."""


class Verification(Noun):
    """How far a scorer is from its reference."""

    scorer: str
    reference: str
    pairs: int = Field(title="pairs", description="Pictures with a prompt that both gave a number for.")
    largest: float | None = Field(title="largest difference", description="In the scorer's own unit.")
    largest_in_sd: float | None = Field(
        title="in sd", description="The largest difference in standard deviations of the expected scores."
    )
    at: str | None = Field(title="at", description="Picture and prompt of the largest difference.")
    sigma_largest: float | None = Field(
        title="of sigma", description="The largest difference of log sigma, where both state sigma."
    )
    missing: int = Field(title="missing", description="Numbers that the reference has and the scorer did not give.")
    reason: str | None = Field(title="reason", description="Why the first of them is missing.")
    tolerance: float
    passed: bool
    signature: str


def verify_scorer(
    scorer: Scorer, folder: Path, *, kind: str = "", tolerance: float = 1e-3, limit: int | None = None
) -> Verification:
    """Compare `scorer` with the reference in `folder`, or that of its `kind` there; `limit`: the first pictures."""
    file = reference_file(folder, kind)
    reference = _read(file)
    try:
        names, table, sigmas = _tables(reference, kind)
        prompts = reference.get("prompts") or [None]
        if table.shape != (len(names), len(prompts)):
            raise ValueError(f"{table.shape[0]} x {table.shape[1]} scores of {len(names)} x {len(prompts)}")
        texts = {entry["name"]: entry["text"] for entry in _beside(file, "prompts.json")} if prompts != [None] else {}
        twins = {
            entry["name"]: entry.get("twin", entry["name"]) for entry in _beside(file, "images.json", needed=False)
        }
        rows = [names.index(twins.get(name, name)) for name in names]
        asked: list[Prompt | None] = [None if name is None else Prompt(id=name, text=texts[name]) for name in prompts]
    except (LookupError, TypeError, ValueError) as error:
        raise BadFile("reference numbers of a scorer are needed", found=repr(error), where=str(file)) from None
    spread = float(np.nanstd(table)) or 1.0
    names, rows = names[:limit], rows[:limit]
    images = _find(file, "images")
    pairs = [
        (Item(id=f"{name} {n}", image=str(images / name)), prompt) for name in names for n, prompt in enumerate(asked)
    ]
    results = score_items(scorer, pairs)
    found = np.array([result.value if isinstance(result, PictureScore) else np.nan for result in results])
    expected = table[rows].ravel()
    gaps = np.abs(found - expected)
    missing = np.flatnonzero(np.isnan(found) & ~np.isnan(expected))
    compared = np.flatnonzero(~np.isnan(gaps))
    place = int(compared[gaps[compared].argmax()]) if len(compared) else None
    largest = None if place is None else float(gaps[place])
    sigma_gap = None if sigmas is None else _sigma_gap(results, sigmas[rows].ravel())
    prompt = None if place is None else prompts[place % len(prompts)]
    return Verification(
        scorer=scorer.name,
        reference=str(file),
        pairs=len(compared),
        largest=largest,
        largest_in_sd=None if largest is None else largest / spread,
        at=None if place is None else " with ".join(filter(None, [names[place // len(prompts)], prompt])),
        sigma_largest=sigma_gap,
        missing=len(missing),
        reason=getattr(results[missing[0]], "reason", None) if len(missing) else None,
        tolerance=tolerance,
        passed=largest is not None
        and largest / spread <= tolerance
        and not len(missing)
        and (sigma_gap is None or sigma_gap <= tolerance),
        signature=str(scorer.signature),
    )


def reference_file(folder: Path, kind: str = "") -> Path:
    """Where the reference numbers for a kind of scorer are in `folder`."""
    places = [folder / EXPECTED, folder / kind / EXPECTED, folder / kind.partition("-")[0] / EXPECTED]
    for place in places if kind else places[:1]:
        if place.is_file():
            return place
    raise BadFile(
        "a folder with reference numbers is needed",
        found=f"no {EXPECTED}" + (f", and none in {kind}/" if kind else ""),
        where=str(folder),
        remedy="docs/guide/chat-scorers.md shows the layout",
    )


def reference_scorers(folder: Path) -> list[str]:
    """The scorers whose weights lie beside their reference numbers, by name."""
    folders = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())] if folder.is_dir() else []
    return [
        f"{_read(place / EXPECTED).get('scorer')}:{place / 'weights'}"
        for place in folders
        if (place / EXPECTED).is_file() and (place / "weights").is_dir()
    ]


def _tables(reference: dict[str, Any], kind: str) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64] | None]:
    """Pictures, their scores (pictures, prompts) and sigmas; NaN where the release gives none."""
    key = _VARIANTS.get(kind, "scores" if "scores" in reference else "mu")
    scale = float(reference.get("exp_logit_scale", 1))
    sigmas = _table(reference["sigma"]) if key == "mu" and "sigma" in reference else None
    return list(reference["images"]), _table(reference[key]) * scale, sigmas


def _table(rows: Any) -> NDArray[np.float64]:
    lists = [row if isinstance(row, list) else [row] for row in rows]
    return np.array([[math.nan if value is None else float(value) for value in row] for row in lists])


def _sigma_gap(results: Any, expected: NDArray[np.float64]) -> float | None:
    pairs = [
        (result.sigma, wanted)
        for result, wanted in zip(results, expected.tolist())
        if isinstance(result, PictureScore) and result.sigma and wanted > 0
    ]
    logs = np.log(np.array(pairs)) if pairs else None
    return None if logs is None else float(np.abs(logs[:, 0] - logs[:, 1]).max() / (np.log(expected).std() or 1.0))


def _beside(file: Path, name: str, *, needed: bool = True) -> Any:
    path = _find(file, name)
    if not path.exists() and not needed:
        return []
    return _read(path)


def _find(file: Path, name: str) -> Path:
    """Beside the reference, or one folder up."""
    near = file.parent / name
    return near if near.exists() else file.parent.parent / name


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile("a JSON file of a reference is needed", found=str(error), where=str(path)) from None
