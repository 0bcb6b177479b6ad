"""What importing is like where an optional part of Salon is not installed."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

import pytest

from salon.errors import MissingExtra


def remove_modules(monkeypatch: pytest.MonkeyPatch, extra: str, *modules: str) -> None:
    """Let `modules` raise MissingExtra when they are imported, until the test ends."""

    class Refusing:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            if name in modules:
                raise MissingExtra(extra)
            return None

    for name in modules:
        monkeypatch.delitem(sys.modules, name, raising=False)
        package, _, module = name.rpartition(".")
        while package:  # front pages keep names that were used before
            for key, value in list(vars(sys.modules[package]).items()) if package in sys.modules else ():
                if key == module or getattr(value, "__module__", None) == name:
                    monkeypatch.delattr(sys.modules[package], key)
            package, _, module = package.rpartition(".")
    monkeypatch.setattr(sys, "meta_path", [Refusing, *sys.meta_path])
