"""Who gets in: links, cookies, passwords, and pages of other sites."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from doors import BASE, Served, served
from itsdangerous import URLSafeTimedSerializer
from itsdangerous.timed import TimestampSigner

from salon.errors import BadFile
from salon.web import auth
from salon.web.auth import SessionAuth
from salon.web.settings import read_secret


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For tests that leave it as it was."""
    with served(tmp_path_factory.mktemp("auth"), failures_burst=1000) as made:
        yield made


def me(client) -> int:
    return client.get("/api/me").status_code


def test_a_link_lets_its_rater_in_and_leads_home(door: Served) -> None:
    client = door.client()
    assert me(client) == 401
    answer = client.get(f"/enter/{door.zoe}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert client.get("/api/me").json()["rater"] == door.names["zoe"]
    assert door.client().get(f"/enter/{door.owner}").headers["location"] == "/owner"


def test_https_makes_the_cookie_secure_and_bound_to_its_host(tmp_path: Path) -> None:
    with served(tmp_path, base_url="https://studio.example.org") as door:
        answer = door.client().get(f"/enter/{door.zoe}")
    assert answer.headers["set-cookie"].startswith("__Host-salon=")
    assert "; Secure" in answer.headers["set-cookie"]
    assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.parametrize("token", ["x", "a" * 43, "%00", "../..", "' OR 1=1 --", "é" * 30, "a" * 5000])
def test_a_made_up_link_opens_nothing_and_is_not_repeated(shared: Served, token: str) -> None:
    answer = shared.client().get(f"/enter/{token}")
    assert answer.status_code in (401, 404)
    assert "set-cookie" not in answer.headers
    assert len(token) < 10 or token not in answer.text


def test_a_revoked_link_ends_its_sessions_at_once(door: Served) -> None:
    client, script = door.client(door.zoe), door.script(door.zoe)
    assert me(client) == me(script) == 200
    door.studio.database.revoke(door.studio.enter(door.zoe).link)
    assert me(client) == me(script) == 401
    assert door.client().get(f"/enter/{door.zoe}").status_code == 401


def test_a_removed_rater_is_out_and_a_paused_one_is_told_so(door: Served) -> None:
    client = door.client(door.zoe)
    door.studio.pause(door.names["zoe"])
    assert client.get("/api/next").json() == {"step": "finished", "reason": "paused", "completion_code": None}
    door.studio.remove(door.names["zoe"])
    assert me(client) == 401


def _signed(secret: bytes, door: Served, token: str) -> str:
    kind = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    link = door.studio.database.who(token).link
    return URLSafeTimedSerializer(secret, salt="salon session of a link", signer_kwargs=kind).dumps([link, "nonce"])


def test_cookies_that_others_signed_or_that_were_changed_are_worthless(shared: Served) -> None:
    good = _signed(read_secret(shared.folder), shared, shared.zoe)
    flipped = good[:-3] + ("A" if good[-3] != "A" else "B") + good[-2:]
    forged = _signed(b"0" * 32, shared, shared.zoe)
    for value, status in [(good, 200), (flipped, 401), (forged, 401), ("x" * 3000, 401)]:
        client = shared.client()
        client.cookies.set("salon", value)
        assert me(client) == status


@pytest.mark.parametrize(("hours", "token", "status"), [(11, "owner", 200), (13, "owner", 401), (13, "zoe", 200)])
def test_an_old_cookie_that_is_replayed_has_ended(shared: Served, monkeypatch, hours, token, status) -> None:
    real = TimestampSigner.get_timestamp
    with monkeypatch.context() as patch:
        patch.setattr(TimestampSigner, "get_timestamp", lambda self: real(self) - hours * 3600)
        value = _signed(read_secret(shared.folder), shared, getattr(shared, token))
    client = shared.client()
    client.cookies.set("salon", value)
    assert me(client) == status
    monkeypatch.setattr(auth, "now_ms", lambda: int(time.time() * 1000) + 31 * 24 * 3_600_000)
    assert me(client) == 401


@pytest.mark.parametrize(("hours", "token", "status"), [(1, "zoe", 200), (1, "owner", 200), (13, "owner", 401)])
def test_a_clock_that_is_set_back_shows_nobody_out(shared: Served, monkeypatch, hours, token, status) -> None:
    """A cookie of later today is ours all the same; but one of next year would never end."""
    client = shared.client(getattr(shared, token))
    real = TimestampSigner.get_timestamp
    for back, expected in ((hours, status), (31 * 24, 401)):
        monkeypatch.setattr(auth, "now_ms", lambda back=back: int(time.time() - back * 3600) * 1000)
        monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda self, back=back: real(self) - back * 3600)
        assert me(client) == expected


def test_a_cookie_does_not_hold_the_link(shared: Served) -> None:
    client = shared.client(shared.zoe)
    payload = client.cookies["salon"].split(".")[0]
    opened = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    assert shared.zoe.encode() not in opened
    assert shared.zoe not in client.cookies["salon"]
    assert json.loads(opened)[0] == shared.studio.database.who(shared.zoe).link


def test_roles_keep_apart(shared: Served) -> None:
    assert shared.client(shared.zoe).get("/api/owner/progress").status_code == 403
    assert shared.client(shared.owner).get("/api/next").status_code == 403
    assert shared.client(shared.owner).get("/api/owner/progress").status_code == 200


# -- forged forms ---------------------------------------------------------------------------------------------


def test_a_post_needs_the_token_of_its_own_session(door: Served) -> None:
    zoe, max = door.client(door.zoe), door.client(door.max)
    own, others = (client.get("/api/me").json()["csrf"] for client in (zoe, max))
    assert own != others
    for header, status in [({}, 403), ({"X-CSRF-Token": others}, 403), ({"X-CSRF-Token": "é".encode()}, 403)]:
        assert zoe.post("/logout", headers=header).status_code == status
    assert zoe.post("/logout", data={"csrf": others}).status_code == 403
    assert zoe.post("/logout", data={"csrf": own}).status_code == 200
    assert me(zoe) == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:9999"}, 403),
        ({"Origin": "http://localhost:bad"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": BASE}, 200),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
    ],
)
def test_other_sites_cannot_post_even_with_the_token(shared: Served, headers: dict[str, str], status: int) -> None:
    client = shared.client(shared.zoe)
    csrf = client.get("/api/me").json()["csrf"]
    assert client.post("/logout", headers=headers | {"X-CSRF-Token": csrf}).status_code == status


def test_a_script_with_its_token_needs_no_form(shared: Served) -> None:
    assert shared.script(shared.zoe).post("/api/undo").status_code == 409
    assert shared.script("wrong").post("/api/undo").status_code == 401


# -- the owner's password -------------------------------------------------------------------------------------


@pytest.fixture
def with_password(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, password="open sesame") as made:
        yield made


def test_the_password_lets_the_owner_in_until_signing_out(with_password: Served) -> None:
    client = with_password.client()
    assert client.post("/login", data={"password": "open"}).status_code == 401
    assert client.post("/login", data={"password": "open sesame"}).headers["location"] == "/owner"
    kept = client.cookies["salon"]
    csrf = client.get("/api/me").json()["csrf"]
    assert client.post("/logout", headers={"X-CSRF-Token": csrf}).status_code == 200
    client.cookies.set("salon", kept)
    assert me(client) == 401, "a cookie replayed after signing out"


def test_a_rater_may_turn_into_the_owner(with_password: Served) -> None:
    client = with_password.client(with_password.zoe)
    csrf = re.search('name="csrf" value="([0-9a-f]{64})"', client.get("/login").text)[1]
    assert client.post("/login", data={"password": "open sesame", "csrf": csrf}).headers["location"] == "/owner"


def test_no_password_set_costs_as_much_as_a_wrong_one(door: Served, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(PasswordHasher, "verify", lambda self, known, given: asked.append(known) or True)
    assert door.client().post("/login", data={"password": "x"}).status_code == 401
    assert asked, "a hash is always computed"
    assert asked[0].startswith("$argon2id$")


def test_guessing_is_slowed_down_for_passwords_and_links(with_password: Served) -> None:
    client = with_password.client()
    said = [client.post("/login", data={"password": str(k)}).status_code for k in range(12)]
    assert said == [401] * 10 + [429] * 2
    said = [client.get(f"/enter/guess{k}") for k in range(12)]
    assert [answer.status_code for answer in said] == [401] * 10 + [429] * 2
    assert int(said[-1].headers["retry-after"]) >= 1
    other = with_password.client(client=("10.0.0.9", 1))
    assert other.post("/login", data={"password": "open sesame"}).status_code == 303


def test_whoever_shares_an_address_with_a_guesser_still_gets_in(door: Served) -> None:
    guesser = door.client()
    assert {guesser.get(f"/enter/guess{k}").status_code for k in range(30)} == {401, 429}
    assert door.client().get(f"/enter/{door.zoe}").status_code == 303
    assert door.script(door.max).get("/api/me").status_code == 200


def test_a_broken_hash_lets_nobody_in(door: Served) -> None:
    keeper = SessionAuth(door.studio.database, door.app.state.settings, secret=b"x" * 32, password="$argon2id$broken")
    assert not keeper._is_right("")


# -- the secret -----------------------------------------------------------------------------------------------


def test_the_secret_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    first = read_secret(tmp_path)
    path = tmp_path / ".studio" / "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_secret(tmp_path) == first
    path.chmod(0o644)
    with pytest.raises(BadFile, match="only its owner"):
        read_secret(tmp_path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(BadFile, match="32 bytes"):
        read_secret(tmp_path)


def test_tokens_and_secrets_are_in_no_repr(shared: Served) -> None:
    session = shared.app.state.auth.enter(shared.zoe, "here")
    assert shared.zoe not in repr(session)
