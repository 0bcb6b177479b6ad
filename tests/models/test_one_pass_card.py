"""The card of a one-pass scorer is UTF-8 wherever it is written."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from salon.models import ModelCriterion, OnePassCard, read_one_pass_card, write_one_pass_card
from salon.study import Signature


def test_a_card_is_read_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writer may work in a terminal that knows no letters beyond ASCII."""
    card = OnePassCard(
        name="m", criteria=(ModelCriterion(id="q", name="Schönheit – 美"),), asked={}, show_prompt=True, pixels=64,
        max_tokens=9, backbone="b", backbone_name="b", study="s", data="d", signature=Signature(method="m"),
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(io, "text_encoding", lambda encoding, stacklevel=2: encoding or "ascii")
        write_one_pass_card(tmp_path, card, "Schönheit")
    assert read_one_pass_card(tmp_path) == card
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "Schönheit"
