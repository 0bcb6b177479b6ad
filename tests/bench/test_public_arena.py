"""A public arena without its pages: ballots, duels, the board, anomalies, and the release, on known scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from salon.bench import (
    ArenaField,
    BoardFitter,
    PublicArenaSettings,
    VoteReader,
    draw_ballot,
    open_public_arena,
    read_answer,
    read_design,
    release_votes,
    write_release,
)
from salon.bench.arena_covariates import Covariates
from salon.bench.public_arena.ballots import arena_field, design_record
from salon.bench.public_arena.live_board import fit_live_board
from salon.bench.public_arena.style import measure_styles, record_styles
from salon.bench.public_arena.votes import ArenaVotes, arena_duels, votes_of_rows
from salon.errors import BadFile, BadValue, NotIdentified
from salon.stats import PairPosterior, fit_rankings, pair_chances
from salon.store import open_study, save_study
from salon.study import Criterion, Item, Prompt, Study

NAMES = ("ada", "bo", "cy", "di", "eve", "fay")
SCORES = np.array([1.0, 0.6, 0.2, -0.2, -0.6, -1.0])
MINUTE = 60_000


BEST = Criterion(id="best")


def study(prompts=10, names=NAMES, criteria=(BEST,)):
    items = [
        Item(id=f"p{p}-{g}", prompt=f"p{p}", generator=g, image=f"{p}{g}.png") for p in range(prompts) for g in names
    ]
    asked = [Prompt(id=f"p{p}", text=f"poster {p}") for p in range(prompts)]
    return Study.build("arena", criteria, tables={"prompts": asked, "items": items})


def field_of(study: Study) -> ArenaField:
    numbers = {item.id: at + 1 for at, item in enumerate(study.nouns("items"))}
    return arena_field(study, study.criteria[0], numbers)


@pytest.fixture(scope="module")
def field():
    return field_of(study())


def votes_of(field, n, rng, *, voters=60, scores=SCORES, fours=False, chance=None):
    """Honest votes; of four, whole orders."""
    size = 4 if fours else 2
    members = np.array([rng.permutation(len(scores))[:size] for _ in range(n)])
    shown = np.full((n, 4), -1, np.int64)
    shown[:, :size] = rng.integers(len(field.prompts), size=n)[:, None] * len(scores) + members + 1
    heard = scores[members] + rng.gumbel(size=members.shape)
    order = np.argsort(-heard, axis=1) + 1
    answer = (order * 10 ** np.arange(size)[::-1]).sum(axis=1) if fours else order[:, 0] - 1
    return ArenaVotes(
        number=np.arange(n), voter=rng.integers(voters, size=n), at=rng.integers(10**9, size=n), shown=shown,
        answer=answer, chance=np.full(n, 1 / 15) if chance is None else chance, even=np.full(n, 1 / 15),
        seconds=np.full(n, 3.0), repeated=np.zeros(n, bool),
    )  # fmt: skip


def joined(*parts):
    """Several as one, numbered anew."""
    both = ArenaVotes(*(np.concatenate([getattr(part, f) for part in parts]) for f in ArenaVotes.__dataclass_fields__))
    return replace(both, number=np.arange(len(both)))


def board_of(votes, field, **settings):
    rules = PublicArenaSettings(**{"least_votes": 1} | settings)
    return fit_live_board(replace(votes, number=np.arange(len(votes))), field, rules, at=0)


def scores_of(places):
    return np.array([next(place.score.value for place in places if place.generator == name) for name in NAMES])


# -- ballots ---------------------------------------------------------------------------------------------------------


def test_ballots_are_dealt_by_their_recorded_chances(field):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    chances = pair_chances(PairPosterior(SCORES, root @ root.T), field.possible, random=0.2)
    settings = PublicArenaSettings()
    met, firsts = Counter(), 0
    for _ in range(6000):
        ballot = draw_ballot(field, chances, settings, rng=rng)
        left, right = (field.generator[field.place[number]] for number in ballot.items)
        prompts = {field.prompt[field.place[number]] for number in ballot.items}
        assert len(prompts) == 1
        assert ballot.chance == pytest.approx(chances[left, right])
        assert ballot.even == pytest.approx(1 / 15)
        met[min(left, right), max(left, right)] += 1
        firsts += left < right
    assert max(abs(met[pair] / 6000 - chances[pair]) for pair in zip(*np.triu_indices(6, 1))) < 0.02
    assert abs(firsts / 6000 - 0.5) < 0.03


def test_a_set_of_four_is_dealt_as_often_as_its_chance_says(field):
    """By definition: the chance of a set is the mean chance of its pairs, times a constant of the design."""
    rng = np.random.default_rng(1)
    chances = pair_chances(PairPosterior(SCORES, np.diag([4.0, 1, 1, 1, 1, 0.2])), field.possible, random=0.2)
    settings = PublicArenaSettings(ballots="fours")
    met, said = Counter(), {}
    for _ in range(8000):
        ballot = draw_ballot(field, chances, settings, rng=rng)
        members = frozenset(int(field.generator[field.place[number]]) for number in ballot.items)
        assert len(members) == 4
        met[members] += 1
        said[members] = ballot.chance * 6 / 6  # six pairs over C(4, 2) = 6 ways to choose the others
    assert sum(said.values()) == pytest.approx(1, abs=1e-9)
    assert max(abs(met[members] / 8000 - said[members]) for members in met) < 0.02


def test_a_voter_does_not_see_the_same_pictures_again(field):
    rng = np.random.default_rng(2)
    seen = set()
    chances = pair_chances(None, field.possible, random=1)
    for _ in range(40):
        ballot = draw_ballot(field, chances, PublicArenaSettings(), seen=seen, rng=rng)
        assert frozenset(ballot.items) not in seen
        seen.add(frozenset(ballot.items))


def test_a_design_of_other_generators_is_not_followed(field):
    root = np.diag([3.0, 1, 1, 1, 1, 1])
    record = design_record(field, PairPosterior(SCORES, root), 0.2)
    assert read_design(record, field, 0.2)[0].sum() > 0.4
    more = field_of(study(names=(*NAMES, "gus")))
    assert read_design(record, more, 0.2)[more.possible] == pytest.approx(1 / 21)
    assert read_design(None, field, 0.2)[field.possible] == pytest.approx(1 / 15)


def test_what_cannot_be_compared_is_refused_before_anybody_is_asked():
    with pytest.raises(NotIdentified, match="two generators"):
        field_of(study(names=("ada",)))
    apart = [Item(id=g, prompt=f"p{g}", generator=g, image="x.png") for g in ("a", "b")]
    asked = [Prompt(id=f"p{g}", text="x") for g in ("a", "b")]
    with pytest.raises(NotIdentified, match="same prompt"):
        field_of(Study.build("x", [Criterion(id="best")], tables={"prompts": asked, "items": apart}))
    with pytest.raises(NotIdentified, match="pictures"):
        field_of(Study.build("x", [Criterion(id="best")], tables={"prompts": asked, "items": [Item(id="a")]}))


# -- answers and duels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "pictures", "answer"), [
    ("left", 2, 0), ("right", 2, 1), ("tie", 2, 2), ("both_bad", 2, 3), ("3", 4, 3), ("3142", 4, 3142), ("0", 4, 0),
])  # fmt: skip
def test_answers_in_words(word, pictures, answer):
    assert read_answer(word, pictures) == answer


@pytest.mark.parametrize(("word", "pictures"), [("", 2), ("0", 2), ("left", 4), ("", 4), ("11", 4), ("5", 4), ("10", 4),
                                                ("00", 4), ("12345", 4), ("²", 4), ("-1", 4)])  # fmt: skip
def test_answers_that_are_none(word, pictures):
    with pytest.raises(BadValue):
        read_answer(word, pictures)


def test_duels_by_hand(field):
    rows = [
        (1, 7, 0, 1, 2, None, None, 0, 0.1, 0.1, 1.0, False),  # left
        (2, 7, 0, 3, 4, None, None, 2, 0.1, 0.1, 1.0, False),  # tie
        (3, 7, 0, 1, 3, None, None, 3, 0.1, 0.1, 1.0, False),  # both bad
        (4, 8, 0, 1, 2, 3, 4, 3, 0.1, 0.1, 1.0, False),  # the third is best
        (5, 8, 0, 1, 2, 3, 4, 214, 0.1, 0.1, 1.0, False),  # second, first, fourth
        (6, 8, 0, 1, 2, 3, 4, 0, 0.1, 0.1, 1.0, False),  # all bad
        (7, 8, 0, 1, 999, None, None, 0, 0.1, 0.1, 1.0, False),  # a picture that is gone
    ]
    duels = arena_duels(votes_of_rows(rows), field)
    said = {(v, a + 1, b + 1, o, s, bool(free)) for v, a, b, o, s, free in zip(
        duels.vote, duels.a, duels.b, duels.outcome, duels.side, duels.alone)}  # fmt: skip
    assert said == {
        (0, 1, 2, 0, 1, True), (1, 3, 4, 2, 1, True),
        (3, 3, 1, 0, 0, False), (3, 3, 2, 0, 0, False), (3, 3, 4, 0, 0, True),
        (4, 2, 1, 0, 0, True), (4, 2, 3, 0, 0, False), (4, 2, 4, 0, 0, False), (4, 1, 3, 0, 0, False),
        (4, 1, 4, 0, 0, False), (4, 4, 3, 0, 0, True),
    }  # fmt: skip


# -- the board ---------------------------------------------------------------------------------------------------------


def test_scores_are_recovered_and_intervals_hold(field):
    inside = []
    for seed in range(20):
        board = board_of(votes_of(field, 1500, np.random.default_rng(seed)), field).board
        for name, truth in zip(NAMES, SCORES):
            score = next(place.score for place in board.places if place.generator == name)
            inside.append(score.low <= truth <= score.high)
    assert np.mean(inside) > 0.88


@pytest.mark.parametrize("picked", [1, 2, 4])
def test_fours_give_the_same_scores_as_pairs_whether_picked_or_ranked(field, picked):
    """A pick, a top two or a whole order are all consistent; a whole order agrees with Plackett-Luce itself."""
    votes = votes_of(field, 6000, np.random.default_rng(3), fours=True, voters=400)
    votes = replace(votes, answer=votes.answer // 10 ** (4 - picked), even=np.ones(6000), chance=np.ones(6000))
    scores = scores_of(board_of(votes, field, prior=100.0).board.places)
    assert scores == pytest.approx(SCORES, abs=0.12)
    if picked == 4:
        members = (votes.shown - 1) % 6
        order = np.array([[int(digit) - 1 for digit in str(answer)] for answer in votes.answer])
        ranked = np.take_along_axis(members, order, axis=1)
        plackett = fit_rankings(np.arange(0, 24_001, 4), ranked.ravel(), np.tile([1, 2, 3, 4], 6000), 6).scores
        assert scores == pytest.approx(plackett, abs=0.05)


def test_voters_who_repeat_themselves_widen_the_intervals(field):
    votes = votes_of(field, 1200, np.random.default_rng(4), voters=1200)
    lonely = board_of(votes, field).board.places[0].score
    many = replace(votes, voter=votes.voter % 1200 // 2)
    copies = joined(many, many)
    doubled = board_of(copies, field).board.places[0].score
    assert doubled.high - doubled.low == pytest.approx(lonely.high - lonely.low, rel=0.25)  # not shorter by sqrt(2)


def test_renaming_and_turning_change_nothing(field):
    votes = votes_of(field, 900, np.random.default_rng(5))
    turned = replace(votes, shown=votes.shown[:, [1, 0, 2, 3]], answer=1 - votes.answer, voter=999 - votes.voter)
    one, two = (scores_of(board_of(part, field).board.places) for part in (votes, turned))
    assert one == pytest.approx(two, abs=1e-9)


def test_weights_undo_the_design(field):
    """Half of all ballots go to one pair; with weights the board is that of even dealing."""
    rng = np.random.default_rng(6)
    votes = votes_of(field, 3000, rng)
    extra = votes_of(field, 3000, rng)
    members = np.where((extra.shown[:, :2] - 1) % 6 >= 0, (extra.shown[:, :2] - 1) // 6 * 6, 0)
    shown = extra.shown.copy()
    shown[:, :2] = members[:, [0]] + np.array([[1, 6]])  # ada against fay, whom all know to be worse; here it won
    extra = replace(extra, shown=shown, answer=rng.integers(2, size=3000))
    both = joined(votes, extra)
    pair = np.isin((both.shown[:, :2] - 1) % 6, [0, 5]).all(axis=1)
    both = replace(both, chance=np.where(pair, pair.mean(), (1 - pair.mean()) / 14))
    unweighted = scores_of(board_of(both, field, even=False, exclude="nobody").board.places)
    weighted = scores_of(board_of(both, field, exclude="nobody").board.places)
    assert np.abs(weighted - SCORES).max() < np.abs(unweighted - SCORES).max() / 2


def test_rows_need_votes(field):
    votes = votes_of(field, 300, np.random.default_rng(7))
    rare = ((votes.shown[:, :2] - 1) % 6 != 5).all(axis=1) | (np.arange(300) < 30)
    board = board_of(votes.among(rare), field, least_votes=40).board
    assert board.waiting == ("fay",)
    assert {place.generator for place in board.places} == set(NAMES[:-1])
    assert board.places[0].rank_high <= 6


def test_a_voter_may_not_weigh_more_than_is_allowed(field):
    votes = votes_of(field, 1000, np.random.default_rng(8), voters=100)
    loud = votes_of(field, 1000, np.random.default_rng(9), scores=-SCORES)
    loud = replace(loud, voter=np.full(1000, 500))
    both = joined(votes, loud)
    free = scores_of(board_of(both, field, exclude="nobody").board.places)
    bound = scores_of(board_of(both, field, exclude="nobody", most_weight=20).board.places)
    assert np.abs(free).max() < 0.3
    assert bound[0] - bound[-1] > 1.5


def test_style_is_adjusted_for_and_waits_until_votes_tell(field):
    rng = np.random.default_rng(10)
    bright = rng.normal(size=60)
    votes = votes_of(field, 4000, rng)
    d = SCORES[(votes.shown[:, 0] - 1) % 6] - SCORES[(votes.shown[:, 1] - 1) % 6]
    d = d + 0.8 * (bright[votes.shown[:, 0] - 1] - bright[votes.shown[:, 1] - 1]) / bright.std()
    votes = replace(votes, answer=(rng.random(4000) > 1 / (1 + np.exp(-d))).astype(int))
    covariates = Covariates({"brightness": bright}, {"brightness": float(bright.std())}, True, {})
    rules = PublicArenaSettings(least_votes=1, exclude="nobody")
    board = fit_live_board(votes, field, rules, covariates=covariates, at=0).board
    assert [effect.covariate for effect in board.effects] == ["brightness", "position"]
    assert board.effects[0].beta.low < 0.8 < board.effects[0].beta.high
    assert scores_of(board.places) == pytest.approx(SCORES, abs=0.2)
    early = fit_live_board(votes.among(np.arange(2)), field, rules, covariates=covariates, at=0).board
    assert "not adjusted" in early.notes[0] or "No board yet" in early.notes[-1]


def test_nobody_voted_yet(field):
    result = board_of(votes_of_rows([]), field)
    assert result.board.places == ()
    assert "No board yet" in result.board.notes[0]
    assert read_design(result.design, field, 0.2)[field.possible] == pytest.approx(1 / 15)


def test_attackers_are_set_aside_and_both_boards_shown(field):
    rng = np.random.default_rng(11)
    votes = votes_of(field, 6000, rng, voters=100)
    liars = votes_of(field, 1200, rng)
    members = (liars.shown[:, :2] - 1) % 6
    answer = np.where(members[:, 0] == 5, 0, np.where(members[:, 1] == 5, 1, liars.answer))
    liars = replace(liars, voter=1000 + np.arange(1200) % 6, answer=answer)
    both = joined(votes, liars)
    result = board_of(both, field, window_minutes=10**5)
    assert {voter.voter for voter in result.anomalies.voters} >= set(range(1000, 1006))
    assert {voter.follows for voter in result.anomalies.voters if voter.voter >= 1000} == {"fay"}
    assert result.board.set_aside >= 1200
    truth = scores_of(board_of(votes, field, exclude="nobody").board.places)
    assert abs(scores_of(result.board.places)[5] - truth[5]) < 0.1
    assert scores_of(result.board.everyone)[5] - truth[5] > 0.2
    everybody = board_of(both, field, exclude="nobody").board
    assert everybody.set_aside == 0
    assert everybody.flagged_voters >= 6
    assert scores_of(everybody.places) == pytest.approx(scores_of(everybody.everyone))


def test_voters_of_one_address_are_tested_together(field):
    rng = np.random.default_rng(12)
    votes = votes_of(field, 4000, rng, voters=100)
    liars = votes_of(field, 600, rng)
    members = (liars.shown[:, :2] - 1) % 6
    answer = np.where(members[:, 0] == 5, 0, np.where(members[:, 1] == 5, 1, liars.answer))
    liars = replace(liars, voter=1000 + np.arange(600) // 10, answer=answer)  # ten votes each
    both = joined(votes, liars)
    addresses = {voter: f"home {voter}" for voter in range(100)} | {1000 + n: f"office {n // 30}" for n in range(60)}
    rules = PublicArenaSettings(least_votes=1, window_minutes=10**5)
    found = fit_live_board(both, field, rules, addresses=addresses, at=0).anomalies
    assert {voter.voter for voter in found.voters if voter.by == "address"} >= set(range(1000, 1060))
    alone = fit_live_board(both, field, rules, at=0).anomalies
    assert len(alone.voters) < 10


# -- the database, the release, styles ---------------------------------------------------------------------------------


@pytest.fixture
def arena(tmp_path):
    from PIL import Image

    folder = tmp_path / "study"
    save_study(study(prompts=3), folder)
    rng = np.random.default_rng(0)
    for item in study(prompts=3).nouns("items"):
        Image.fromarray(rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)).save(folder / item.image)
    with open_public_arena(folder, None, PublicArenaSettings(least_votes=1), create=True) as opened:
        yield opened


def cast(arena, votes, *, voters=4, fours=False, seed=0):
    rng = np.random.default_rng(seed)
    database = arena.database
    numbers = [
        database.admit_voter(f"k{seed}{n}", address=f"a{n}", device="d", puzzle=f"p{seed}{n}", limits=())
        for n in range(voters)
    ]
    chances = pair_chances(None, arena.field.possible, random=1)
    settings = PublicArenaSettings(ballots="fours" if fours else "pairs")
    for n in range(votes):
        ballot = database.deal(numbers[n % voters], draw_ballot(arena.field, chances, settings, rng=rng))
        answer = int(rng.choice([0, 3, 42, 1324])) if fours else int(rng.integers(4))
        database.cast(ballot, answer, mark=f"{seed} {n}")
    return numbers


def test_the_reader_follows_new_deleted_and_late_votes(arena):
    reader = VoteReader(arena.database, "best")
    assert len(reader.read()) == 0
    numbers = cast(arena, 12)
    assert reader.read().number.tolist() == list(range(1, 13))
    cast(arena, 5, seed=1)
    assert len(reader.read()) == 17
    arena.database.withdraw_voter(numbers[0])
    votes = reader.read()
    assert len(votes) == 14
    assert numbers[0] not in votes.voter
    assert VoteReader(arena.database, "best").read().number.tolist() == votes.number.tolist()


def test_a_board_is_fitted_where_votes_came_in(arena):
    fitter = BoardFitter(arena)
    assert fitter.refit().votes == 0
    assert fitter.refit() is None
    cast(arena, 20)
    assert fitter.refit().votes == 20
    assert arena.database.newest_board("best").record.startswith("{")


def test_a_release_opens_again_and_names_nobody(arena, tmp_path, capsys):
    numbers = cast(arena, 40)
    cast(arena, 12, fours=True, seed=1)
    votes = VoteReader(arena.database, "best").read()
    releases = []
    for form, seed in (("huggingface", 1), ("csv", 2)):
        release = release_votes(arena, votes, None, seed=seed)
        write_release(release, tmp_path / form, form=form)
        releases.append(release)
        again = open_study(tmp_path / form)
        assert again.counts["comparisons"] == 40
        assert again.counts["rankings"] == 12 - int((votes.answer[votes.shown[:, 2] >= 0] == 0).sum())
        assert again.design.adaptive
        outcomes = Counter(comparison.outcome for comparison in again.nouns("comparisons"))
        words = {0: "a", 1: "b", 2: "tie", 3: "both_bad"}
        assert outcomes == Counter(words[answer] for answer in votes.answer[votes.shown[:, 2] < 0].tolist())
        texts = [path.read_bytes() for path in (tmp_path / form).rglob("*") if path.is_file()]
        for secret in (b"k00", b"a0", b"p00"):
            assert not [text for text in texts if b'"' + secret + b'"' in text]
    assert "addresses" not in releases[0].votes.column_names
    assert (tmp_path / "huggingface" / "README.md").is_file()
    named = [[row["voter"] for row in release.votes.to_pylist()] for release in releases]
    assert named[0] != named[1]
    assert len(set(named[0])) == 8
    assert not set(map(str, numbers)) & set(named[0])
    with pytest.raises(BadFile):
        write_release(releases[0], tmp_path / "huggingface", form="huggingface")


def test_styles_by_hand(tmp_path):
    from PIL import Image

    gray = measure_styles(Image.new("RGB", (1000, 1000), (128, 128, 128)))
    assert gray == pytest.approx({"size": 0.0, "brightness": 128 / 255, "color": 0.0}, abs=1e-9)
    red = measure_styles(Image.new("RGB", (2000, 500), (255, 0, 0)))
    assert red["brightness"] == pytest.approx(0.299**0.5)
    assert red["color"] == pytest.approx(0.3 * (1 + 0.25) ** 0.5)


def test_styles_are_recorded_once(arena):
    steps = []
    record_styles(arena.field.study, arena.folder, ["size", "color"], progress=steps.append)
    assert len(steps) == 18
    record_styles(arena.field.study, arena.folder, ["size", "color", "position"], progress=steps.append)
    assert len(steps) == 18
    cast(arena, 60)
    with open_public_arena(arena.folder, None, PublicArenaSettings(least_votes=1, covariates=("color",))) as styled:
        assert BoardFitter(styled).fit().board.votes == 60


def test_what_is_asked(tmp_path):
    save_study(study(criteria=()), tmp_path / "none")
    with open_public_arena(tmp_path / "none", None, PublicArenaSettings(), create=True) as opened:
        assert opened.criterion == "preference"
    with open_public_arena(tmp_path / "none", None, PublicArenaSettings(criterion="taste/mood")) as opened:
        assert opened.criterion == "taste/mood"
    with pytest.raises(BadFile, match="study"), open_public_arena(tmp_path, None, PublicArenaSettings()):
        pass
