"""Pickles of strangers: plain data comes out, and nothing that they name is run."""

from __future__ import annotations

import pickle
import pickletools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scoring_server import serving

from salon.errors import BadValue
from salon.web.scoring.plain_pickle import read_plain_pickle


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.call = function, arguments, state

    def __reduce__(self) -> Any:
        function, arguments, state = self.call
        return (function, arguments) if state is None else (function, arguments, state)


def named(module: str, name: str, argument: str) -> bytes:
    """A call of any name with one text, written by hand: the name need not be there."""
    parts = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
    return b"\x80\x04" + parts + b"\x93\x8c" + bytes([len(argument)]) + argument.encode() + b"\x85R."


def gadgets(target: str) -> dict[str, bytes]:
    """Each would write `target`, or read or run something, in `pickle.loads`."""
    touch = f"touch {target}"
    code = f"open({target!r}, 'w').close()"
    array = np.zeros(2)
    state = array.__reduce__()
    text = struct.pack("<I", len(touch)) + touch.encode()
    objects = (1, (1,), np.dtype("O"), False, b"8bytes!!")
    return {
        "os.system": named("os", "system", touch),
        "posix.system": named("posix", "system", touch),
        "subprocess.Popen": named("subprocess", "getoutput", touch),
        "builtins.eval": named("builtins", "eval", code),
        "builtins.exec": named("builtins", "exec", code),
        "builtins.__import__": named("builtins", "__import__", "antigravity"),
        "builtins.getattr": pickle.dumps(Call(getattr, "x", "upper")),
        "builtins.open": named("builtins", "open", "/etc/passwd"),
        "global in text": f"cos\nsystem\n(S'{touch}'\ntR.".encode(),
        "global in protocol 2": b"\x80\x02cposix\nsystem\nX" + text + b"\x85R.",
        "INST": f"(S'{touch}'\nios\nsystem\n.".encode(),
        "OBJ": f"(cos\nsystem\nS'{touch}'\no.".encode(),
        "NEWOBJ": pickle.dumps(Path(target)),
        "runpy": named("runpy", "run_path", target),
        "importlib": named("importlib", "import_module", "this"),
        "numpy testing": named("numpy.testing._private.utils", "runstring", code),
        "numpy load": named("numpy", "load", target),
        "numpy fromfile": named("numpy", "fromfile", "/etc/passwd"),
        "numpy memmap": named("numpy", "memmap", target),
        "dotted name": named("numpy", "ndarray.tofile", target),
        "dotted module": named("numpy._core.multiarray", "_reconstruct.__globals__", target),
        "code": named("marshal", "loads", "x"),
        "persistent id": b"\x80\x04\x8c\x01aQ.",
        "extension": b"\x80\x02\x82\x01.",
        "torch": named("torch", "load", target),
        "functools.partial": named("functools", "partial", "x"),
        "operator.attrgetter": named("operator", "attrgetter", "x"),
        "codecs": pickle.dumps(b"abc", 2),
        "array of another class": pickle.dumps(Call(state[0], np.matrix, (0,), b"b")),
        "state of a list": b"\x80\x04]}b.",
        "state of a name": b"\x80\x04\x8c\x05numpy\x8c\x07ndarray\x93N}\x8c\x01a\x8c\x01bs\x86b.",
        "name as data": b"\x80\x04\x8c\x05numpy\x8c\x07ndarray\x93.",
        "dtype with fields": pickle.dumps(np.zeros(2, [("a", "i4"), ("b", "O")])),
        "huge array": pickle.dumps(Call(state[0], *state[1], state=(1, (1 << 40,), np.dtype("f8"), False, b"x"))),
        "object array of bytes": pickle.dumps(Call(state[0], *state[1], state=objects)),
        "set": pickle.dumps({1, 2}),
        "hash of nested tuples": b"\x80\x04})" + b"\x94h\x00h\x00\x86" + b"Ns.",
        "nothing": b"",
        "broken off": pickle.dumps({"a": "b"})[:-1],
        "no mark": b"\x80\x04t.",
        "empty stack": b"\x80\x04a.",
        "noise": bytes(range(256)),
    }  # fmt: skip


NAMES = list(gadgets("x"))


@pytest.mark.parametrize("name", NAMES)
def test_a_gadget_is_refused_and_does_nothing(tmp_path: Path, name: str) -> None:
    target = tmp_path / "touched"
    with pytest.raises(BadValue, match="plain data"):
        read_plain_pickle(gadgets(str(target))[name])
    assert not target.exists()


def test_the_gadgets_work_where_pickles_are_run(tmp_path: Path) -> None:
    """Otherwise refusing them would prove nothing."""
    for name in ("os.system", "posix.system", "builtins.eval", "global in text", "global in protocol 2", "INST", "OBJ"):
        target = tmp_path / name.replace(" ", "-")
        pickle.loads(gadgets(str(target))[name])
        assert target.exists(), name


def test_the_server_refuses_them_all_and_serves_on(tmp_path: Path) -> None:
    target = tmp_path / "touched"
    (tmp_path / "service").mkdir()
    with serving(tmp_path / "service", ("gray",), speak=("flow-grpo",)) as served, served.client() as client:
        for name, data in gadgets(str(target)).items():
            nested = data if len(data) < 2 or data[0] != 0x80 else data[:2] + b"}\x8c\x06images]" + data[2:-1] + b"as."
            for body in (data, nested):
                answer = client.post("/", content=body)
                assert answer.status_code == 422, name
                assert set(pickle.loads(answer.content)) == {"error"}
        assert client.get("/readyz").status_code == 200
    assert not target.exists()


def test_plain_data_comes_out(tmp_path: Path) -> None:
    texts = np.array(["a", "bü", ""])
    record = {
        "images": [b"abc", b""], "prompts": texts, "scalars": [np.float32(1.5), np.int64(-3), np.str_("hey")],
        "objects": np.array([{"tag": "x", "n": [1, 2]}, None]), "matrix": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "big": 1 << 80, "pair": (1, 2.5), "flags": [True, False, None], "again": texts,
        "endian": np.array([1, 2], ">i4"),
    }  # fmt: skip
    expected = record | {
        "prompts": texts.tolist(), "again": texts.tolist(), "scalars": [1.5, -3, "hey"],
        "objects": record["objects"].tolist(), "matrix": [[0, 1, 2], [3, 4, 5]], "pair": [1, 2.5], "endian": [1, 2],
    }  # fmt: skip
    for protocol in (3, 4, 5):
        assert read_plain_pickle(pickle.dumps(record, protocol)) == expected
        assert read_plain_pickle(pickletools.optimize(pickle.dumps(record, protocol))) == expected


def test_work_is_bounded_by_the_size_of_the_pickle() -> None:
    """A list of a list of ... of the same list; arrays made again and again of the same bytes."""
    wide: Any = ["x"] * 3000
    for _ in range(6):
        wide = [wide] * 3000
    read_plain_pickle(pickle.dumps({"images": wide}))
    circle: list[Any] = []
    circle.append(circle)
    read_plain_pickle(pickle.dumps(circle))
    content, rebuild = bytes(100_000), np.zeros(1).__reduce__()
    arrays = [Call(rebuild[0], *rebuild[1], state=(1, (100_000,), np.dtype("u1"), False, content)) for _ in range(50)]
    with pytest.raises(BadValue, match="larger than the pickle"):
        read_plain_pickle(pickle.dumps(arrays))
