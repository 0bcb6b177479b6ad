"""Training a one-pass scorer in two real processes: they agree, share the weights out (ZeRO-3), and go on together.

The slow ones start the command with `accelerate launch`, as examples/distill says, on CPUs.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_vllm
import pytest
import safetensors.torch
import torch
from click.testing import CliRunner
from held_port import held_port
from one_pass_example import FLOW, SMALL, bright_data, build_speaker, labelled_study
from trl import GRPOConfig, TrlParser
from two_processes import ZERO3, attempt, in_two_processes, launch_arguments, on_cpus

from salon.cli.distill import train
from salon.cli.options import settings_from
from salon.cli.score import score
from salon.errors import BadFile
from salon.models import LoadedVlm, read_one_pass_card
from salon.select import LoadOrder
from salon.select.service.model import load_scoring
from salon.train import DistillSettings, distill_study, distillation as training
from salon.train.distill_loop import train_one_pass
from salon.train.distill_setup import engine_arguments, grpo_arguments, last_checkpoint, load_vlm
from salon.train.run_folder import read_log
from salon.train.training_setup import TorchProcesses, processes

EXAMPLES = Path(__file__).parents[2] / "examples" / "distill"
LORA = FLOW.model_copy(
    update={
        "learn": "lora",
        "lora_rank": 2,
        "lr": 1e-2,
        "format_steps": 2,
        "format_batch": 4,
        "validate_every": 1,
        "validate_images": 1,
        "entropy_bonus": 0.1,
    }
)  # fmt: skip - it moves weights without a readable answer


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A study, its labels and a VLM."""
    folder = tmp_path_factory.mktemp("processes")
    labelled_study(folder)
    build_speaker(folder / "vlm")
    return folder


def flow(place, out, settings, **options):
    """The flow; what it gives is not compared, and an error has the same words in both processes."""
    asked = (place / "study", place / "labels", str(place / "vlm"), out, settings)
    return attempt(distill_study, *asked, keep_anyway=True, **options)  # it has learned nothing


def weights(folder):
    return LoadedVlm(folder, device="cpu").model.state_dict()


# -- agreement -------------------------------------------------------------------------------------------------------


def _refused(rank, place, out):
    """What both processes are refused, one after the other, although only one of them can see the reason."""
    processes()
    here = TorchProcesses()

    def fail(words):
        def work(*_, **__):
            raise BadFile(words, found="x", where="y", remedy="z")

        return work

    told = [attempt(here.decide, lambda: rank), here.together(lambda: rank)]
    told.append(attempt(here.decide, fail("the first fails") if rank == 0 else fail("never called")))
    told.append(attempt(here.together, (lambda: 1) if rank == 0 else fail("the second fails")))
    told.append(attempt(here.together, (lambda: 1) if rank == 0 else Path("/no/such/file").read_text))
    look, mine = training._check_target, (training._check_target, training.fingerprint)
    if rank:  # what the second sees does not matter
        training._check_target = training.fingerprint = fail("never called")
    (out / "thesis").mkdir(parents=True, exist_ok=True)
    (out / "thesis" / "text").write_text("mine")
    told.append(flow(place, out / "thesis", FLOW))
    told.append(attempt(distill_study, place / "study", place / ("labels" if rank == 0 else "gone"),
                        str(place / "vlm"), out / "labels", FLOW))  # fmt: skip
    told.append(flow(place, out / "uneven", FLOW.model_copy(update={"images": 3, "group": 3})))
    told.append(flow(place, out / "format", FLOW.model_copy(update={"format_steps": 1, "format_batch": 3})))
    told.append(flow(place, out / "flash", FLOW.model_copy(update={"attention": "flash_attention_2"})))
    told.append(flow(place, out / "vllm", FLOW.model_copy(update={"vllm": "server"})))
    training._check_target, training.fingerprint = mine
    assert look is training._check_target
    written, training._write_scorer = training._write_scorer, fail("the disk is full")
    told.append(flow(place, out / "cut", FLOW))
    training._write_scorer = written
    told.append(flow(place, out / "cut", FLOW.model_copy(update={"lr": 0.5}), resume=True))
    told.append(flow(place, out / "cut", FLOW))
    told.append(flow(place, out / "cut", FLOW, resume=True))
    return told


def test_both_processes_are_refused_in_the_same_words(place, tmp_path):
    first, second = in_two_processes(_refused, place, tmp_path)
    assert first[:2] == [0, 0]
    assert second[:2] == [0, 1]
    words = ["the first fails", "the second fails", "No such file", "something else", "labels is needed",
             "shared out evenly", "--format-batch 3", "needs a GPU, bfloat16", "needs the package vllm",
             "the disk is full", "lr 0.001, now 0.5", "--resume goes on"]  # fmt: skip
    for word, *told in zip(words, first[2:], second[2:]):
        assert word in told[0][1]
        assert told[0] == told[1]
    assert "never called" not in str(first + second)
    assert (first[-1].steps, second[-1]) == (2, None)
    assert read_one_pass_card(tmp_path / "cut").figures["processes"] == 2


# -- ZeRO-3 ----------------------------------------------------------------------------------------------------------


def _sharded(rank, place, out, resume):
    if not resume:

        def fail(*_, **__):
            raise BadFile("the disk is full")

        training._write_scorer = fail
    return flow(place, out, LORA, resume=resume)


def test_adapters_on_weights_that_are_shared_out_become_a_whole_scorer(place, tmp_path):
    """ZeRO-3 and LoRA, format steps before: written in the end, refused elsewhere, gone on with and written again."""
    out = tmp_path / "scorer"
    assert [told[1] for told in in_two_processes(_sharded, place, out, False, zero3=True)] == ["the disk is full"] * 2
    checkpoint = Path(last_checkpoint(out / "run"))
    assert len(list(checkpoint.glob("global_step2/*_optim_states.pt"))) == 2  # ZeRO's own, one for each process
    base = weights(out / "run" / "format")
    learned = safetensors.torch.load_file(out / "run" / "best" / "adapter_model.safetensors")
    assert "a checkpoint by DeepSpeed, and none now" in flow(place, out, LORA, resume=True)[1]
    report, other = in_two_processes(_sharded, place, out, True, zero3=True)
    assert (report.steps, report.validation.images, other) == (2, 1, None)
    after, moved = weights(out), 0
    assert set(after) == set(base)
    for name, weight in base.items():
        adapter = f"base_model.model.{name.removesuffix('.weight')}"
        if f"{adapter}.lora_A.weight" in learned:
            change = learned[f"{adapter}.lora_B.weight"] @ learned[f"{adapter}.lora_A.weight"]
            weight = weight + LORA.lora_alpha / LORA.lora_rank * change
            moved += bool(change.any())
        torch.testing.assert_close(after[name], weight)
    assert moved > 5
    assert sum(not torch.equal(weight, base[name]) for name, weight in weights(place / "vlm").items()) > 5  # the format
    assert not (out / "run" / "checkpoints").exists()
    assert [one.criterion for one in load_scoring(LoadOrder(models=(str(out),))).criteria] == ["mood", "flag"]
    scored = CliRunner().invoke(score, [str(place / "study"), "--model", str(out), "--json"])
    assert json.loads(scored.stdout)["scorers"][0]["items"] == 24


# -- vLLM ------------------------------------------------------------------------------------------------------------


def _served(rank, vlm, pictures, folder):
    """Rank 0 has the server beside it; the other only takes part."""
    fake_vllm.install(folder / f"packages-{rank}")
    from salon.train.distill_loop import train_one_pass  # anew, with vllm there

    data = bright_data(pictures)
    settings = SMALL.model_copy(
        update={"format_steps": 0, "vllm": "server", "images": 2, "steps": 2, "entropy_bonus": 0.1}
    )
    server = fake_vllm.FakeServer(vlm)
    with fake_vllm.serving(server) as address:
        here = settings.model_copy(update={"vllm_server_base_url": address, "vllm_server_timeout": 5.0})
        train_one_pass(vlm, data, here, folder / "run")
        nobody = settings.model_copy(update={"vllm_server_base_url": "http://127.0.0.1:9", "vllm_server_timeout": 0.0})
        refused = attempt(train_one_pass, vlm, data, nobody, folder / "nobody")
    return server.requests, {name: weight.numpy() for name, weight in server.vlm.model.state_dict().items()}, refused


def test_a_vllm_server_samples_with_the_weights_of_every_step(tmp_path):
    """TRL's own client and weight updates, two processes, against a server that speaks vLLM's HTTP."""
    vlm = str(build_speaker(tmp_path / "vlm"))
    first, second = in_two_processes(_served, vlm, tmp_path / "pictures", tmp_path)
    requests, held, refused = first
    assert second[0] == [], "one process asks for all"
    paths = [path for path, _ in requests]
    assert paths.count("/update_weights") == paths.count("/reset_prefix_cache") == 2  # before each step
    assert (
        paths.index("/init_weight_transfer_engine")
        < paths.index("/update_weights")
        < paths.index("/inference/v1/generate")
    )
    asked = [body["sampling_params"] for path, body in requests if path == "/inference/v1/generate"]
    assert len(asked) == paths.count("/v1/chat/completions/render") == 2 * 2  # two pictures a step
    assert {(one["n"], one["max_tokens"], one["temperature"], one["logprobs"]) for one in asked} == {(4, 12, 1.0, 0)}
    assert asked[0]["bad_words"] == ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    then = safetensors.torch.load_file(tmp_path / "run" / "checkpoints" / "checkpoint-1" / "model.safetensors")
    start = weights(vlm)
    assert sum(not torch.equal(weight, start[name]) for name, weight in then.items()) > 5
    for name, weight in then.items():
        torch.testing.assert_close(torch.tensor(held[name]), weight, msg=name)  # what the second step sampled with
    assert [record["answers"] for record in read_log(tmp_path / "run") if record["kind"] == "train"] == [8, 8]
    assert refused == second[2]
    assert "a vLLM server that takes weights from TRL is needed" in refused[1]
    assert "vllm serve MODEL" in refused[1]


# -- commands and arguments ------------------------------------------------------------------------------------------


def _commands():
    text = (EXAMPLES / "README.md").read_text()
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return [shlex.split(line.replace("$(command -v salon)", "salon")) for line in lines if " launch " in line]


def test_the_launch_files_and_commands_are_ones_that_accelerate_and_salon_read():
    told = []
    for words in _commands():
        start, own = words.index("launch") + 1, words.index("salon")
        assert words[words.index("--config_file") + 1].startswith("examples/distill/")
        launch = launch_arguments(EXAMPLES / Path(words[start + 1]).name, *words[start + 2 :])
        assert (launch.training_script, launch.mixed_precision) == ("salon", "bf16")
        assert words[own + 1 : own + 3] == ["distill", "train"]
        flags = train.make_context("train", words[own + 3 :]).params
        settings = settings_from(DistillSettings, flags)
        assert settings.images * settings.group % int(launch.num_processes) == 0
        arguments = grpo_arguments(settings, Path("run"), 1, 1)  # TRL counts this process alone
        told.append((int(launch.num_processes), bool(launch.use_deepspeed), settings.learn, settings.vllm,
                     arguments.use_vllm and arguments.vllm_mode))  # fmt: skip
        assert not launch.use_deepspeed or (launch.zero_stage, launch.zero3_save_16bit_model) == (3, True)
    assert told == [
        (1, False, "lora", "off", False), (8, True, "full", "off", False), (8, True, "lora", "off", False),
        (8, False, "lora", "off", False), (8, True, "full", "colocate", "colocate"),
        (6, True, "full", "server", "server"),
    ]  # fmt: skip
    assert {path.name for path in EXAMPLES.glob("*.yaml")} == {
        Path(words[words.index("--config_file") + 1]).name for words in _commands()
    }


def test_every_vllm_flag_reaches_trl_under_its_own_name(tmp_path):
    """The flags go through our parser, and as flags through TRL's: both must come to the same."""
    given = {"vllm_server_base_url": "http://10.0.0.2:9000", "vllm_server_host": "10.0.0.3", "vllm_server_port": "9001",
             "vllm_server_timeout": "7.5", "vllm_group_port": "51300", "vllm_gpu_memory_utilization": "0.45",
             "vllm_tensor_parallel_size": "2", "vllm_max_model_length": "3000"}  # fmt: skip
    assert {name for name in DistillSettings.model_fields if name.startswith("vllm_")} == {
        *given, "vllm_enable_sleep_mode", "vllm_importance_sampling_correction"
    }  # fmt: skip
    ours = [part for name, value in given.items() for part in ("--" + name.replace("_", "-"), value)]
    ours += ["--vllm-enable-sleep-mode", "--no-vllm-importance-sampling-correction", "--vllm", "colocate"]
    needed = ["study", "--labels", "labels", "--vlm", "vlm", "-o", str(tmp_path / "out")]
    settings = settings_from(DistillSettings, train.make_context("train", [*needed, *ours]).params)
    made = grpo_arguments(settings, tmp_path, 1, 2)
    theirs = [part for name, value in given.items() for part in (f"--{name}", value)]
    theirs += ["--vllm_enable_sleep_mode", "true", "--vllm_importance_sampling_correction", "false", "--use_vllm"]
    (parsed,) = TrlParser([GRPOConfig]).parse_args_and_config(
        [*theirs, "--vllm_mode", "colocate", "--output_dir", str(tmp_path), "--use_cpu", "--bf16", "false"]
    )
    for name in (*given, "vllm_enable_sleep_mode", "vllm_importance_sampling_correction", "use_vllm", "vllm_mode"):
        assert getattr(made, name) == getattr(parsed, name) != getattr(GRPOConfig(bf16=False, use_cpu=True), name) or (
            name == "vllm_mode"
        )


def test_what_only_a_gpu_needs_is_chosen_there(monkeypatch):
    """Recomputation is on with a GPU and off without, unless told otherwise."""
    for cpu, told, chosen in ((True, None, False), (False, None, True), (False, False, False), (True, True, True)):
        monkeypatch.setattr("salon.train.distill_setup.on_cpu", lambda cpu=cpu: cpu)
        settings = DistillSettings(recompute=told)
        assert engine_arguments(settings)["gradient_checkpointing"] is chosen


def test_adapters_are_learned_on_weights_of_the_precision_and_attention_asked_for(place, tmp_path):
    vlm = str(place / "vlm")
    for learn, half, dtype in (
        ("lora", True, torch.bfloat16),
        ("lora", False, torch.float32),
        ("full", True, torch.float32),
    ):
        settings = DistillSettings(learn=learn, attention="eager")
        model = load_vlm(vlm, settings, half=half)
        assert (model.dtype, model.config._attn_implementation) == (dtype, "eager")
    assert load_vlm(vlm, DistillSettings(), half=False).config._attn_implementation == "sdpa"
    settings = SMALL.model_copy(update={"learn": "lora", "format_steps": 0, "precision": "bfloat16", "steps": 1,
                                        "recompute": True, "entropy_bonus": 0.1, "lr": 1e-2})  # fmt: skip
    trained = train_one_pass(vlm, bright_data(tmp_path / "pictures"), settings, tmp_path / "run")
    trained.save(tmp_path / "out")
    assert (trained.precision, {weight.dtype for weight in _stored(tmp_path / "out").values()}) == (
        "bfloat16", {torch.bfloat16}
    )  # fmt: skip


def _stored(folder):
    return safetensors.torch.load_file(folder / "model.safetensors")


# -- as users launch it ----------------------------------------------------------------------------------------------

SMALL_FLAGS = shlex.split(
    "--images 4 --group 2 --max-tokens 16 --no-think --train .5 --validation .25 --test .25 --pixels 1024 "
    "--save-every 1 --validate-every 1 --validate-images 3 --entropy-bonus 0.1 --lr 1e-3 --keep-anyway"
)


class Launch:
    """The command in real processes on CPUs, by `accelerate launch` with a launch file or by torchrun without."""

    def __init__(self, place, folder, config):
        self.place, self.folder = place, folder
        self.config = on_cpus(config, folder) if config else None
        (folder / "command.py").write_text(
            "try:\n    import deepspeed.ops\n    deepspeed.ops.__compatible_ops__['deepspeed_shm_comm'] = False\n"
            "except ImportError:\n    pass\nfrom salon.cli.main import run\nrun()\n"
        )

    def start(self, out, *flags, count=2):
        place = self.place
        with held_port() as port, open(self.folder / "log.txt", "w") as log:
            how = f"torch.distributed.run --nproc_per_node {count} --master_port {port}"
            if self.config:
                how = f"accelerate.commands.launch --config_file {self.config} --num_processes {count} "
                how += f"--main_process_port {port}"
            words = [sys.executable, "-m", *how.split(), str(self.folder / "command.py"), "distill", "train",
                     str(place / "study"), "--labels", str(place / "labels"), "--vlm", str(place / "vlm"), "-o",
                     str(out), *SMALL_FLAGS, *flags]  # fmt: skip
            return subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                                    env=os.environ | {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"})  # fmt: skip

    def run(self, out, *flags, count=2):
        """The exit code and what was printed."""
        process = self.start(out, *flags, count=count)
        try:
            return process.wait(timeout=240), (self.folder / "log.txt").read_text()
        finally:
            _end(process)

    def killed(self, out, *flags):
        """Kill one of the two processes once there is a checkpoint; what ends the other is the launcher."""
        process = self.start(out, *flags)
        try:
            wait_until(lambda: process.poll() is not None or last_checkpoint(out / "run"))
            assert process.poll() is None, (self.folder / "log.txt").read_text()
            ranks = _children(process.pid)
            assert len(ranks) == 2
            os.kill(ranks[1], signal.SIGKILL)
            assert process.wait(timeout=120) != 0
            return not any(Path(f"/proc/{rank}").exists() for rank in ranks)
        finally:
            _end(process)


def _end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _children(pid):
    return sorted(int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def wait_until(there, seconds=200):
    """Until `there()`, or an error after `seconds`."""
    for _ in range(seconds * 20):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


@pytest.mark.slow
@pytest.mark.parametrize("learn", ["lora", "full"])
def test_a_killed_run_with_zero3_goes_on_in_as_many_processes(place, tmp_path, learn):
    launch = Launch(place, tmp_path, ZERO3)
    out = tmp_path / "scorer"
    flags = ("--learn", learn, "--steps", "6", "--format-steps", "2", "--format-batch", "4", "--recompute",
             "--precision", "bfloat16" if learn == "lora" else "float32")  # fmt: skip
    assert launch.killed(out, *flags)
    code, said = launch.run(out, *flags)
    assert (code != 0, said.count("a run that was not finished")) == (True, 2)
    code, said = launch.run(out, *flags, "--resume", count=1)
    assert code != 0
    assert "a checkpoint of 2, now 1" in said
    code, said = launch.run(out, *flags, "--resume")
    assert code == 0, said
    steps = [record["step"] for record in read_log(out / "run") if record["kind"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6]
    moved = [name for name, weight in weights(out).items() if not torch.equal(weight, weights(place / "vlm")[name])]
    assert len(moved) > 5
    scored = CliRunner().invoke(score, [str(place / "study"), "--model", str(out), "--json"])
    assert json.loads(scored.stdout)["scorers"][0]["items"] == 24


@pytest.mark.slow
def test_a_killed_run_without_deepspeed_goes_on_in_another_number_of_processes(place, tmp_path):
    launch = Launch(place, tmp_path, None)
    out = tmp_path / "scorer"
    assert launch.killed(out, "--steps", "8")
    code, said = launch.run(out, "--steps", "8", "--resume", count=1)
    assert code == 0, said
    card = read_one_pass_card(out)
    assert (card.figures["processes"], card.figures["steps"], card.figures["answers"]["answers"]) == (1, 8, 64)
    assert [one["step"] for one in read_log(out / "run") if one["kind"] == "train"] == list(range(1, 9))


@pytest.mark.slow
def test_zero3_that_could_not_write_its_weights_is_refused(place, tmp_path):
    launch = Launch(place, tmp_path, ZERO3)
    told, name = launch.config.read_text(), "zero3_save_16bit_model"
    launch.config.write_text(told.replace(f"{name}: true", f"{name}: false"))
    code, said = launch.run(tmp_path / "scorer", "--steps", "1")
    assert code != 0
    assert said.count("ZeRO-3 must gather the weights to write them") == 2
