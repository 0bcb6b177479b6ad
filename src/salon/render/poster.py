"""A poster: its record and its marks, element by element."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TypeVar

from salon.errors import BadValue
from salon.render.layout import Defect, Element, Layout
from salon.render.marks import Layer, Mark


@dataclass(frozen=True, slots=True)
class Poster:
    """A layout and the layers that draw it: the same ids in the same order, lowest first."""

    layout: Layout
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        ids, layers = [e.id for e in self.layout.elements], [layer.element for layer in self.layers]
        if ids != layers or len(set(ids)) < len(ids):
            raise BadValue("a poster has one layer for each element, in the same order", found=f"{layers} for {ids}")

    def element(self, name: str) -> Element:
        """The element with this id."""
        return self.layout.elements[self._place(name)]

    def layer(self, name: str) -> Layer:
        """The layer of the element with this id."""
        return self.layers[self._place(name)]

    def replace_element(self, element: Element, marks: tuple[Mark, ...] | None = None) -> Poster:
        """With `element` in the place of the one with its id; its marks too, where given."""
        at = self._place(element.id)
        layer = self.layers[at] if marks is None else Layer(element.id, marks)
        return self._with(_put(self.layout.elements, at, element), _put(self.layers, at, layer))

    def add_element(self, element: Element, marks: tuple[Mark, ...], *, below: str | None = None) -> Poster:
        """With one more element, on top or directly below the one named; depths are counted anew."""
        at = len(self.layers) if below is None else self._place(below)
        elements = (*self.layout.elements[:at], element, *self.layout.elements[at:])
        layers = (*self.layers[:at], Layer(element.id, marks), *self.layers[at:])
        return self._with(tuple(e.model_copy(update={"z": z}) for z, e in enumerate(elements)), layers)

    def drop_element(self, name: str) -> Poster:
        """Without the element with this id."""
        at = self._place(name)
        elements = (*self.layout.elements[:at], *self.layout.elements[at + 1 :])
        layers = (*self.layers[:at], *self.layers[at + 1 :])
        return self._with(tuple(e.model_copy(update={"z": z}) for z, e in enumerate(elements)), layers)

    def with_defect(self, defect: Defect) -> Poster:
        """With one more planted defect on record."""
        return replace(self, layout=self.layout.model_copy(update={"defects": (*self.layout.defects, defect)}))

    def _with(self, elements: tuple[Element, ...], layers: tuple[Layer, ...]) -> Poster:
        return Poster(self.layout.model_copy(update={"elements": elements}), layers)

    def _place(self, name: str) -> int:
        for at, layer in enumerate(self.layers):
            if layer.element == name:
                return at
        raise BadValue(f"the poster has no element {name!r}", found=", ".join(layer.element for layer in self.layers))


def layout_json(layout: Layout) -> str:
    """The record as it is written beside the picture: the same bytes for the same poster on every machine."""
    return json.dumps(layout.record(), ensure_ascii=False, indent=1) + "\n"


T = TypeVar("T")


def _put(parts: tuple[T, ...], at: int, part: T) -> tuple[T, ...]:
    return (*parts[:at], part, *parts[at + 1 :])
