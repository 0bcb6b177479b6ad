"""From a server's answer to a picture: base64, data URL or address in, whole and checked bytes out."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

from salon.calls.address import checked_url, is_local, leads_inside
from salon.calls.answer import Answer, Refusal
from salon.calls.call import Call
from salon.calls.caller import Caller
from salon.errors import BadValue, InputError, shorten
from salon.store.pictures import read_picture
from salon.study.generator import Failed, Made

MODERATION = {"moderation_blocked", "content_policy_violation", "content_filter", "safety_violation"}
_SAFETY = re.compile(r"safety system|content[ _]policy|moderation|content[ _]filter", re.IGNORECASE)
LONGEST_FACT = 4000
_GONE = {"rejected", "redirect", "unusable", "too-large"}
"""Fetching failed in a way that will not pass by itself."""
_KINDS = {"timeout": "timeout", "unusable": "broken-image"}


def decoded(text: str) -> bytes:
    """The bytes in base64 text or in a data URL; ValueError when they are none."""
    if text.startswith("data:"):
        head, _, text = text.partition(",")
        if not head.endswith(";base64"):
            raise ValueError("a data URL that is not base64")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("text that is not base64") from None


def why_broken(data: bytes) -> str | None:
    """What keeps `data` from being a whole picture; None when nothing does."""
    try:
        read_picture(data)
    except InputError as error:
        return f"the picture is broken: {error.found or error.needed}"
    return None


def why_not_a_picture(source: object, *, is_address: bool) -> str | None:
    """What is wrong with base64 text or an address as an answer names them; the address is not fetched here."""
    if not isinstance(source, str) or not source:
        return "the answer holds no picture"
    if is_address and not source.startswith("data:"):
        return None
    try:
        return why_broken(decoded(source))
    except ValueError as error:
        return f"the picture is broken: {error}"


async def fetched(caller: Caller, url: str, answer: Answer) -> bytes | Failed:
    """The picture at the address that `answer` gave: kept like any answer, because such addresses expire.

    Only https and public hosts are followed; a server on this machine may also name this machine. Where the picture
    is gone, the answer is set aside, so that the next run asks for a new one; otherwise the next run fetches it.
    """
    if url.startswith("data:"):
        return decoded(url)
    home = caller.service.base_url
    try:
        checked_url(url)
        if not caller.service.is_home(url) and not (is_local(home) and is_local(url)) and await leads_inside(url):
            raise BadValue("a public address is needed")
    except BadValue as error:
        await caller.set_aside(answer, "its address may not be followed")
        return Failed(reason=f"the server names an address that is not followed: {error.needed}", kind="error")
    found = await caller.ask(Call(url=url, method="GET"), lambda picture: why_broken(picture.body))
    if isinstance(found, Answer):
        return found.body
    if found.kind in _GONE:
        await caller.set_aside(answer, f"its picture could not be fetched: {found.reason}")
    return failed(found)


def made(data: bytes, answer: Answer, facts: dict[str, Any]) -> Made:
    """The picture with what its call cost and what the server told; facts that are None are left out."""
    told = {
        "seconds": round(answer.seconds, 3),
        "attempts": answer.attempts,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "cost": answer.cost,
        "request_id": answer.headers.get("x-request-id"),
    }
    kept = {name: _fact(value) for name, value in (told | facts).items() if value is not None}
    return Made(image=data, facts=kept)


def _fact(value: Any) -> str | int | float | bool:
    """Something a server told, as it can be kept in a record: short, and without parts."""
    if isinstance(value, bool | int | float):
        return value
    return shorten(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), LONGEST_FACT)


def failed(refusal: Refusal) -> Failed:
    """A refusal as the record of a picture that was not made."""
    blocked = refusal.kind == "rejected" and (refusal.code in MODERATION or _SAFETY.search(refusal.reason))
    kind = "refused" if blocked else _KINDS.get(refusal.kind, "error")
    tries = f" (after {refusal.attempts} attempts)" if refusal.attempts > 1 else ""
    return Failed(reason=refusal.reason + tries, kind=kind)
