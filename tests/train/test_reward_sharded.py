"""Sharded training of reward models, on two CPU processes with gloo: FSDP2 and ZeRO learn what one process learns.

The processes are forked, so that torch is imported once, and are told what torchrun tells its own, and no more.
"""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest
import safetensors.torch
import torch
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.state import AcceleratorState
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env
from click.testing import CliRunner
from held_port import held_port
from PIL import Image
from reward_example import INSTRUCTION, SMALL, red_pairs, tiny, trained

from salon.cli.score import score
from salon.errors import BadValue, SalonError
from salon.models import load_model, open_parts
from salon.train import RewardSettings, run_folder, train_reward
from salon.train.reward_engine import shard_units
from salon.train.run_folder import checkpoints, read_log
from salon.train.training_setup import choose_shard, make_trainable, set_attention

ENGINES = [("fsdp2", "zero3"), pytest.param(("zero2",), marks=pytest.mark.slow)]
ROOT = Path(__file__).parents[2]
# Shares of 3 and 2 pairs, cut into parts of 2 and 1: one process has a part less. Gradients are clipped at each step.
FULL = SMALL.model_copy(update={"batch": 5, "at_once": 2, "lr": 1e-3, "head_lr": 3e-3, "weigh": "agreement",
                                "law": "davidson", "clip": 0.05, "weight_decay": 0.1, "save_every": 2, "keep": 1,
                                "validate_every": 2, "recompute": True})  # fmt: skip
LORA = FULL.model_copy(update={"learn": "lora", "lora_rank": 2, "law": "quadrature", "recompute": False})


def told(run, kind="train", name="loss"):
    return [record[name] for record in read_log(run) if record["kind"] == kind]


def same(run, other):
    names = [("train", "loss"), ("train", "gradient"), ("validation", "loss")]
    return all(told(run, *name) == pytest.approx(told(other, *name), rel=1e-4) for name in names)


def _process(rank, count, port, queue, work, arguments):
    try:
        warnings.simplefilter("ignore")  # DeepSpeed calls what torch calls deprecated
        AcceleratorState._reset_state(reset_partial_state=True)  # the parent may have trained
        given = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count,
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}  # fmt: skip
        os.environ.update({name: str(value) for name, value in given.items()})
        queue.put((rank, work(rank, *arguments)))
    except BaseException:
        queue.put((rank, traceback.format_exc()))
    queue.close()
    queue.join_thread()
    os._exit(0)


def in_processes(count, work, *arguments):
    """What `work(rank, ...)` gives in each process, by rank; a fault of one fails the test."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with held_port() as port:
        started = [
            context.Process(target=_process, args=(rank, count, port, queue, work, arguments)) for rank in range(count)
        ]
        for process in started:
            process.start()
        try:
            answers = dict(queue.get(timeout=200) for _ in started)
        finally:
            for process in started:
                process.join(timeout=10)
                process.kill()
    faults = [text for text in answers.values() if isinstance(text, str)]
    assert not faults, faults[0]
    return answers


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("sharded")


@pytest.fixture(scope="module")
def vlm(place):
    return tiny(place / "vlm")


@pytest.fixture(scope="module")
def labels(place):
    return red_pairs(place / "pictures")


def _stop(step, steps, loss):
    if step == 3:
        raise KeyboardInterrupt


def _begin(rank, place, vlm, labels, engines):
    """Under each engine: all weights until step 3, then adapters to the end, as a model folder."""
    for shard in engines:
        try:
            trained(vlm, labels, place / shard, FULL.model_copy(update={"shard": shard}), progress=_stop)
        except KeyboardInterrupt:
            settings = LORA.model_copy(update={"shard": shard})
            train_reward(labels, str(vlm), place / f"lora-{shard}", settings, instruction=INSTRUCTION)
    fault = _fails_to_save(rank, place, vlm, labels, engines[0])
    return {"engines": engines, "fault": fault, "steps": [path.name for path in checkpoints(place / "fault")]}


def _fails_to_save(rank, place, vlm, labels, shard):
    """The second process finds its disk full at the second checkpoint."""
    save = safetensors.torch.save_file

    def full(tensors, path):
        if "step-000004" in str(path) and rank == 1:
            raise OSError(28, "No space left on device")
        save(tensors, path)

    run_folder.safetensors.torch.save_file = full
    try:
        trained(vlm, labels, place / "fault", FULL.model_copy(update={"shard": shard}))
    except SalonError as error:
        return type(error).__name__, str(error)
    finally:
        run_folder.safetensors.torch.save_file = save


def _go_on(rank, place, vlm, labels, engines):
    """One process finishes what two began: under the same engine, and a run of the first one's under none."""
    shutil.copytree(place / engines[0], place / "none")
    for shard in (*engines, "none"):
        fitted, _ = trained(vlm, labels, place / shard, FULL.model_copy(update={"shard": shard}))
        assert (fitted.processes, fitted.shard) == (1, shard)
        assert not fitted.network.training
    return [path.name for path in checkpoints(place / engines[-1])]


@pytest.fixture(scope="module", params=ENGINES, ids=" ".join)
def begun(request, tmp_path_factory, vlm, labels):
    place = tmp_path_factory.mktemp("begun")
    return place, in_processes(2, _begin, place, vlm, labels, request.param)


def test_two_processes_begin_one_goes_on_and_all_learn_what_one_learns(begun, vlm, labels):
    place, answers = begun
    engines = answers[0]["engines"]
    assert [path.name for path in checkpoints(place / engines[-1])] == ["step-000002"]
    parts = sorted(path.name for path in (checkpoints(place / engines[0])[0]).glob("*.safetensors"))
    assert parts == ["00000-0000.safetensors", "00001-0000.safetensors"]  # each process wrote its share
    assert in_processes(1, _go_on, place, vlm, labels, engines) == {0: ["step-000004"]}
    trained(vlm, labels, place / "alone", FULL)
    for shard in (*engines, "none"):
        assert told(place / shard, name="step") == [1, 2, 3, 4]
        assert same(place / shard, place / "alone"), shard


def test_adapters_are_merged_into_a_model_that_scores(begun, vlm, labels, tmp_path):
    place, answers = begun
    engines = answers[0]["engines"]
    train_reward(labels, str(vlm), tmp_path / "alone", LORA, instruction=INSTRUCTION)
    images = [Image.new("RGB", (16, 16), (red, 60, 128)) for red in (0, 240)]

    def scores(folder):
        model = load_model(folder, device="cpu")
        return [scored.value for scored in model.scores(images, ["poster"] * 2, "test/red")]

    for shard in engines:
        folder = place / f"lora-{shard}"
        card = json.loads((folder / "model.json").read_text())
        assert (card["figures"]["processes"], card["figures"]["shard"]) == (2, shard)
        assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "alone").iterdir()}
        assert not (folder / "run" / "checkpoints").exists()
        assert not (folder / "run" / "best").exists()
        assert same(folder / "run", tmp_path / "alone" / "run"), shard
        assert scores(folder) == pytest.approx(scores(tmp_path / "alone"), abs=1e-3)
    (tmp_path / "shown").mkdir()
    images[0].save(tmp_path / "shown" / "a.png")
    asked = [tmp_path / "shown", "--model", place / f"lora-{engines[-1]}", "--prompt", "poster", "--json"]
    done = CliRunner().invoke(score, [str(part) for part in asked], catch_exceptions=False)
    assert json.loads(done.stdout)["scorers"][0]["scored"] == 1


def test_a_fault_of_one_process_is_one_of_all(begun):
    _, answers = begun
    assert {rank: answer["fault"][0] for rank, answer in answers.items()} == {0: "SalonError", 1: "BadFile"}
    assert "process 1" in answers[0]["fault"][1]
    assert "No space left" in answers[0]["fault"][1]
    assert answers[0]["steps"] == ["step-000002"]  # the one that failed left nothing


# -- before training -------------------------------------------------------------------------------------------------


def launched(name, monkeypatch):
    """The environment that accelerate launch makes of a file of examples/reward."""
    arguments = launch_command_parser().parse_args(["--config_file", str(ROOT / "examples" / "reward" / name), "salon"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    arguments, stated, _ = _validate_launch_command(arguments)
    arguments.deepspeed_fields_from_accelerate_config = ",".join(stated.deepspeed_config)
    environment = (
        prepare_deepspeed_cmd_env(arguments)[1] if arguments.use_deepspeed else prepare_multi_gpu_env(arguments)
    )
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    return arguments


@pytest.mark.parametrize(
    ("name", "shard", "processes"),
    [("one_gpu.yaml", "none", 1), ("fsdp2_8.yaml", "fsdp2", 8), ("zero3_8.yaml", "zero3", 8),
     ("fsdp2_48.yaml", "fsdp2", 48), ("zero3_48.yaml", "zero3", 48)],
)  # fmt: skip
def test_launch_files_say_where_weights_live(name, shard, processes, monkeypatch):
    arguments = launched(name, monkeypatch)
    assert choose_shard(RewardSettings()) == shard
    assert (arguments.num_processes, arguments.num_machines) == (processes, 6 if processes == 48 else 1)
    assert arguments.mixed_precision == "bf16"
    if shard != "none":
        with pytest.raises(BadValue, match="must say the same"):
            choose_shard(RewardSettings(shard="zero2"))


def test_without_a_file_the_flag_decides(monkeypatch):
    assert choose_shard(RewardSettings()) == "none"
    assert choose_shard(RewardSettings(shard="zero2")) == "zero2"
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(BadValue, match="version 2"):
        choose_shard(RewardSettings())


def test_attention_that_is_not_there_is_refused(vlm):
    network = open_parts(vlm, pixels=256).network
    with pytest.raises(BadValue, match="flash_attention_2 needs its package") as raised:
        set_attention(network.vlm, "flash_attention_2")
    assert "sdpa" in raised.value.remedy
    set_attention(network.vlm, "eager")
    assert network.vlm.config._attn_implementation == "eager"


def test_large_vlms_compute_activations_again_by_default(vlm, monkeypatch):
    def recomputes(**settings):
        network = open_parts(vlm, pixels=256).network
        make_trainable(network, RewardSettings(**settings), ties=0)
        return network.vlm.is_gradient_checkpointing

    assert not recomputes()
    assert recomputes(recompute=True)
    monkeypatch.setattr("salon.train.training_setup.LARGE", 1000)
    assert recomputes()
    assert recomputes(learn="lora")
    assert not recomputes(learn="head")
    assert not recomputes(recompute=False)


def test_every_weight_is_in_one_unit_and_blocks_are_units(vlm):
    network = open_parts(vlm, pixels=256).network
    units = list(shard_units(network))
    kinds = [type(unit).__name__ for unit in units]
    assert kinds.count("Qwen2VLDecoderLayer") == kinds.count("Qwen2VLVisionBlock") == 2
    assert units[-1] is network  # takes what is left


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.slow  # two processes that import everything anew, three times over
def test_torchrun_runs_the_command_and_ends_all_when_one_fails(vlm, tmp_path):
    labels = red_pairs(tmp_path / "pictures")
    (tmp_path / "asked.txt").write_text(INSTRUCTION)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", 2,
               Path(sys.executable).with_name("salon"), "train", "reward", labels, "--backbone", vlm, "--pixels", 256,
               "--instruction", tmp_path / "asked.txt", "--steps", 4, "--batch", 4, "--learn", "lora"]  # fmt: skip

    def run(*more):
        return subprocess.run([*map(str, command), *map(str, more)], capture_output=True, text=True, timeout=200)

    for shard in ("fsdp2", "zero3"):
        done = run("-o", tmp_path / shard, "--shard", shard, "--precision", "bfloat16")
        assert done.returncode == 0, done.stderr
        figures = json.loads((tmp_path / shard / "model.json").read_text())["figures"]
        assert (figures["processes"], figures["precision"], figures["shard"]) == (2, "bfloat16", shard)
    (labels.parent / "3a.png").write_bytes(b"no picture")  # in the share of one process
    done = run("-o", tmp_path / "broken", "--shard", "fsdp2")
    assert done.returncode == 1
    assert "3a.png" in done.stderr + done.stdout
