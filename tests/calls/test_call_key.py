"""What a call's key covers, and what it must not."""

from __future__ import annotations

import hashlib

import pytest
from pydantic import ValidationError

from salon.calls import Call, Upload, is_secret

PLAIN = {"url": "https://host/v1/x", "body": {"prompt": "a cat", "n": 1}}


def test_the_key_by_hand() -> None:
    head = (
        b'{"form":1,"method":"POST","url":"https://host/v1/x","headers":[["x-mode","fast"]],"fields":[],"files":[],'
        b'"repeat":2}'
    )
    call = Call(**PLAIN, headers={"X-Mode": "fast"}, repeat=2)
    assert call.key == hashlib.sha256(head + b'\n\n{"prompt":"a cat","n":1}').hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://host/v2/x"},
        {"method": "PUT"},
        {"body": {"prompt": "a dog", "n": 1}},
        {"body": {"n": 1, "prompt": "a cat"}},  # order can matter, inside a schema
        {"body": None},
        {"headers": {"x-mode": "fast"}},
        {"repeat": 1},
        {"body": None, "form": {"prompt": "a cat"}},
        {"body": None, "uploads": (Upload(field="image", data=b"1"),)},
        {"body": None, "uploads": (Upload(field="image", data=b"2"),)},
    ],
)
def test_everything_that_is_sent_changes_the_key(change: dict) -> None:
    assert Call(**PLAIN | change).key != Call(**PLAIN).key


def test_no_two_of_these_share_a_key() -> None:
    data = [{"body": {}}, {"body": None}, {"body": "\n"}, {"body": []}, {"body": None, "form": {"a": "b"}}]
    assert len({Call(**PLAIN | change).key for change in data}) == len(data)


def test_a_filename_and_the_price_do_not() -> None:
    def key(filename: str) -> str:
        upload = Upload(field="image", data=b"1", filename=filename)
        return Call(url="https://host/v1/x", uploads=(upload,)).key

    assert key("a.png") == key("b.png")
    assert Call(**PLAIN, order={"model": "m"}).key == Call(**PLAIN).key


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "apiKey", "X-API-Key", "token", "authToken", "authtoken", "X-Amz-Security-Token", "sig",
     "X-Amz-Signature", "clientSecret", "client_secret", "subscriptionKey", "subscription-key", "sessionToken", "pwd",
     "apikey", "Proxy-Authorization", "Set-Cookie", "credentials", "X-Amz-Credential"],
)  # fmt: skip
def test_names_of_keys_are_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["seed", "monkey", "Accept", "keywords", "tokens", "design", "model", "Content-Type"])
def test_other_names_are_not(name: str) -> None:
    assert not is_secret(name)


def test_a_call_holds_no_secret() -> None:
    with pytest.raises(ValidationError, match="secret"):
        Call(**PLAIN, headers={"Authorization": "Bearer x"})


def test_a_body_or_a_form() -> None:
    with pytest.raises(ValidationError, match="not both"):
        Call(**PLAIN, form={"a": "b"})
