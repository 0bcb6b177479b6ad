"""Small networks written down as ONNX, for a runtime that executes them faster than torch does on a CPU.

The format is a protobuf; what is needed of it is little enough to be written here, so that no exporter has to be
installed. Field numbers are those of onnx.proto, of which nothing newer than version 7 is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_FLOAT = 1
_IR, _OPERATORS = 8, 13
"""Versions of the format and of its operators."""


class OnnxGraph:
    """A network in the making: values are known by name, and each operator gives the name of its result."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def tensor(self, values: np.ndarray) -> str:
        """Fixed numbers: weights, biases, limits."""
        name = f"t{len(self._tensors)}"
        values = np.ascontiguousarray(values, "<f4")
        sizes = b"".join(_number(1, size) for size in values.shape)
        self._tensors.append(sizes + _number(2, _FLOAT) + _text(8, name) + _block(9, values.tobytes()))
        return name

    def add(self, operator: str, *inputs: str, **attributes: int | Sequence[int]) -> str:
        """An operator applied to values; attributes are whole numbers or lists of them."""
        name = f"v{len(self._nodes)}"
        node = b"".join(_text(1, one) for one in inputs) + _text(2, name) + _text(4, operator)
        self._nodes.append(node + b"".join(_block(5, _attribute(*one)) for one in attributes.items()))
        return name

    def model(self, inputs: dict[str, Sequence[int]], outputs: dict[str, Sequence[int]]) -> bytes:
        """The whole as a file holds it; shapes of what goes in and comes out are stated."""
        parts = [_block(1, node) for node in self._nodes] + [_text(2, "network")]
        parts += [_block(5, tensor) for tensor in self._tensors]
        parts += [_block(11, _value(*one)) for one in inputs.items()]
        parts += [_block(12, _value(*one)) for one in outputs.items()]
        operators = _text(1, "") + _number(2, _OPERATORS)
        return _number(1, _IR) + _block(7, b"".join(parts)) + _block(8, operators)


def _attribute(name: str, value: int | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, 7)


def _value(name: str, shape: Sequence[int]) -> bytes:
    sizes = b"".join(_block(1, _number(1, size)) for size in shape)
    return _text(1, name) + _block(2, _block(1, _number(1, _FLOAT) + _block(2, sizes)))


# -- protobuf ---------------------------------------------------------------------------------------------------------


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, text: str) -> bytes:
    return _block(field, text.encode())


def _block(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Seven bits at a time, the lowest first; the eighth says that more follow."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
