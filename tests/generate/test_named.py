"""Generators by the words that name them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from dots import png

from salon.errors import BadValue, InputError
from salon.generate import CallTerms, make_generator, make_generators
from salon.generate.houses import HOUSES
from salon.study import Generator, Prompt


@pytest.mark.parametrize("name", [next(iter(HOUSES)), f"house:{next(iter(HOUSES))}"])
def test_houses_by_name(name):
    found = make_generator(name)
    assert isinstance(found, Generator)
    assert found.name == next(iter(HOUSES))


@pytest.mark.parametrize(("text", "near"), [("atelir", "atelier"), ("house:carnaval", "carnival"), ("foldr", "folder")])
def test_an_unknown_name_gets_the_nearest_and_the_list(text, near):
    with pytest.raises(BadValue) as raised:
        make_generator(text)
    assert f"did you mean {near}" in raised.value.remedy
    assert all(house in raised.value.remedy for house in HOUSES)
    assert "openai:MODEL[@URL]" in raised.value.remedy


@pytest.mark.parametrize("text", ["", "house:", "openai:", "http: ", "folder:", "python:"])
def test_a_kind_needs_the_rest_of_its_name(text):
    with pytest.raises(BadValue):
        make_generator(text)


def test_a_table_of_two_is_two_generators(tmp_path):
    (tmp_path / "x.png").write_bytes(png())
    (tmp_path / "list.csv").write_text("prompt,generator,file\np,one,x.png\np,two,x.png\n")
    text = f"folder:{tmp_path / 'list.csv'}"
    assert [found.name for found in make_generators([text], [Prompt(id="p")])] == ["one", "two"]
    with pytest.raises(BadValue, match="one generator"):
        make_generator(text)


def test_photographs_are_marked(tmp_path):
    (tmp_path / "p.png").write_bytes(png())
    from_camera = make_generator(f"photographs:camera={tmp_path}")
    assert from_camera.name == "camera"


def test_hosted_generators_share_their_terms(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "prices.toml").write_text("[models.painter-1]\nimage = 0.04\n")
    terms = CallTerms(tmp_path / "calls.sqlite", tmp_path / "prices.toml", 2.5)
    one, two = make_generators(["openai:painter-1", "openai:painter-2@http://127.0.0.1:1/v1"], (), terms)
    assert [one.name, two.name] == ["painter-1", "painter-2"]
    assert "http://127.0.0.1:1/v1" in str(two.signature)
    assert (tmp_path / "calls.sqlite").is_file()
    assert terms.options["budget"].money == Decimal("2.5")
    with pytest.raises(BadValue, match="price list"):
        make_generator("openai:painter-1", (), CallTerms(tmp_path / "calls.sqlite", budget=1))
    with pytest.raises(BadValue, match="bought answers"):
        make_generator("openai:painter-1")


def test_ones_own_generator():
    assert make_generator("python:dots:Dots").name == "dots"
    with pytest.raises(BadValue, match="no_such_module"):
        make_generator("python:no_such_module:Thing")
    with pytest.raises(BadValue, match="Nothing"):
        make_generator("python:dots:Nothing")
    with pytest.raises(InputError, match="make"):
        make_generator("python:dots:png")
