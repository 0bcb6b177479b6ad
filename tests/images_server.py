"""A real HTTP server that speaks the OpenAI images protocol, and misbehaves when told to.

    with ImagesServer() as server:
        server.script["a cat"] = ["429", "ok"]     # what befalls the requests for this prompt, one after the other
        server.always = "slow"                     # what befalls all others
        server.script["a dog"] = ["after 30"]      # answered when 30 requests have come in all
        server.script["a cow"] = ["together 6"]    # answered when 6 requests have been under way at once

`seen` holds every request with its prompt, so a test can count what was really sent.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import struct
import threading
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from email.utils import formatdate
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

from PIL import Image

_PART = re.compile(rb'name="(\w+)"(?:; filename="[^"]*")?(?:\r\n[^\r]+)*\r\n\r\n(.*?)\r\n--', re.DOTALL)
KEY = "sk-test-1234567890"


@dataclass
class Seen:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)
    at: float = 0.0

    @property
    def fields(self) -> dict[str, Any]:
        if self.headers.get("content-type", "").startswith("multipart/"):
            parts = re.findall(
                rb'name="(\w+)"(?:; filename="[^"]*")?(?:\r\n[^\r]+)*\r\n\r\n(.*?)\r\n--', self.body, re.S
            )
            return {name.decode(): value if name == b"image" else value.decode() for name, value in parts}
        return json.loads(self.body) if self.body else {}

    @property
    def prompt(self) -> str:
        return str(self.fields.get("prompt", ""))


def picture(text: str, size: str = "32x32", format: str = "PNG") -> bytes:
    """A small picture whose color depends on `text`."""
    width, height = (int(side) for side in size.split("x")) if "x" in size else (32, 32)
    color = zlib.crc32(text.encode()).to_bytes(4, "big")[:3]
    target = io.BytesIO()
    Image.new("RGB", (width, height), tuple(color)).save(target, format)
    return target.getvalue()


class ImagesServer:
    """Runs on a thread from `with` to its end."""

    def __init__(self, *, slow: float = 5.0, takes: float = 0.0) -> None:
        self.script: dict[str, list[str]] = {}
        self.always = "ok"
        self.seen: list[Seen] = []
        self.slow, self.takes = slow, takes
        self.at_work = self.peak = 0

    @property
    def counts(self) -> Counter[str]:
        """Requests by prompt."""
        return Counter(one.prompt for one in self.seen if one.method == "POST")

    def __enter__(self) -> ImagesServer:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._on_loop(asyncio.start_server(self._connected, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._on_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_loop(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await self._read(reader)) is not None:
                self.seen.append(seen)
                self.at_work += 1
                self.peak = max(self.peak, self.at_work)
                try:
                    await asyncio.sleep(self.takes)
                    go_on = await self._reply(seen, writer)
                finally:
                    self.at_work -= 1
                if not go_on:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Seen | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, path, _ = first.split()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Seen(method, path, headers, body, time.monotonic())

    async def _reply(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        if seen.method == "GET":
            return self._fetched(seen, writer)
        script = self.script.get(seen.prompt)
        what = script.pop(0) if script else self.always
        if what == "slow":
            await asyncio.sleep(self.slow)
            what = "ok"
        if what.startswith("after "):
            while len(self.seen) < int(what[6:]):
                await asyncio.sleep(0.01)
            what = "ok"
        if what.startswith("together "):
            while self.peak < int(what[9:]):
                await asyncio.sleep(0.01)
            what = "ok"
        if what == "reset":
            writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if what == "truncated":
            send(writer, 200, json.dumps(self.answer(seen)).encode(), cut=True)
            await writer.drain()
            return False
        return self._plain_reply(what, seen, writer)

    def _plain_reply(self, what: str, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        number, _, more = what.partition(" ")
        if what == "moderated":
            code = {"code": "moderation_blocked", "message": "rejected by our safety system", "type": "user_error"}
            send(writer, 400, {"error": code})
        elif what == "wrong key" or seen.headers.get("authorization") not in {None, f"Bearer {KEY}"}:
            send(writer, 401, {"error": {"message": f"Incorrect API key: {seen.headers.get('authorization')}"}})
        elif what == "no credit":
            send(writer, 429, {"error": {"code": "insufficient_quota", "message": "no credit"}})
        elif what == "redirect":
            send(writer, 307, {}, location="http://127.0.0.1:9/v1/images/generations")
        elif number.isdigit():
            told = formatdate(time.time() + float(more[5:]), usegmt=True) if more.startswith("date ") else more
            send(writer, int(number), {"error": {"message": "not now"}}, **({"retry-after": told} if more else {}))
        elif what == "not json":
            send(writer, 200, b'{"data": [{"b64')
        elif what == "html":
            send(writer, 200, b"<html>sign in</html>", content_type="text/html")
        elif what == "huge":
            send(writer, 200, b"x" * 3_000_000)
        else:
            send(writer, 200, self.answer(seen, what))
        return True

    def _fetched(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        name = seen.path.removeprefix("/files/")
        if name.startswith("gone"):
            send(writer, 404, {"error": {"message": "expired"}})
        elif name.startswith("busy") and sum(one.path == seen.path for one in self.seen) <= 3:
            send(writer, 503, {"error": {"message": "busy the first three times"}})
        else:
            send(writer, 200, picture(name), content_type="image/png")
        return True

    def answer(self, seen: Seen, what: str = "ok") -> dict[str, Any]:
        """The body of a good answer, or of one whose picture is broken, elsewhere, or missing."""
        fields = seen.fields
        count = int(fields.get("n", 1))
        entries = [self._entry(what, f"{seen.prompt} {place}", fields.get("size", "32x32")) for place in range(count)]
        usage = {"input_tokens": 10, "output_tokens": 100 * count, "total_tokens": 10 + 100 * count}
        return {"created": 1, "data": [] if what == "empty" else entries, "usage": usage}

    def _entry(self, what: str, text: str, size: str) -> dict[str, str]:
        if what.startswith("url "):
            return {"url": what[4:].replace("HERE", f"http://127.0.0.1:{self.port}")}
        data = picture(text, size)
        data = data[: len(data) // 2] if what == "broken image" else b"GIF87a nothing" if what == "no image" else data
        return {"b64_json": base64.b64encode(data).decode(), "revised_prompt": f"{text}, revised"}


def send(writer: asyncio.StreamWriter, status: int, body: Any, *, cut: bool = False, **headers: str) -> None:
    """Write one response; `cut` leaves out the second half of its body."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"content-type": headers.pop("content_type", "application/json"), "x-request-id": "req-1"} | headers
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}", *(f"{k}: {v}" for k, v in told.items())]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (content[: len(content) // 2] if cut else content))
