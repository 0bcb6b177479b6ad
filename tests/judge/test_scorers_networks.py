"""Pictures against prompts by small networks, and by a weighed checklist."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from salon.errors import BadFile, BadValue
from salon.judge import NoReply, Reply
from salon.judge.scorers.composite import composite, read_alike, seen_alike
from salon.judge.scorers.rules import ChecklistQuestion, checklist_scorer, read_questions
from salon.models import READER, Reading, ReadingLine, ResultCache
from salon.models.embedded_networks import class_names
from salon.study import Item, Prompt, Signature

# -- the composite ----------------------------------------------------------------------------------------------------


def test_class_names_stand_in_imagenets_order():
    names = class_names()
    assert len(set(names)) == 1000
    known = {1: "goldfish", 281: "tabby cat", 417: "balloon", 470: "candle", 879: "umbrella", 963: "pizza"}
    assert {place: names[place] for place in known} == known


def umbrella():
    """One that the network knows, in flat colors."""
    image = Image.new("RGB", (260, 260), "#dfe8ee")
    draw = ImageDraw.Draw(image)
    draw.pieslice((40, 40, 220, 220), 180, 360, fill="#c02535")
    for x in (40, 85, 130, 175):
        draw.pieslice((x, 118, x + 45, 142), 180, 360, fill="#dfe8ee")
    draw.line((130, 40, 130, 215), fill="#40342c", width=6)
    draw.arc((100, 195, 136, 231), 0, 180, fill="#40342c", width=6)
    return image


def test_what_is_seen_is_nearer_to_its_name():
    asked = ["an umbrella in the rain", "a bowl of tomato soup", "tax law for beginners"]
    found = seen_alike([umbrella()] * 3, asked)
    assert found[0] == max(found)
    assert np.abs(found).max() <= 1


def test_what_is_read_is_nearer_to_its_meaning():
    found = read_alike(
        ["Night Market\nstreet food", "quarterly tax report", "  "], ["an evening fair with food stalls"] * 3
    )
    assert found[0] > 0.4 > found[1]
    assert found[2] == 0


def test_the_composite_is_named_after_its_parts(tmp_path):
    umbrella().save(tmp_path / "u.png")
    kept, item = ResultCache(tmp_path / "kept.sqlite"), Item(id="u", image=str(tmp_path / "u.png"))
    scorer = composite(kept)
    sha = scorer._shown(item, Prompt(id="p", text="x")).sha256
    line = ReadingLine("umbrella shop", ((0, 0), (9, 0), (9, 9), (0, 9)), 1.0)
    kept.keep({f"{READER}|{sha}": Reading(260, 260, (line,)).record()})
    near, far = (Prompt(id="p", intent=text) for text in ("an umbrella shop", "a jazz concert"))
    values = scorer.score([item, item], [near, far])
    assert values[0] > values[1]
    assert scorer.name == "effnet-lite2+minilm+ocr"
    assert "clip" not in str(scorer.signature).lower()
    # by its definition: half of what is seen, half of what is read
    seen, read = seen_alike([umbrella()], ["a jazz concert"])[0], read_alike(["umbrella shop"], ["a jazz concert"])[0]
    assert values[1] == pytest.approx((seen + read) / 2, abs=1e-5)


# -- the checklist ----------------------------------------------------------------------------------------------------

QUESTIONS = (
    ChecklistQuestion(ask="Are all words spelled correctly?", weight=3),
    ChecklistQuestion(ask="Is it blurred?", weight=-1),
)


class Answers:
    """A VLM with one text for each question, in whatever order."""

    name, signature = "answers", Signature(method="answers", version="test")

    def __init__(self, *texts):
        self.texts, self.asked = texts, []

    def reply(self, conversations):
        self.asked = list(conversations)
        for place in reversed(range(len(self.asked))):
            text = self.texts[place % len(self.texts)]
            yield place, NoReply(kind="timeout", reason="late") if text is None else Reply(text=text)


@pytest.fixture
def item(tmp_path):
    Image.new("RGB", (16, 16), "red").save(tmp_path / "a.png")
    return Item(id="a", image=str(tmp_path / "a.png"))


@pytest.mark.parametrize(
    ("texts", "value"),
    [(("Yes.", "no"), 1), (("no", "no"), -0.5), (("Yes", "YES"), 0.5), (("I first said no, but: yes", "no"), 1)],
)  # (3 a1 - 1 a2) / 4
def test_answers_are_weighed(item, texts, value):
    vlm = Answers(*texts)
    assert checklist_scorer(vlm, QUESTIONS).score([item], [Prompt(id="p", text="a fair")]) == [value]
    assert "a fair" in vlm.asked[0].parts[0]
    assert vlm.asked[1].options == ("yes", "no")


@pytest.mark.parametrize(("texts", "why"), [((None, "no"), "timeout"), (("yes", "nothing to say"), "neither")])
def test_an_answer_that_is_not_read_is_no_score(item, texts, why):
    (found,) = checklist_scorer(Answers(*texts), QUESTIONS).results([item], [Prompt(id="p", text="a fair")])
    assert why in found.reason


def test_questions_from_a_file(tmp_path):
    file = tmp_path / "q.toml"
    file.write_text('[[question]]\nask = "Is it sharp?"\n\n[[question]]\nask = "Is it torn?"\nweight = -2\n')
    assert [one.weight for one in read_questions(file)] == [1, -2]
    other = checklist_scorer(Answers("yes"), read_questions(file))
    assert other.signature.data != checklist_scorer(Answers("yes"), QUESTIONS).signature.data
    for text, error in (("x = 1", BadFile), ("[[question]]\nweight = 1", BadValue), ("[[", BadFile)):
        file.write_text(text)
        with pytest.raises(error):
            read_questions(file)
    with pytest.raises(BadValue):
        checklist_scorer(Answers("yes"), [ChecklistQuestion(ask="x", weight=0)])
