"""Whatever bytes arrive, an importer gives a study or one of Salon's own errors, and never a traceback.

Two fuzzers: hypothesis writes hostile tables and records; a byte fuzzer bends a valid file of every kind.
Seeds are fixed and rounds are counted, so that a failure comes back; SALON_FUZZ_ROUNDS=5000 looks longer.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import tempfile
from pathlib import Path

import little_files as little
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from salon.cli.main import run
from salon.errors import SalonError
from salon.store import KINDS, ImportOptions, Policies, import_files, recognize

ROUNDS = int(os.environ.get("SALON_FUZZ_ROUNDS", "60"))
LOOSE = ImportOptions(policies=Policies(duplicates="repeat", missing="drop"))


def try_reading(kind: str, path: Path, options: ImportOptions | None = None) -> bool:
    """True when a study came out; every error but Salon's own passes through and fails the test."""
    try:
        imported = import_files(kind, [path], options)
    except SalonError as error:
        if len(str(error)) > 5_000 or error.exit_code != 2:
            raise AssertionError("an error is short, however long the cell, and leaves with 2") from error
        return False
    assert imported.study.hash
    json.dumps(imported.record(), allow_nan=False)
    return True


def try_recognising(path: Path) -> None:
    with contextlib.suppress(SalonError):
        assert recognize(path) in KINDS


# -- bytes -------------------------------------------------------------------------------------------------------

PIECES = [
    *(
        b"",
        b"\0",
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b'"',
        b"'",
        b",",
        b"\n",
        b"\r",
        b"\t",
        b";",
        b"\\",
    ),
    *(b"{", b"}", b"[", b"]", b":", b"::", b"nan", b"inf", b"-1", b"1e999", b"9" * 40, b"null", b"true", b"[]", b"{}"),
    *(b"A" * 70_000, "é".encode(), "\u202e".encode(), b"=1+1", b"../..", b"\x1f\x8b", b"PAR1", b"# ", b"0", b" "),
]


def bent(content: bytes, rng: random.Random) -> bytes:
    """`content` after one to four small injuries."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at:at] = rng.choice(PIECES)
            case 1:
                del data[at : at + rng.randint(1, 20)]
            case 2 if at < len(data):
                data[at] = rng.randrange(256)
            case 3:
                end = at + rng.randint(1, 60)
                data[at:at] = data[at:end]
            case 4:
                del data[at:]
            case _:
                lines = bytes(data).split(b"\n")
                rng.shuffle(lines)
                data = bytearray(b"\n".join(lines))
    return bytes(data)


@pytest.mark.parametrize(("kind", "name"), little.FILES)
def test_bent_files(tmp_path: Path, kind: str, name: str) -> None:
    content = little.FILES[kind, name]()
    rng = random.Random(f"{kind}/{name}")
    path = tmp_path / name
    read = 0
    for _ in range(ROUNDS):
        path.write_bytes(bent(content, rng))
        read += try_reading(kind, path, LOOSE if rng.random() < 0.5 else None)
        try_recognising(path)
    assert read < ROUNDS, "injuries this large must sometimes be noticed"


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_one_kind_read_as_another(tmp_path: Path, kind: str) -> None:
    for (_, name), content in little.FILES.items():
        path = tmp_path / name
        path.write_bytes(content())
        try_reading(kind, path)


@pytest.mark.parametrize("kind", KINDS)
def test_noise(tmp_path: Path, kind: str) -> None:
    rng = random.Random(kind)
    for size in (1, 3, 50, 3_000):
        path = little.write(tmp_path, "noise.csv", rng.randbytes(size))
        assert not try_reading(kind, path)
        try_recognising(path)


# -- hypothesis --------------------------------------------------------------------------------------------------

HOSTILE = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", " ", "left", "right", "tie", "a", "b", "0", "1", "nan", "inf", "1e999", "-0", '"', "a>b=c", "[1]"]
    ),
    st.integers(-(10**30), 10**30).map(str),
)
NAMES = st.sampled_from(
    [
        "left",
        "right",
        "winner",
        "rater",
        "prompt",
        "item",
        "rating",
        "rank",
        "ranking",
        "criterion",
        "seconds",
        "repeat",
    ]
)
fuzzing = settings(max_examples=ROUNDS, derandomize=True, suppress_health_check=list(HealthCheck))


@fuzzing
@given(
    st.lists(NAMES, min_size=1, max_size=7, unique=True),
    st.lists(st.lists(HOSTILE, min_size=7, max_size=7), max_size=6),
    st.sampled_from(["comparisons", "ratings", "rankings"]),
    st.booleans(),
)
def test_hostile_tables(names: list[str], rows: list[list[str]], kind: str, loose: bool) -> None:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    text = "\n".join(",".join(map(quoted, row[: len(names)])) for row in [names, *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = little.write(Path(folder), "t.csv", text.encode("utf-8", "surrogatepass"))
        try_reading(kind, path, LOOSE if loose else None)
        try_recognising(path)


JSON_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.sampled_from(["left", "a", "x"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
RECORDS = {
    "hpdv2": [little.HPDV2_TRAIN[0], little.HPDV2_TEST[0]],
    "hpdv3": little.HPDV3,
    "imagereward": little.IMAGEREWARD,
    "arena": [*little.ARENA, *little.ARENA_LOG],
    "genai-bench": little.GENAI_BENCH_JUDGE,
    "label-studio": little.LABEL_STUDIO,
    "argilla": little.ARGILLA,
    "comparisons": [{"left": "a", "right": "b", "winner": "left"}],
    "ratings": [{"item": "a", "rating": 1}],
    "rankings": [{"ranking": ["a", "b"]}],
}


def places(value: object) -> list[tuple]:
    """Every path to a value inside a JSON record."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, child in inner for rest in places(child))]


def replaced(value, place: tuple, new):
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


@fuzzing
@given(st.data(), st.sampled_from(sorted(RECORDS)))
def test_hostile_records(data: st.DataObject, kind: str) -> None:
    records = list(RECORDS[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(records) - 1))
        place = data.draw(st.sampled_from(places(records[number])))
        records[number] = replaced(records[number], place, data.draw(JSON_VALUES))
    with tempfile.TemporaryDirectory() as folder:
        path = little.write(Path(folder), "r.json", json.dumps(records))
        try_reading(kind, path, LOOSE)
        try_recognising(path)


# -- through the door --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), list(little.FILES)[::3])
def test_no_traceback_reaches_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, name: str) -> None:
    content = little.FILES[kind, name]()
    rng = random.Random(name)
    for number in range(8):
        path = tmp_path / name
        path.write_bytes(bent(content, rng))
        output = tmp_path / f"study-{number}"
        with pytest.raises(SystemExit) as left:
            run(["import", kind, str(path), "-o", str(output), "--json"])
        printed = capsys.readouterr()
        assert left.value.code in (0, 2)
        assert "Traceback" not in printed.out + printed.err
        assert output.exists() == (left.value.code == 0)
        assert len(json.loads(printed.out)) > 1
    assert {entry.name for entry in tmp_path.iterdir()} <= {name, *(f"study-{number}" for number in range(8))}
