"""A public arena over HTTP: from consent to the board, and everything somebody might try against it."""

from __future__ import annotations

import io
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from arena_site import GENERATORS, Visitor, draw_arena, fit, served_arena, solve
from PIL import Image
from postgres import fresh_url

from salon.store import now_ms


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("arena") / "study"
    draw_arena(place)
    return place


@pytest.fixture
def serve(folder, tmp_path):
    """Serve an arena on a database of its own."""
    running = []

    def serving(kind="sqlite", **options):
        context = served_arena(folder, fresh_url(kind, tmp_path), **options)
        running.append(context)
        return context.__enter__()

    yield serving
    for context in running:
        context.__exit__(None, None, None)


def stored(arena):
    return [row for part in arena.database.arena_votes("best") for row in part]


# -- the way through -----------------------------------------------------------------------------------------------


def test_from_consent_to_the_board(serve):
    address, arena = serve()
    visitor = Visitor(address)
    assert "keyed hash" in visitor.http.get("/").text
    assert visitor.http.get("/board").status_code == 200
    assert visitor.http.get("/board.json").status_code == 404
    visitor.enter()
    token, page = visitor.ballot()
    assert "Which poster would you rather hang on your wall?" in page
    assert re.search("A poster for concert number [0-5] at the harbor", page)
    answer = visitor.vote("left")
    assert answer.status_code == 303
    revealed = visitor.http.get(answer.headers["location"]).text
    assert sum(name in revealed for name in GENERATORS) == 2
    row = stored(arena)[0]
    shown = [arena.field.item(number).generator for number in row[3:5]]
    assert f"You chose {shown[0]}" in revealed
    assert row[7] == 0
    for word in ("right", "tie", "both_bad"):
        visitor.vote(word)
    assert [row[7] for row in stored(arena)] == [0, 1, 2, 3]
    board = fit(arena)
    assert board.votes == 4
    assert board.nothing_better == 1
    assert token != visitor.ballot()[0]


def test_the_board_is_served_when_it_was_fitted(serve, monkeypatch):
    monkeypatch.setattr("salon.web.arena.state.BOARD_SECONDS", 0)
    address, arena = serve(least_votes=3)
    for _ in range(4):
        visitor = Visitor(address).enter()
        for _ in range(6):
            visitor.vote("left")
    board = fit(arena)
    said = json.loads(Visitor(address).http.get("/board.json").text)
    assert said["votes"] == board.votes == 24
    assert {place["generator"] for place in said["places"]} | set(said["waiting"]) == set(GENERATORS)
    page = Visitor(address).http.get("/board").text
    for place in board.places:
        assert place.generator in page
    assert "voter" not in said
    assert not [key for key in said if "address" in key]


def test_four_pictures_are_put_in_order(serve):
    address, arena = serve(ballots="fours")
    visitor = Visitor(address).enter()
    assert len(visitor.pictures()) == 4
    for answer in ("3", "24", "4123", "0"):
        assert visitor.vote(answer).status_code == 303
    assert [row[7] for row in stored(arena)] == [3, 24, 4123, 0]
    for answer in ("left", "5", "11", "", "01", "12345", "²"):
        assert visitor.vote(answer).status_code == 422
    assert len(stored(arena)) == 4
    board = fit(arena)
    assert board.counted == 3
    assert board.nothing_better == 1


def test_who_leaves_takes_their_votes_along(serve):
    address, arena = serve()
    visitor, other = Visitor(address).enter(), Visitor(address).enter()
    for who in (visitor, other):
        who.vote()
    cookie = visitor.http.cookies["salon-arena"]
    assert "Votes deleted: 1." in visitor.http.post("/leave").text
    assert len(stored(arena)) == 1
    again = Visitor(address, Cookie=f"salon-arena={cookie}")
    assert again.http.get("/vote").headers["location"] == "/"
    assert again.vote(token="1.x").status_code == 403


def test_a_reload_shows_the_same_ballot(serve):
    address, _arena = serve()
    visitor = Visitor(address).enter()
    first, page = visitor.ballot()
    with ThreadPoolExecutor(4) as pool:
        assert {visitor.ballot()[0] for _ in pool.map(lambda _: None, range(4))} == {first}
    assert visitor.ballot()[1] == page


def test_chances_are_recorded_and_follow_the_design(serve, monkeypatch):
    monkeypatch.setattr("salon.web.arena.state.BOARD_SECONDS", 0)
    address, arena = serve()
    for _ in range(3):
        visitor = Visitor(address).enter()
        for _ in range(5):
            visitor.vote()
    assert {round(row[8], 9) for row in stored(arena)} == {0.1}  # even, before the first fit
    fit(arena)
    visitor = Visitor(address).enter()
    for _ in range(12):
        visitor.vote()
    chances = [row[8] for row in stored(arena)[15:]]
    assert len({round(chance, 6) for chance in chances}) > 1
    assert all(chance >= 0.2 / 10 - 1e-9 for chance in chances)
    assert {round(row[9], 9) for row in stored(arena)} == {0.1}


def test_several_processes_on_postgresql_see_one_arena(folder, tmp_path):
    url = fresh_url("postgresql", tmp_path)
    with served_arena(folder, url) as (one, arena), served_arena(folder, url) as (two, _):
        visitor = Visitor(one).enter()
        token, _ = visitor.ballot()
        other = Visitor(two, Cookie=f"salon-arena={visitor.http.cookies['salon-arena']}")
        assert other.ballot()[0] == token
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: (visitor, other)[n % 2].vote("left", token).status_code, range(16)))
        assert set(answers) == {303}
        assert len(stored(arena)) == 1


# -- attacks -------------------------------------------------------------------------------------------------------


def test_a_ballot_sent_again_changes_nothing(serve):
    address, arena = serve()
    visitor = Visitor(address).enter()
    token, _ = visitor.ballot()
    first = visitor.vote("left", token)
    for word in ("right", "tie", "left"):
        again = visitor.vote(word, token)
        assert again.headers["location"] == first.headers["location"]
    assert [row[7] for row in stored(arena)] == [0]


def test_a_ballot_of_another_voter_is_refused(serve):
    address, arena = serve()
    one, two = Visitor(address).enter(), Visitor(address).enter()
    token, _ = one.ballot()
    two.ballot()
    number, _, mac = token.partition(".")
    own_mac = two.ballot()[0].partition(".")[2]
    for forged in (token, f"{number}.{own_mac}", f"{int(number) + 1}.{mac}", "", "x", f"{number}.", f"-1.{mac}",
                   f"²{number}.{mac}", f"{'9' * 40}.{mac}", f"{number}.é"):  # fmt: skip
        assert two.vote("left", forged or " ").status_code in (404, 422), forged
        assert two.http.get("/reveal", params={"ballot": forged}).status_code in (303, 404)
    assert stored(arena) == []
    for address_ in one.pictures():
        assert one.http.get(address_).status_code == 200
        assert two.http.get(address_).status_code == 404
        assert Visitor(address).http.get(address_).status_code == 403


def test_forged_cookies_are_nobody(serve):
    address, arena = serve()
    cookie = Visitor(address).enter().http.cookies["salon-arena"]
    body, _, signature = cookie.rpartition(".")
    for forged in ("x", "", body, f"{body}.{signature[:-2]}AA", f"x{cookie}", cookie + "x", "a" * 5000):
        visitor = Visitor(address, Cookie=f"salon-arena={forged}")
        assert visitor.http.get("/vote").headers.get("location") == "/", forged
        assert visitor.vote("left", "1.x").status_code == 403
    assert stored(arena) == []


def test_nothing_tells_the_generator_before_the_vote(serve):
    address, _arena = serve(least_votes=1)
    visitor = Visitor(address).enter()
    seen = set()
    for _ in range(6):
        token, _ = visitor.ballot()
        answer = visitor.http.get("/vote")
        said = answer.text + str(answer.headers)
        assert not [name for name in GENERATORS if name in said]
        assert not re.search(r"pictures/|\.png", said)
        early = visitor.http.get("/reveal", params={"ballot": token})
        assert (early.status_code, early.headers["location"]) == (303, "/vote")
        sizes = []
        for picture in visitor.pictures():
            assert picture not in seen  # the same picture has another address on every ballot
            seen.add(picture)
            got = visitor.http.get(picture)
            assert not [name for name in GENERATORS if name.encode() in got.content or name in str(got.headers)]
            assert not {"etag", "last-modified", "content-disposition"} & set(got.headers)
            image = Image.open(io.BytesIO(got.content))
            assert not image.info.get("exif")
            assert "Software" not in image.info
            sizes.append(len(got.content))
        assert all(size % 16384 == 0 for size in sizes)
        visitor.vote()


def test_addresses_of_pictures_cannot_be_guessed(serve):
    address, _ = serve()
    visitor = Visitor(address).enter()
    picture = visitor.pictures()[0]
    number, place, mac = re.fullmatch(r"/p/(\d+)-(\d)-(.{22})\.webp", picture).groups()
    for forged in (f"{number}-1-{mac}", f"{number}-3-{mac}", f"{int(number) + 1}-{place}-{mac}",
                   f"{number}-{place}-{'A' * 22}", "../../study", f"{number}-{place}"):  # fmt: skip
        assert visitor.http.get(f"/p/{forged}.webp").status_code == 404


def test_forms_of_other_sites_are_refused(serve):
    address, arena = serve()
    visitor = Visitor(address).enter()
    token, _ = visitor.ballot()
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        for path, data in (("/vote", {"ballot": token, "answer": "left"}), ("/leave", {}), ("/consent", {})):
            assert visitor.http.post(path, data=data, headers=headers).status_code == 403
    assert (
        visitor.http.post("/vote", data={"ballot": token, "answer": "left"}, headers={"Host": "evil"}).status_code
        == 421
    )
    assert stored(arena) == []
    assert visitor.http.get("/vote").status_code == 200  # still a voter


def test_the_cookie_is_for_this_site_and_no_script(serve):
    address, _ = serve()
    visitor = Visitor(address)
    answer = visitor.http.post("/consent", data=solve(visitor.http.get("/").text))
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_bots_without_a_cookie_get_nowhere(serve):
    address, arena = serve()
    bot = Visitor(address)
    assert bot.http.get("/vote").headers["location"] == "/"
    assert bot.vote("left", "1.x").status_code == 403
    assert bot.http.post("/leave").status_code == 403
    for form in ({}, {"puzzle": "x", "solution": "0"}, {"puzzle": solve(bot.http.get("/").text)["puzzle"]},
                 {"puzzle": solve(bot.http.get("/").text)["puzzle"], "solution": "no"}):  # fmt: skip
        assert bot.http.post("/consent", data=form).status_code == 422
    assert arena.database.voters_since("", 0) == 0


def test_a_solved_puzzle_makes_one_voter(serve):
    address, _ = serve()
    form = solve(Visitor(address).http.get("/").text)
    answers = [Visitor(address).http.post("/consent", data=form).status_code for _ in range(3)]
    assert answers == [303, 403, 403]


def test_puzzles_gathered_while_they_were_easy_are_worth_nothing_later(serve):
    address, _ = serve()
    gathered = [solve(Visitor(address).http.get("/").text) for _ in range(9)]
    answers = [Visitor(address).http.post("/consent", data=form).status_code for form in gathered]
    assert answers[0] == 303
    assert answers[-1] == 422


def test_ten_thousand_cookies_from_one_address(serve):
    address, arena = serve(web={"voters_a_day": 12})
    answers = []
    for _ in range(20):
        visitor = Visitor(address)
        answers.append(visitor.http.post("/consent", data=solve(visitor.http.get("/").text)).status_code)
    assert answers == [303] * 12 + [429] * 8
    bits = int(re.search(r'data-bits="(\d+)"', Visitor(address).http.get("/").text)[1])
    assert bits == 4 + 4  # one more for every doubling of twelve
    assert len(arena.database.voter_addresses()) == 12


def test_votes_of_one_voter_and_of_one_address_are_limited(serve):
    address, arena = serve(web={"votes_a_minute": 5, "votes_an_hour": 8})
    now = now_ms()
    codes = []
    for _ in range(3):
        visitor = Visitor(address).enter()
        codes += [visitor.vote().status_code for _ in range(6)]
    if now // 60_000 == now_ms() // 60_000:  # all in one window
        assert codes.count(303) == 8
        assert codes[:6] == [303] * 5 + [429]
    assert codes.count(303) <= 16
    assert len(stored(arena)) == codes.count(303)


def test_a_vote_that_comes_too_soon_is_refused(serve):
    address, arena = serve(web={"least_seconds": 600.0})
    answer = Visitor(address).enter().vote()
    assert answer.status_code == 425
    assert int(answer.headers["retry-after"]) > 500
    assert stored(arena) == []


def test_second_votes_of_one_place_are_kept_and_not_counted(folder, tmp_path):
    """Whoever deletes the cookie meets the same pictures again; the second vote on them is not counted."""
    study = tmp_path / "two"
    draw_arena(study, prompts=1, generators=("ada", "bo"))
    with served_arena(study, fresh_url("sqlite", tmp_path)) as (address, arena):
        for _ in range(3):
            Visitor(address).enter().vote("left")
        Visitor(address, **{"Accept-Language": "de"}).enter().vote("right")
        assert [row[-1] for row in stored(arena)] == [False, True, True, False]
        assert fit(arena).repeated == 2


def test_raw_addresses_and_cookies_are_nowhere_in_the_database(serve, tmp_path):
    address, arena = serve()
    visitor = Visitor(address, **{"User-Agent": "a browser of mine"}).enter()
    visitor.vote()
    arena.database.backup(tmp_path / "all.db")
    data = (tmp_path / "all.db").read_bytes()
    for secret in ("127.0.0.1", "a browser of mine", visitor.http.cookies["salon-arena"],
                   visitor.http.cookies["salon-arena"].split(".")[0].strip('"')):  # fmt: skip
        assert secret.encode() not in data


def test_a_captcha_of_others_may_load_its_own_scripts(serve, monkeypatch, tmp_path):
    (tmp_path / "my_captcha.py").write_text(
        "from salon.errors import BadValue\n"
        "class Door:\n"
        "    name = 'door'\n"
        "    sources = ('https://door.example.org',)\n"
        "    def widget(self, newcomers):\n"
        "        return '<script src=\"https://door.example.org/x.js\"></script>'\n"
        "    def verify(self, form, newcomers):\n"
        "        if form.get('door') != 'open':\n"
        "            raise BadValue('an open door is needed')\n"
        "        return form['door'] + form.get('n', '')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    address, _ = serve(web={"captcha": "python:my_captcha:Door"})
    visitor = Visitor(address)
    page = visitor.http.get("/")
    assert "https://door.example.org/x.js" in page.text
    assert "script-src 'self' https://door.example.org" in page.headers["content-security-policy"]
    assert visitor.http.post("/consent", data={"door": "shut"}).status_code == 422
    assert visitor.http.post("/consent", data={"door": "open", "n": "1"}).status_code == 303
    assert Visitor(address).http.post("/consent", data={"door": "open", "n": "1"}).status_code == 403


def test_the_board_holds_no_voter(serve, monkeypatch):
    monkeypatch.setattr("salon.web.arena.state.BOARD_SECONDS", 0)
    address, arena = serve()
    for _ in range(3):
        Visitor(address).enter().vote()
    fit(arena)
    text = Visitor(address).http.get("/board.json").text
    for hash in arena.database.voter_addresses().values():
        assert hash not in text


def test_other_addresses_have_nothing(serve):
    address, _ = serve()
    for path in ("/owner", "/api/openapi.json", "/docs", "/i/x.webp", "/p/x", "/arena.db", "/static/../app.py"):
        assert Visitor(address).http.get(path).status_code == 404
    assert Visitor(address).http.get("/healthz").json() == {"ok": True}
