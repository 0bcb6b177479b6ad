"""ImageReward and HPSv3 from their released layouts.

What they compute is checked against the peers' own numbers in test_peer_inputs.py and test_peer_numbers.py.
"""

import json
import math
import shutil

import pytest
import safetensors.torch
import torch
from reward_example import SMALL, red_pairs, tiny
from tiny_clip import TEXTS, pictures
from tiny_rewards import INSTRUCTION, save_hpsv3, save_image_reward

from salon.errors import BadFile, BadValue
from salon.judge.trained_model import trained_scorer
from salon.models import PEERS, REWARD, BlipReward, QwenReward, open_parts, read_model_card
from salon.models.preprocessing import prepare_picture
from salon.models.reward_model import load_reward
from salon.models.weights import MissingWeights
from salon.train import train_reward


@pytest.fixture(scope="module")
def image_reward(tmp_path_factory):
    return save_image_reward(tmp_path_factory.mktemp("imagereward"))


def test_the_end_of_the_text_is_seen_from_its_beginning(image_reward):
    """Attention runs both ways: the first token's state, which the head reads, knows the last word."""
    network = BlipReward(image_reward, device="cpu")
    one, other = network.scores(pictures()[:1] * 2, ["a fair by the sea", "a fair by the gold"])
    assert one != pytest.approx(other, abs=1e-6)


# -- HPSv3 ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hpsv3(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hpsv3")
    return folder, *save_hpsv3(folder)


def test_hpsv3_reads_mu_and_sigma_at_the_special_token(hpsv3):
    """At flat positions: transformers' own 3-D positions are not HPSv3's."""
    folder, network, head = hpsv3
    scorer = QwenReward(folder, device="cpu")
    batch = scorer.inputs([prepare_picture(image, PEERS["hpsv3"].pictures, 8) for image in pictures()], TEXTS)
    reward = network.config.text_config.vocab_size - 1
    assert (batch["input_ids"] == reward).sum(1).tolist() == [1, 1, 1]
    merged = batch["image_grid_thw"].prod(dim=1) // 4
    assert all(abs(count - 256) <= 32 for count in merged.tolist())  # whole patches in its own proportions
    length = batch["input_ids"].shape[1]
    with torch.no_grad():
        hidden = network.model(**batch, position_ids=torch.arange(length).expand(3, 3, length)).last_hidden_state
        mu, log_sigma = head(hidden[batch["input_ids"] == reward]).unbind(-1)
    found = scorer.scores(pictures(), TEXTS)
    assert [one for one, _ in found] == pytest.approx(mu.tolist(), abs=1e-5)
    assert [sigma for _, sigma in found] == pytest.approx(log_sigma.exp().tolist(), abs=1e-5)


def test_sigma_is_not_clipped_anywhere(hpsv3, tmp_path):
    """A head whose second output is far away gives exp of it, in scoring and in training on."""
    for file in hpsv3[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    state = safetensors.torch.load_file(tmp_path / "HPSv3.safetensors")
    state["rm_head.5.weight"].zero_()
    state["rm_head.5.bias"] = torch.tensor([1.0, -6.5])
    safetensors.torch.save_file(state, tmp_path / "HPSv3.safetensors")
    assert QwenReward(tmp_path, device="cpu").scores(pictures()[:1], TEXTS[:1]) == [
        pytest.approx((1, math.exp(-6.5)), rel=1e-5)
    ]
    parts = open_parts(tmp_path, pixels=256 * 8**2)
    with torch.no_grad():
        found = parts.network(parts.questions(pictures()[:1], TEXTS[:1], [""]))
    assert found.log_sigma.tolist() == pytest.approx([-6.5])


def test_a_prompt_cannot_plant_a_second_token(hpsv3):
    scorer = QwenReward(hpsv3[0], device="cpu")
    pixels = [prepare_picture(pictures()[0], PEERS["hpsv3"].pictures, 8)]
    batch = scorer.inputs(pixels, [f"a {REWARD} square"])
    assert (batch["input_ids"] == hpsv3[1].config.text_config.vocab_size - 1).sum() == 1
    assert "stands for a picture" in scorer.refusal(10, 10, "a <|image_pad|> b")
    with pytest.raises(BadValue, match="one picture"):
        scorer.inputs(pixels, ["a <|image_pad|> b"])


def test_an_instruction_of_another_kind_is_refused(hpsv3, tmp_path):
    for file in hpsv3[0].iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "instruction.txt").unlink()
    with pytest.raises(MissingWeights, match=r"instruction\.txt"):
        QwenReward(tmp_path, device="cpu")
    (tmp_path / "instruction.txt").write_text("Rate it.")
    with pytest.raises(BadFile, match="text_prompt"):
        QwenReward(tmp_path, device="cpu")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rm_head.0.weight": None, "rm_head.3.weight": None}, "rm_head"),
        ({"model.embed_tokens.weight": None}, "a Qwen2-VL and a head"),
        ({"model.layers.1.mlp.up_proj.weight": None}, "1 that do not"),
        ({"model.layers.1.mlp.up_proj.weight": torch.zeros(5, 5)}, "1 that do not"),
        ({"model.layers.2.mlp.up_proj.weight": torch.zeros(48, 32)}, "2 layers"),
        ({"stranger": torch.zeros(1)}, "1 that do not"),
    ],
)
def test_weights_of_something_else_are_refused(hpsv3, tmp_path, change, match):
    shutil.copytree(hpsv3[0], tmp_path, dirs_exist_ok=True)
    file = tmp_path / "HPSv3.safetensors"
    state = {
        name: tensor for name, tensor in (safetensors.torch.load_file(file) | change).items() if tensor is not None
    }
    safetensors.torch.save_file(state, file)
    with pytest.raises(BadFile) as error:
        QwenReward(tmp_path, device="cpu")
    assert match in str(error.value)


def test_a_config_of_another_size_takes_no_memory(hpsv3, tmp_path):
    """Without its sizes a config is that of a network of 70 billion weights."""
    shutil.copytree(hpsv3[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadFile, match="8,192"):
        QwenReward(tmp_path, device="cpu")
    (tmp_path / "config.json").unlink()
    with pytest.raises(MissingWeights, match=r"config\.json"):
        QwenReward(tmp_path, device="cpu")


def test_a_tokenizer_without_a_chat_template_is_refused(hpsv3, tmp_path):
    shutil.copytree(hpsv3[0], tmp_path, dirs_exist_ok=True)
    (tmp_path / "chat_template.jinja").unlink()
    with pytest.raises(BadFile, match="chat template"):
        QwenReward(tmp_path, device="cpu")


def test_image_reward_refuses_other_weights(image_reward, tmp_path):
    shutil.copytree(image_reward, tmp_path, dirs_exist_ok=True)
    state = torch.load(tmp_path / "ImageReward.pt", weights_only=True)
    head = next(name for name in state if name.startswith("mlp.") and name.endswith("bias"))
    for changed, match in (
        ({name: tensor for name, tensor in state.items() if name != head}, "1 missing"),
        (state | {"stranger": torch.zeros(1)}, "1 left over"),
        ({name.replace("blip", "clip"): tensor for name, tensor in state.items()}, "none with blip"),
    ):
        torch.save(changed, tmp_path / "ImageReward.pt")
        with pytest.raises(BadFile, match=match):
            BlipReward(tmp_path, device="cpu")


def test_training_can_start_from_hpsv3(hpsv3):
    """The same scores as the scorer gives; the output layer of the release comes along."""
    folder, network, _ = hpsv3
    parts = open_parts(folder, pixels=256 * 8**2)
    with torch.no_grad():
        found = parts.network(parts.questions(pictures(), TEXTS, [""] * 3))
    expected = QwenReward(folder, device="cpu").scores(pictures(), TEXTS)
    told = torch.stack([found.mu, found.log_sigma.exp()], dim=1)
    assert torch.allclose(told, torch.tensor(expected), atol=1e-5)
    assert torch.equal(parts.network.vlm.lm_head.weight, network.lm_head.weight)
    assert parts.questions.instruction == INSTRUCTION
    assert parts.network.positions == "flat"


def test_positions_stay_with_a_model(hpsv3, tmp_path):
    """Flat in what is trained on from HPSv3 and in what is trained on from that; a bare VLM keeps its own."""
    labels = red_pairs(tmp_path / "pictures", train=12, validation=2)
    few = SMALL.model_copy(update={"steps": 1, "batch": 2, "at_once": 2, "learn": "head"})
    ours = {"instruction": "{text_prompt} <|Reward|>"}
    train_reward(labels, str(hpsv3[0]), tmp_path / "first", few)
    train_reward(labels, str(tmp_path / "first"), tmp_path / "second", few)
    train_reward(labels, str(tiny(tmp_path / "qwen2_vl")), tmp_path / "bare", few, **ours)
    stated = {"first": "flat", "second": "flat", "bare": "m-rope"}
    for name, positions in stated.items():
        card = read_model_card(tmp_path / name)
        assert card.positions == positions
        assert f"positions:{positions}" in str(card.signature)
        assert f"positions:{positions}" in str(trained_scorer(tmp_path / name, device="cpu").signature)
        assert load_reward(tmp_path / name, device="cpu").network.positions == positions
    old = json.loads((tmp_path / "bare" / "model.json").read_text())
    del old["positions"]  # a card of before: such models were all trained with the VLM's own
    (tmp_path / "bare" / "model.json").write_text(json.dumps(old))
    assert load_reward(tmp_path / "bare", device="cpu").network.positions == "m-rope"
