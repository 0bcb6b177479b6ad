"""Recipes against their sources, written down here from the papers and the released files, not from Salon's code."""

import pytest
from click.testing import CliRunner
from reward_example import INSTRUCTION, red_pairs, tiny

from salon.cli.distill import train as distill_train
from salon.cli.train import train
from salon.errors import UnknownReference
from salon.models import read_model_card
from salon.train import DistillSettings, RewardSettings, find_recipe
from salon.train.settings import RECIPES, recipe_names

# HPSv3, section 5.1.1: "with all parameters set as trainable. Training is performed over 2 epochs using 48 NVIDIA A800
# GPUs. The model is optimized with a learning rate of 2 x 10^-6, a warm-up ratio of 0.05, and a total batch size of 384
# (corresponding to a per-GPU batch size of 8). All training images are resized to 448 x 448 pixels while preserving
# their original aspect ratios." Section 3.2: "Image pairs with an inter-annotator confidence level exceeding 95%".
HPSV3_PAPER = {"learn": "full", "epochs": 2, "lr": 2e-6, "warmup": 0.05, "batch": 48 * 8, "pixels": 448 * 448,
               "confident": 0.95}  # fmt: skip
# hpsv3/config/HPSv3_7B.yaml, where the paper says nothing: soft_label False, per_device_train_batch_size 2,
# lr_scheduler_type constant_with_warmup, bf16 True, gradient_checkpointing True; qwen2vl_trainer.py: nn.Dropout(0.05).
HPSV3_CODE = {"labels": "hard", "at_once": 2, "decay": "constant", "precision": "bfloat16", "recompute": True,
              "dropout": 0.05}  # fmt: skip
# PPaint, Table 16: group size 6, AdamW 1e-6, 64 images per step, gradient clipping 1.0, 10 epochs, 512 tokens.
PSDISTILL_PAPER = {"group": 6, "lr": 1e-6, "images": 64, "clip": 1.0, "epochs": 10, "max_tokens": 512}
# VisualQuality-R1: `esp = 1e-6`, torch.var (unbiased), `beta ... default=0.04`, GenerationConfig(temperature=1).
PSDISTILL_CODE = {"eps": 1e-6, "ddof": 1, "beta": 0.04, "temperature": 1.0, "precision": "bfloat16", "recompute": True}


@pytest.mark.parametrize(
    ("name", "settings", "paper", "code"),
    [
        ("hpsv3", RewardSettings, HPSV3_PAPER, HPSV3_CODE),
        ("psdistill", DistillSettings, PSDISTILL_PAPER, PSDISTILL_CODE),
    ],
)
def test_settings_are_those_of_the_sources(name, settings, paper, code):
    recipe = RECIPES[name]
    made = settings(**recipe.values({}))
    for sources, word in ((paper, ("HPSv3 section", "PPaint Table 16")), (code, ("code",))):
        assert {setting: getattr(made, setting) for setting in sources} == sources
        assert all(any(part in recipe.settings[setting].source for part in word) for setting in sources)
    assert made.recipe == f"{name} 1"
    assert all(setting.source for setting in recipe.settings.values())


def test_the_rate_of_the_head_is_that_of_the_rest():
    made = RewardSettings(**RECIPES["hpsv3"].values({}))
    assert made.head_lr == made.learning_rate == 2e-6
    assert made.law == "quadrature"
    assert made.prior == 0.0


def test_what_differs_between_paper_and_code_is_named():
    sources = {name: setting.source for name, setting in RECIPES["hpsv3"].settings.items()}
    assert "10" in sources["epochs"]
    assert "90%" in sources["confident"]
    assert "--law released" in sources["law"]
    assert "test set" in RECIPES["psdistill"].settings["choose"].source


def test_what_is_given_wins():
    given = {"lr": 1e-5, "epochs": 2, "batch": 64}
    recipe = find_recipe("hpsv3", "train reward")
    assert recipe.values(given)["lr"] == 1e-5
    assert recipe.values(given)["batch"] == 64
    rows = {name: (value, source) for name, value, source in recipe.lines(given)}
    assert rows["lr"] == ("1e-05", "given; the recipe has 2e-06")
    assert rows["batch"] == ("64", "given; the recipe has 384")
    assert rows["epochs"][1].startswith("HPSv3 section 5.1.1")  # the same as the recipe's


def test_an_unknown_recipe_is_refused_with_the_list():
    for name, command in (("nobody", "train reward"), ("psdistill", "train reward"), ("hpsv3", "distill train")):
        with pytest.raises(UnknownReference) as raised:
            find_recipe(name, command)
        assert raised.value.remedy == f"one of {', '.join(recipe_names(command))}"


def test_a_command_prints_the_recipe_and_its_own_flags_win():
    """A flag at its default value counts as given."""
    told = ["reward", "--recipe", "hpsv3", "--backbone", "qwen2-vl-7b", "--plan", "--at-once", "1", "--lr", "3e-6"]
    printed = CliRunner().invoke(train, told, catch_exceptions=False).stdout
    assert "recipe hpsv3 1" in printed
    assert "HPSv3 section 5.1.1: all parameters trainable" in printed
    assert "given; the recipe has 2e-06" in printed
    assert "bfloat16, 1 at once, recompute on" in printed
    help_text = CliRunner().invoke(train, ["reward", "--help"]).stdout
    assert "hpsv3" in help_text
    assert "psdistill" in CliRunner().invoke(distill_train, ["--help"]).stdout


def test_a_training_by_recipe_says_so_on_its_card(tmp_path):
    vlm, labels = tiny(tmp_path / "vlm"), red_pairs(tmp_path / "pictures")
    instruction = tmp_path / "instruction.txt"
    instruction.write_text(INSTRUCTION)
    told = ["reward", labels, "-o", tmp_path / "model", "--backbone", vlm, "--recipe", "hpsv3", "--steps", "1",
            "--batch", "2", "--pixels", "256", "--instruction", instruction]  # fmt: skip
    ran = CliRunner().invoke(train, [str(word) for word in told], catch_exceptions=False)
    assert ran.exit_code == 0
    card = read_model_card(tmp_path / "model")
    assert card.settings["recipe"] == card.signature.settings["recipe"] == "hpsv3 1"
    assert (card.settings["batch"], card.settings["epochs"], card.settings["confident"]) == (2, 2, 0.95)
