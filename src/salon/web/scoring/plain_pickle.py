"""Plain data out of a pickle, without running anything that the pickle names.

flow_grpo, DiffusionNFT and verl-omni send pickles. `pickle.loads` runs whatever a pickle asks for, so it is not used.
`read_plain_pickle` walks over the opcodes and rebuilds None, booleans, numbers, texts, bytes, lists, tuples and
records. Of all names that a pickle may refer to it knows those by which numpy writes an array, a dtype or a scalar, and
these stand for functions of this file: no name is ever imported. Every other name or opcode is refused.

Arrays come back as lists. Keys of records are texts or whole numbers, so no pickle can make hashing slow; arrays that
are made again and again of the same bytes are refused. So the work is bounded by the size of the pickle.
"""

from __future__ import annotations

import math
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from salon.errors import BadValue

MOST_OPCODES = 1_000_000
_DTYPE = re.compile(r"[<>|=]?(?:[biuf][1248]|f16|b1|[US][0-9]{1,6}|O8?)")
_SIMPLE = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = frozenset(
    [
        "BININT",
        "BININT1",
        "BININT2",
        "LONG1",
        "LONG4",
        "BINFLOAT",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
        "SHORT_BINBYTES",
        "BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
    ]
)
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NUMPY = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): "array" for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): "scalar" for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): "buffer" for core in ("core", "_core")},
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
}
"""The only names: how numpy 1 and 2 write arrays, scalars and dtypes."""


@dataclass(frozen=True)
class _Name:
    """A name of numpy that stands on the stack."""

    kind: str


@dataclass
class _Dtype:
    code: str
    order: str = "="


@dataclass
class _Array:
    """An array; its content comes after it."""

    values: Any = None
    filled: bool = False


def read_plain_pickle(data: bytes) -> Any:
    """The plain data in a pickle of protocol 3 to 5; BadValue for anything else."""
    try:
        return _without_arrays(_Reader(data).run(), {})
    except BadValue:
        raise
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError, AttributeError) as error:
        raise _refusal(f"one that cannot be read ({type(error).__name__})") from None


class _Reader:
    """The stack machine of a pickle, without its power."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bytes_left = len(data) + 1024
        """Bytes that arrays may still be made of."""
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        """The stacks below each mark."""
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        for count, (opcode, arg, _) in enumerate(pickletools.genops(self.data)):
            if count > MOST_OPCODES:
                raise _refusal(f"more than {MOST_OPCODES:,} opcodes")
            if opcode.name == "STOP":
                (value,) = self.stack
                return value
            self.step(opcode.name, arg)
        raise _refusal("one that breaks off")

    def step(self, name: str, arg: Any) -> None:
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name in _VALUES:
            stack.append(bytes(arg) if isinstance(arg, bytearray) else arg)
        elif name in _SIMPLE:
            stack.append(_SIMPLE[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name == "MARK":
            self.below.append(stack)
            self.stack = []
        elif name in _TUPLES:
            values = [stack.pop() for _ in range(_TUPLES[name])]
            stack.append(tuple(reversed(values)))
        elif name == "TUPLE":
            values = self.since_mark()
            self.stack.append(tuple(values))
        elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT"):
            self.memo[len(self.memo) if name == "MEMOIZE" else arg] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self.memo[arg])
        elif name in ("APPEND", "APPENDS"):
            values = [stack.pop()] if name == "APPEND" else self.since_mark()
            self.top(list).extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            values = [stack.pop(-2), stack.pop()] if name == "SETITEM" else self.since_mark()
            _set_items(self.top(dict), values)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            module, attribute = arg.split(" ", 1) if name == "GLOBAL" else (stack.pop(-2), stack.pop())
            stack.append(_known_name(module, attribute))
        elif name == "REDUCE":
            arguments, target = stack.pop(), stack.pop()
            stack.append(self.call(target, arguments))
        elif name == "BUILD":
            state = stack.pop()
            self.fill(stack[-1], state)
        else:
            raise _refusal(f"the opcode {name}")

    def since_mark(self) -> list[Any]:
        values, self.stack = self.stack, self.below.pop()
        return values

    def top(self, kind: type) -> Any:
        target = self.stack[-1]
        if type(target) is not kind:
            raise _refusal(f"values that are put into a {type(target).__name__}")
        return target

    def call(self, target: Any, arguments: Any) -> Any:
        """What a function of numpy would give."""
        if type(target) is not _Name or type(arguments) is not tuple:
            raise _refusal("a call of what is no array")
        if target.kind == "dtype":
            code = arguments[0]
            if type(code) is not str or not _DTYPE.fullmatch(code):
                raise _refusal("a dtype that is not of numbers or texts")
            return _Dtype(code)
        if target.kind == "array":
            if arguments[0] != _Name("ndarray"):
                raise _refusal("an array of another class")
            return _Array()
        if target.kind == "scalar":
            dtype, content = arguments
            return self.decode(dtype, (1,), content, "C")[0]
        if target.kind == "buffer":
            content, dtype, shape, order = arguments
            return _Array(self.decode(dtype, shape, content, order), filled=True)
        raise _refusal("a call of a class")

    def fill(self, target: Any, state: Any) -> None:
        """What `__setstate__` of numpy would do."""
        if type(target) is _Dtype:
            order = state[1]
            if order not in ("<", ">", "|", "=") or any(part is not None for part in state[2:5]):
                raise _refusal("a dtype with fields")
            target.order = order
        elif type(target) is _Array and not target.filled:
            _, shape, dtype, fortran, content = state
            target.values, target.filled = self.decode(dtype, shape, content, "F" if fortran else "C"), True
        else:
            raise _refusal("a state of what is no array")

    def decode(self, dtype: Any, shape: Any, content: Any, order: Any) -> Any:
        """An array as nested lists."""
        if type(dtype) is not _Dtype or order not in ("C", "F") or type(shape) is not tuple or len(shape) > 8:
            raise _refusal("an array without dtype or shape")
        if any(type(side) is not int or side < 0 for side in shape):
            raise _refusal("an array of another shape")
        code = dtype.code.lstrip("<>|=")
        if code.startswith("O"):
            if type(content) is not list or shape != (len(content),):
                raise _refusal("an array of objects that is no list")
            return content
        kind = np.dtype((dtype.order if dtype.order != "|" else "=") + code)
        if type(content) is not bytes or not kind.itemsize or len(content) != math.prod(shape) * kind.itemsize:
            raise _refusal("an array whose bytes do not fit its shape")
        self.bytes_left -= len(content)
        if self.bytes_left < 0:
            raise _refusal("arrays that are larger than the pickle")
        return np.frombuffer(content, kind).reshape(shape, order=order).tolist()


def _set_items(record: dict[Any, Any], pairs: list[Any]) -> None:
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        if type(key) not in (str, int):
            raise _refusal("a record whose keys are no texts")
        record[key] = value


def _known_name(module: Any, attribute: Any) -> _Name:
    kind = _NUMPY.get((module, attribute)) if type(module) is str and type(attribute) is str else None
    if kind is None:
        raise _refusal(f"the name {str(module)[:60]}.{str(attribute)[:60]}")
    return _Name(kind)


def _without_arrays(value: Any, known: dict[int, Any]) -> Any:
    """The same with lists for arrays; each value is looked at once, however often it is referred to."""
    if isinstance(value, _Name | _Dtype):
        raise _refusal("a name where data should be")
    if isinstance(value, _Array):
        if not value.filled:
            raise _refusal("an array without content")
        return _without_arrays(value.values, known)
    if type(value) not in (list, tuple, dict):
        return value
    if id(value) in known:
        return known[id(value)]
    if type(value) is dict:
        record = known[id(value)] = {}
        record.update((key, _without_arrays(entry, known)) for key, entry in value.items())
        return record
    values: list[Any] = []
    known[id(value)] = values
    values.extend(_without_arrays(entry, known) for entry in value)
    return values


def _refusal(found: str) -> BadValue:
    return BadValue(
        "a pickle of plain data is needed: texts, bytes, numbers, lists, records, numpy arrays", found=found,
        remedy="nothing that a pickle names is run here; protocols 3 to 5 are read",
    )  # fmt: skip
