"""Hostile input to the scoring service: one error shape, no crash, nothing fetched, nothing read beyond its roots."""

from __future__ import annotations

import io
import json
import os
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from scoring_server import Served, b64, png, serving

from salon.errors import BadFile, BadValue
from salon.select import BadPicture
from salon.web.scoring.access import FILE, check_scoring_settings, new_token, read_tokens, revoke_token
from salon.web.scoring.requests import is_plain, read_below, split_form
from salon.web.scoring.settings import ScoringSettings

SHAPE = {"error", "needed", "found", "where", "remedy", "request"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("attacked")
    root = folder / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a.png").write_bytes(png(40))
    (folder / "secret.png").write_bytes(png(90))
    (root / "out.png").symlink_to(folder / "secret.png")
    (root / "up").symlink_to(folder)
    (root / "linked.png").symlink_to(root / "in" / "a.png")
    (root / "circle").symlink_to(root / "circle")
    (root / "text.png").write_text("no picture")
    os.mkfifo(root / "pipe.png")
    limits = {"most_picture": 100_000, "most_pixels": 1_000_000, "most_images": 4, "most_upload": 400_000}
    with serving(folder, ("gray",), roots=(root,), failures_burst=1000, **limits) as made:
        yield made


def refused(answer, *statuses: int) -> dict:
    """The one shape, a 4xx, and no word of the machine."""
    assert answer.status_code in (statuses or (422,)), answer.text
    told = answer.json()
    assert set(told) == SHAPE
    assert "Traceback" not in answer.text
    assert str(Path(__file__).parent) not in answer.text
    assert "x-request-id" in answer.headers
    assert "content-security-policy" in answer.headers
    return told


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be huge."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


ADDRESSES = ["http://169.254.169.254/latest", "https://example.org/a.png", "file:///etc/passwd", "ftp://x",
             "//host/x", "\\\\host\\share\\a.png", "data:text/html;base64,AAAA", "data:image/svg+xml;base64,AAAA", "gopher://x",
             " http://x", "HTTP://X", "jar:file:///x!/y"]  # fmt: skip
PATHS = ["/etc/passwd", "../secret.png", "in/../../secret.png", "out.png", "up/secret.png", "circle", "pipe.png", "in",
         "in/a.png\x00", "in//a.png", "./in/a.png", "C:\\a.png", "\\\\host\\a.png", "http://host/a.png", "file:a.png",
         "in/a.png/", "~/a.png", "nothing.png", "a" * 900, ".", "in\\a.png", "in/a.png\n"]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_is_fetched(served: Served, address: str) -> None:
    with served.client() as client:
        for sent in ({"base64": address}, {"url": address}, {"image_url": {"url": address}}, {"path": address}):
            refused(client.post("/v1/score", json={"images": [sent]}))


def test_one_error_for_every_path_that_is_not_there_for_the_caller(served: Served) -> None:
    with served.client() as client:
        told = {json.dumps(refused(client.post("/v1/score", json={"images": [{"path": path}]})) | {"request": ""})
                for path in PATHS}  # fmt: skip
        good = [client.post("/v1/score", json={"images": [{"path": path}]}) for path in ("in/a.png", "linked.png")]
        text = refused(client.post("/v1/score", json={"images": [{"path": "text.png"}]}))
    assert len(told) == 1
    assert [one.json()["images"][0]["scores"]["gray"]["value"] for one in good] == [40, 40]
    assert text["error"] == "BadPicture"
    assert not any(map(is_plain, ("", "/a", "a/../b", "a\\b", "a:b", "a\x00", "a//b")))


def test_a_link_put_in_the_way_meanwhile_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "p.png").write_bytes(png())
    (tmp_path / "p.png").write_bytes(png(9))
    real = Path.resolve

    def swapped(path: Path, strict: bool = False) -> Path:
        found = real(path, strict)
        if path.name == "p.png" and not (root / "a").is_symlink():
            (root / "a").rename(root / "b")
            (root / "a").symlink_to(tmp_path)
        return found

    monkeypatch.setattr(Path, "resolve", swapped)
    with pytest.raises(BadPicture):
        read_below("a/p.png", (root,), 10**6, "images.0")


def _jpeg(mode: str) -> bytes:
    target = io.BytesIO()
    Image.new("L", (16, 16), 50).convert(mode).save(target, "JPEG")
    return target.getvalue()


def _gif() -> bytes:
    target = io.BytesIO()
    frames = [Image.new("L", (8, 8), 10 + 90 * k) for k in range(3)]
    frames[0].save(target, "GIF", save_all=True, append_images=frames[1:])
    return target.getvalue()


BAD = {
    "bomb": bomb(60_000, 60_000), "wide": bomb(2**31 - 1, 1), "over the limit": bomb(1200, 900), "empty": b"",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>", "html": b"<!doctype html><script>1</script>",
    "truncated": png(50, (200, 200))[:120], "half": png(50, (200, 200))[:-20], "zeros": bytes(5000),
    "too many bytes": png() + bytes(200_000), "pdf": b"%PDF-1.7", "zip": b"PK\x03\x04" + bytes(100),
    "short of its claim": bomb(900, 900), "tiff": b"II*\x00" + bytes(200), "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_pictures_that_are_none(served: Served, name: str) -> None:
    with served.client() as client:
        told = refused(client.post("/v1/score", files=[("images", ("a.png", BAD[name]))]))
        refused(client.post("/v1/score", json={"images": [b64(png()), b64(BAD[name])]}))
        assert client.post("/v1/score", files=[("images", ("a.png", png(70)))]).status_code == 200
    assert told["error"] == "BadPicture"
    assert told["where"] == "images.0"


def test_pictures_that_are_odd_are_seen_by_a_stated_policy(served: Served) -> None:
    odd = {"cmyk": _jpeg("CMYK"), "gif": _gif(), "alpha": png(0, mode="RGBA"), "deep": png(60, mode="I;16")}
    with served.client() as client:
        notes = {name: client.post("/v1/score", files=[("images", ("a", data))]).json()["images"][0]["notes"]
                 for name, data in odd.items()}  # fmt: skip
    assert notes == {"cmyk": ["CMYK became RGB"], "gif": ["the first of 3 frames was taken"], "alpha": [],
                     "deep": ["16 bits became 8"]}  # fmt: skip


BODIES = [b"", b"{", b"[]", b"null", b'"x"', b"NaN", b'{"images": NaN}', b'{"images": {}}', b'{"images": [[]]}',
          b'{"images": [{}]}', b'{"images": [{"base64": 5}]}', b'{"images": [{"base64": "%%%"}]}', b"[" * 100_000,
          b'{"images": [], "extra": 1}', b'{"images": [{"base64": "AAAA", "path": "x"}]}', b"\xff\xfe",
          b'{"images": [{"base64": "AAAA"}], "prompt": "\\ud800"}', b'{"images": [{"base64": "AAAA"}], "prompt": 5}',
          b'{"images": [{"base64": "AAAA"}], "seconds": -1}', b'{"images": [{"base64": "AAAA"}], "seconds": 1e999}',
          b'{"images": [{"base64": "AAAA"}], "criteria": [""]}']  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
@pytest.mark.parametrize("route", ["score", "compare", "pick", "gate", "explain", "feedback"])
def test_bodies_that_do_not_fit(served: Served, route: str, body: bytes) -> None:
    with served.client() as client:
        refused(client.post(f"/v1/{route}", content=body, headers={"content-type": "application/json"}))


@pytest.mark.parametrize(
    "more",
    [{"weights": {"gray": float("nan")}}, {"weights": {"gray": -1}}, {"weights": {"nope": 1}}, {"weights": []},
     {"weights": {"gray": 0}}, {"k": -1}, {"k": 1e400}, {"least": float("nan")}, {"level": 1}, {"criteria": ["x"]}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("route", ["pick", "explain"])
def test_picks_that_cannot_be_made(served: Served, route: str, more: dict) -> None:
    with served.client() as client:
        body = json.dumps({"images": [b64(png())], **more})
        refused(client.post(f"/v1/{route}", content=body, headers={"content-type": "application/json"}))


def test_forms_that_do_not_fit(served: Served) -> None:
    with served.client() as client:
        many = [("images", (f"{k}.png", png(k))) for k in range(5)]
        refused(client.post("/v1/score", files=many))
        refused(client.post("/v1/score", files=[("files", ("a", png()))]))
        refused(client.post("/v1/score", files=[("images", ("a", png()))], data={"other": "x"}))
        refused(client.post("/v1/score", files=[("images", ("a", png()))], data={"request": "{"}))
        refused(client.post("/v1/score", files=[("images", ("a", png()))], data={"request": "[]"}))
        refused(
            client.post("/v1/score", files=[("images", ("a", png()))], data={"request": '{"images": [{"path": "x"}]}'})
        )
        refused(client.post("/v1/score", content=b"x=1", headers={"content-type": "application/x-www-form-urlencoded"}))
        long = client.post("/v1/score", content=bytes(500_000), headers={"content-type": "application/json"})
        huge = client.post("/v1/score", files=[("images", ("a", png()))], data={"prompt": "x" * 30_000})
        name = client.post("/v1/score", files=[("images", ("../../etc/a.png", png()))])
    refused(long, 413)
    refused(huge)
    assert name.json()["images"][0]["name"] == "a.png"


@pytest.mark.parametrize(
    ("kind", "body"),
    [("multipart/form-data", b""), ("multipart/form-data; boundary=", b""), ("multipart/form-data; boundary=x", b""),
     ("multipart/form-data; boundary=x", b"--x"), ("multipart/form-data; boundary=x", b"--x\r\n\r\n--x--"),
     ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\nc\r\n--x--"),
     ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nc\r\n--x'),
     ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nc\r\n--x--rest'),
     ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="\xff"\r\n\r\nc\r\n--x--'),
     ("multipart/form-data; boundary=x", b"--x\r\n" + b"A: b\r\n" * 5000 + b"\r\nc\r\n--x--"),
     (f"multipart/form-data; boundary={'y' * 71}", b"--" + b"y" * 71 + b"--"),
     ("multipart/form-data; boundary=x", b"--x" + b"\r\n--x" * 50 + b"--")],
)  # fmt: skip
def test_forms_that_are_none(kind: str, body: bytes) -> None:
    with pytest.raises(BadValue):
        split_form(kind, body, most=10)


def test_a_form_is_taken_apart_to_the_byte() -> None:
    data = b"\r\n--\r\n--z\r\n\r\n" + bytes(range(256))
    head = (
        b'--x\r\nContent-Disposition: form-data; name="images"; filename="a;b.png"\r\nContent-Type: image/png\r\n\r\n'
    )
    body = head + data + b'\r\n--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nh\xc3\xa4\r\n--x--\r\n'
    one, two = split_form('multipart/form-data; boundary="x"', body, most=2)
    assert (one.name, one.filename, one.data) == ("images", "a;b.png", data)
    assert (two.name, two.filename, two.data) == ("prompt", None, "hä".encode())


# -- doors -------------------------------------------------------------------------------------------------------------


def test_made_up_tokens_are_counted_and_the_right_one_is_kept_hashed(tmp_path: Path) -> None:
    with serving(tmp_path, ("gray",), failures_burst=3) as served, served.client(None) as client:
        kept = (tmp_path / FILE).read_text()
        assert all(token not in kept for token in served.tokens.values())
        assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
        said = [client.get("/v1/models", headers={"Authorization": f"Bearer guess{k}"}).status_code for k in range(5)]
        assert said[:3] == [401] * 3
        assert 429 in said[3:]
        spare = new_token(tmp_path, "spare", ("score",))
        revoke_token(tmp_path, "spare")
        assert [one.name for one in read_tokens(tmp_path)] == ["all", "score", "admin"]
    assert spare not in kept
    (tmp_path / FILE).chmod(0o644)
    with pytest.raises(BadFile, match="only its owner"):
        read_tokens(tmp_path)


@pytest.mark.parametrize("spoilt", ['[{"name": "spoilt"}]', '{"spoilt": 1}', "[1]", "no JSON", 5000 * "["])
def test_a_spoilt_file_of_tokens_lets_nobody_in_and_tells_nobody(served: Served, spoilt: str) -> None:
    whole = (served.folder / FILE).read_text()
    try:
        (served.folder / FILE).write_text(spoilt)
        with served.client(None) as client:
            told = refused(client.get("/v1/models", headers={"Authorization": "Bearer guess"}), 500)
    finally:
        (served.folder / FILE).write_text(whole)
    assert (told["error"], told["found"], told["where"]) == ("Fault", None, None)


def test_tokens_made_and_revoked_at_once_are_all_made_and_revoked(tmp_path: Path) -> None:
    for name in ("old-1", "old-2"):
        new_token(tmp_path, name)
    with ThreadPoolExecutor(8) as threads:
        made = [threads.submit(new_token, tmp_path, f"new-{number}") for number in range(6)]
        gone = [threads.submit(revoke_token, tmp_path, name) for name in ("old-1", "old-2")]
        assert all(one.exception() is None for one in (*made, *gone))
    assert sorted(one.name for one in read_tokens(tmp_path)) == [f"new-{number}" for number in range(6)]


def test_who_sends_too_much_waits(tmp_path: Path) -> None:
    with serving(tmp_path, ("gray",), session_burst=3, session_rate=0.01) as served, served.client() as client:
        said = [client.get("/v1/models") for _ in range(4)]
    assert [one.status_code for one in said] == [200, 200, 200, 429]
    assert int(said[-1].headers["retry-after"]) > 1
    refused(said[-1], 429)


def test_places_are_given_back_whatever_happens(tmp_path: Path) -> None:
    with serving(tmp_path, ("gray",), most_at_once=1, most_upload=5000) as served, served.client() as client:
        for body in (b"{", bytes(6000), json.dumps({"images": [b64(png())]}).encode()):
            client.post("/v1/score", content=body, headers={"content-type": "application/json"})
        assert client.post("/v1/score", files=[("images", ("a", png()))]).status_code == 200
        figures = client.get("/metrics").text
    assert "salon_scoring_requests_under_way 0.0" in figures
    assert "salon_scoring_request_bytes_under_way 0.0" in figures


def test_without_a_token_only_on_this_machine(tmp_path: Path) -> None:
    with serving(tmp_path, ("gray",), no_token=True) as served, served.client(None) as client:
        assert client.post("/v1/score", files=[("images", ("a", png()))]).status_code == 200
        refused(
            client.post("/v1/score", files=[("images", ("a", png()))], headers={"Origin": "http://evil.example"}), 403
        )
    with pytest.raises(BadValue, match="no-token"):
        check_scoring_settings(ScoringSettings(host="0.0.0.0", base_url="https://x.example", no_token=True))
    with pytest.raises(BadValue, match="base-url"):
        check_scoring_settings(ScoringSettings(host="0.0.0.0"))


def test_the_log_tells_no_secret(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with served.client() as client:
        client.post("/v1/score", json={"images": [b64(png())], "prompt": "a very private prompt"})
        client.post("/v1/score", content=b"{", headers={"content-type": "application/json"})
    said = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith(("salon", "uvicorn")))
    assert "private" not in said
    assert all(token not in said for token in served.tokens.values())
