"""Loops as machine code, kept on disk wherever there is a place for them, and made only where they pay."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

_CALL = 100  # elements whose cost is that of a call
TINY = 1_000
"""Elements that a loop handles as it is written in less time than it takes to load machine code."""
FEW = 300_000
"""Elements that numpy handles in less time than that."""


class Loop:
    """A loop that runs as plain Python or numpy while its inputs are small, and as machine code from then on.

    Numba is imported, and the loop compiled (a tenth of a second or more when it is first used on a machine), only once
    more than `small` elements have been given to it in this process. Which of the two runs depends on nothing else, so
    a command that is repeated gives the same digits.
    """

    def __init__(self, loop: Callable[..., Any], small: int, arrays: Callable[..., Any] | None, inline: bool) -> None:
        self.loop, self.inline, self.left = loop, inline, small
        self.plain = loop if arrays is None else arrays
        self._machine: Any = None
        self.__doc__, self.__name__, self.__module__ = loop.__doc__, loop.__name__, loop.__module__

    def __call__(self, *values: Any) -> Any:
        if self._machine is None and self.left > 0:
            self.left -= _elements(values) + _CALL
            if self.left >= 0:
                return self.plain(*values)
        return self.machine(*values)

    @property
    def machine(self) -> Any:
        """The loop compiled by numba, which calls the machine code of the loops that it names."""
        if self._machine is None:
            import numba

            names = self.loop.__globals__ | {
                name: value.machine
                for name in self.loop.__code__.co_names
                if isinstance(value := self.loop.__globals__.get(name), Loop)
            }
            copy = FunctionType(
                self.loop.__code__, names, self.loop.__name__, self.loop.__defaults__, self.loop.__closure__
            )
            copy.__qualname__, copy.__module__ = self.loop.__qualname__, self.loop.__module__
            if self.inline:
                self._machine = numba.njit(inline="always")(copy)
            else:
                try:
                    self._machine = numba.njit(cache=True)(copy)
                except RuntimeError:
                    self._machine = numba.njit(copy)
        return self._machine


def _elements(values: tuple[Any, ...]) -> int:
    """The elements of all arrays."""
    return sum(_elements(value) if isinstance(value, tuple) else getattr(value, "size", 0) for value in values)


def compiled(loop: Callable[..., Any]) -> Any:
    """`loop` compiled by numba when it is first called, and kept for the next process.

    It is kept in NUMBA_CACHE_DIR, else beside the source, else in the user's cache. Where none of these can be written,
    as in a service that may write nothing but its study, every process compiles it anew.

    In a loop `x[a:b] = y` with an array y costs four seconds of compiling, for the sentence numba would say if their
    lengths differed: write element by element. Give it the arrays that it fills: np.zeros, sums and means of arrays
    are compiled anew for every loop.
    """
    return Loop(loop, 0, None, False)


def inlined(loop: Callable[..., Any]) -> Any:
    """`loop` for other loops, written out where they call it."""
    return Loop(loop, 0, None, True)


def compiled_above(small: int, arrays: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Any]:
    """A loop that is compiled once more than `small` elements were given to it.

    Before, `arrays` does the same with numpy, or without it the loop runs as it is written.
    """
    return lambda loop: Loop(loop, small, arrays, False)
