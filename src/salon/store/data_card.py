"""The README.md of a study on the Hugging Face hub: front matter for machines, a data card for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow.compute as pc

from salon.study import JUDGMENTS, Criterion, Study, salon_version

CARD_FILE = "README.md"
_MARK = "# Written by Salon; a new export replaces this file."
_SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"))
_DESIGNS = {
    "complete": "every rater saw every pair, or ranked every item, of a prompt",
    "fraction": "every rater saw a fixed subset",
    "adaptive": "later questions depended on earlier answers",
    "merge_ranking": "each order was found by asking only the pairs a merge sort needs",
    "unknown": "the source does not say how questions and raters were chosen",
}


def is_salon_card(path: Path) -> bool:
    """True when the file at `path` is a card that Salon wrote."""
    if not path.is_file():
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return [file.readline(200).strip(), file.readline(200).strip()] == ["---", _MARK]


def card(study: Study) -> str:
    """The whole README.md."""
    parts = [_front_matter(study), _what(study), _tables(study), _criteria(study), _raters(study), _design(study)]
    return "\n".join([*parts, _missing_data(study), _identity(study)])


# -- for machines ------------------------------------------------------------------------------------------


def _front_matter(study: Study) -> str:
    tags = ["preference", "human-evaluation", "salon"] + (["simulated"] if study.simulated else [])
    lines = ["---", _MARK, f"pretty_name: {_quoted(study.name)}", "license: other", "license_name: unknown"]
    rows = sum(count for kind, count in study.counts.items() if kind in JUDGMENTS)
    size = next((name for limit, name in _SIZES if rows < limit), "n>10M")
    lines += ["size_categories:", f"- {_quoted(size)}", "tags:", *(f"- {tag}" for tag in tags), "configs:"]
    first = next((kind for kind in study.counts if kind in JUDGMENTS), None)
    for kind in study.counts:
        lines += [f"- config_name: {kind}"] + (["  default: true"] if kind == first else [])
        lines += ["  data_files:", "  - split: train", f"    path: data/{kind}.parquet"]
    return "\n".join([*lines, "---", ""])


def _quoted(text: str) -> str:
    """Text as a double-quoted YAML scalar: JSON's quoting, and escapes for what YAML cannot show."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)


# -- for people --------------------------------------------------------------------------------------------


def _what(study: Study) -> str:
    lines = [f"# {escape_md(study.name)}", ""]
    if study.simulated:
        lines += ["**Simulated: no person gave these answers.**", ""]
    if study.note:
        lines += [*map(escape_md, study.note.splitlines()), ""]
    within = {"prompt": "of the same prompt", "category": "of the same category", "all": "of the whole study"}
    lines += [
        "A preference study: judgments of items by raters under named criteria. Items are compared with items "
        f"{within[study.compare_within]}.",
        "",
    ]
    return "\n".join(lines)


def _tables(study: Study) -> str:
    rows = ((kind, f"{count:,}", f"`data/{kind}.parquet`") for kind, count in study.counts.items())
    return _section("Tables", _grid(("table", "rows", "file"), rows))


def _criteria(study: Study) -> str:
    rows = ((c.id, c.title, c.question or c.rate_question or "", _scale(c)) for c in study.criteria)
    return _section("Criteria", _grid(("id", "name", "question", "scale"), rows))


def _scale(criterion: Criterion) -> str:
    scale = criterion.scale
    if scale is None:
        return ""
    better = "" if scale.higher_is_better else ", lower is better"
    return f"{scale.kind}, {scale.low:g} to {scale.high:g}{better}"


def _raters(study: Study) -> str:
    table = study.table("raters")
    kinds: dict[str, int] = {}
    if "kind" in table.column_names:
        counts = pc.value_counts(table.column("kind").cast("string").fill_null("person").combine_chunks())
        kinds = {entry["values"]: entry["counts"] for entry in counts.to_pylist()}
    elif table.num_rows:
        kinds = {"person": table.num_rows}
    text = ", ".join(f"{count:,} of kind {kind}" for kind, count in sorted(kinds.items())) or "none"
    rows = ((c.id, c.protocol or "", " + ".join(c.view), c.note or "") for c in study.cohorts)
    cohorts = ["", *_grid(("cohort", "protocol", "sees", "note"), rows)] if study.cohorts else []
    return _section("Raters", [f"Raters: {text}.", *cohorts])


def _design(study: Study) -> str:
    design = study.design
    lines = [f"`{design.kind}`: {_DESIGNS[design.kind]}."]
    if design.fraction is not None:
        lines.append(f"Fraction asked: {design.fraction:g}.")
    stops = {"fixed": "set beforehand", "until_confidence": "grown until the result looked certain"}
    lines.append(f"The number of answers was {stops[design.stop]}.")
    if design.order_randomized is not None:
        lines.append(f"Left and right were {'' if design.order_randomized else 'not '}randomized.")
    return _section("Design", [*lines, *([escape_md(design.note)] if design.note else [])])


def _missing_data(study: Study) -> str:
    skipped = sum(
        count - study.table(kind).column("skipped").null_count
        for kind, count in study.counts.items()
        if kind in JUDGMENTS and "skipped" in study.table(kind).column_names
    )
    return _section(
        "Missing data",
        [
            "A question a rater could not answer is a row with its reason in `skipped` and no answer; it is never "
            f"counted as an answer, and its number is printed with every result. Skipped here: {skipped:,}. "
            "An optional column that is absent was not recorded."
        ],
    )


def _identity(study: Study) -> str:
    reasons = [f"- revision {revision.number}: {escape_md(revision.reason)}" for revision in study.revisions]
    hash_line = f"Content hash `{study.hash}` (`data:{study.hash[:12]}@r{study.revision}` in signatures)."
    return _section("Identity", [hash_line, "", *reasons, "", f"Written by Salon {salon_version()}."])


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", "", *lines, ""])


def _grid(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    body = [f"| {' | '.join(escape_md(text) for text in row)} |" for row in rows]
    return [f"| {' | '.join(header)} |", "|" + "---|" * len(header), *body]


# -- Markdown ----------------------------------------------------------------------------------------------------------

_ESCAPES = str.maketrans({"\\": "\\\\", "<": "&lt;", "[": "\\[", "|": "\\|"})


def escape_md(text: str) -> str:
    """`text` on one line; invisible characters are shown as such."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line).translate(_ESCAPES)
