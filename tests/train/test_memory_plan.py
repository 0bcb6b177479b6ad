"""The plan of memory against measured bytes: weights, gradients and moments exactly, activations within 5%."""

import multiprocessing
import os
import warnings
import weakref

import pytest
import torch
from accelerate.state import AcceleratorState
from held_port import held_port
from PIL import Image
from reward_example import INSTRUCTION, SMALL, red_pairs, tiny, trained

from salon.cli.main import run
from salon.errors import BadValue, UnknownReference
from salon.models import open_parts
from salon.train import DistillSettings, RewardSettings, memory_plan as planning, parse_memory
from salon.train.memory_network import NumberSizes, PassLoad, VlmShape, activation_bytes, open_backbone, sharded_blocks
from salon.train.memory_plan import GB, SHARDS, available_memory, check_training, plan_distill, plan_reward
from salon.train.reward_engine import make_engine, trainable_parameters
from salon.train.training_setup import loaded_dtype, make_accelerator, make_trainable, processes


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("memory")


@pytest.mark.parametrize(("name", "published"), [("qwen2-vl-7b", 16_582_751_232), ("qwen3-vl-8b", 17_534_247_392)])
def test_named_shapes_have_as_many_parameters_as_published(name, published):
    """`total_size` of the released model.safetensors.index.json, in bfloat16."""
    assert sum(p.numel() for p in open_backbone(name).vlm().parameters()) * 2 == published


def said(capsys, *arguments):
    """Exit code and words of a command."""
    try:
        code = run([str(argument) for argument in arguments]) or 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def row(plan, name):
    return sum(row.bytes for row in plan.rows if row.name == name)


def size(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
@pytest.mark.parametrize("learn", ["full", "lora", "head"])
def test_weights_gradients_and_moments_are_those_of_a_real_step(place, tmp_path, monkeypatch, family, learn):
    vlm, labels = tiny(place / family, family), red_pairs(place / "pictures")
    settings = SMALL.model_copy(update={"learn": learn, "steps": 1, "lora_rank": 4, "choose": "last"})
    measured, networks, step = {}, [], torch.optim.AdamW.step

    def measure(self, *args, **kwargs):
        result = step(self, *args, **kwargs)
        measured["parameters"] = size(networks[0].parameters())
        measured["gradients"] = size(p.grad for group in self.param_groups for p in group["params"])
        measured["optimizer"] = size(value for state in self.state.values() for value in state.values())
        return result

    monkeypatch.setattr(torch.optim.AdamW, "step", measure)
    plain = RewardSettings.model_validate(settings.model_dump())
    make = make_trainable

    def make_and_keep(network, *args, **kwargs):
        adapters = make(network, *args, **kwargs)
        networks.append(network)
        return adapters

    monkeypatch.setattr("salon.train.reward_loop.make_trainable", make_and_keep)
    trained(vlm, labels, tmp_path, settings)
    plan = plan_reward(vlm, plain, gpu=False)
    assert {name: row(plan, name) for name in measured} == measured


class _Saved:
    """A tensor that autograd keeps; gone when it lets go of it."""

    def __init__(self, tensor):
        self.tensor = tensor


def measured_activations(network, inputs, *, half):
    """Bytes that autograd keeps after a forward pass, each storage once, without the weights; and the pixels."""
    saved, own = weakref.WeakSet(), {p.untyped_storage()._cdata for p in network.parameters()}

    def pack(tensor):
        kept = _Saved(tensor)
        saved.add(kept)
        return kept

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=half),
    ):
        quality = network(inputs)
    storages = {kept.tensor.untyped_storage()._cdata: kept.tensor.untyped_storage().nbytes() for kept in saved}
    storages[inputs["pixel_values"].untyped_storage()._cdata] = inputs["pixel_values"].nbytes
    assert quality.mu.requires_grad
    return sum(count for storage, count in storages.items() if storage not in own)


CASES = [
    ({"learn": "full"}, "weights", "weights"),
    ({"learn": "lora", "lora_on": "both", "lora_rank": 8}, "adapters", "adapters"),
    ({"learn": "lora", "lora_on": "language", "lora_rank": 8}, "adapters", "none"),
    ({"learn": "lora", "lora_on": "vision", "lora_rank": 8}, "through", "adapters"),
    ({"learn": "head"}, "none", "none"),
]


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_activations_are_within_five_percent(place, family, recompute, half):
    vlm = tiny(place / family, family)
    for update, language, vision in CASES[: 5 if family == "qwen2_vl" else 2]:
        for pixels, pairs in ((64 * 64, 1), (128 * 128, 3))[update["learn"] != "full" :]:
            settings = RewardSettings(
                pixels=pixels, at_once=pairs, recompute=recompute, precision="bfloat16" if half else "float32", **update
            )
            parts = open_parts(vlm, instruction=INSTRUCTION, pixels=pixels, dtype=loaded_dtype(settings))
            make_trainable(parts.network, settings, ties=0.0)
            for parameter in trainable_parameters(parts.network).values():
                parameter.data = parameter.data.float()  # as the engine of whole weights does
            images = [Image.new("RGB", (128, 128), (20 * number, 3, 3)) for number in range(2 * pairs)]
            texts = ["a poster" + " of a thing" * number for number in range(2 * pairs)]
            inputs = parts.questions(images, texts, ["c"] * 2 * pairs)
            measured = measured_activations(parts.network.train(), inputs, half=half)

            shape, number = VlmShape.of(parts.network.vlm.config), 2 if half else 4
            stream = 4 if update["learn"] == "full" else number
            length = inputs["input_ids"].shape[1]
            load = PassLoad(2 * pairs, shape.tower.patches(pixels), length, language, vision, settings.lora_rank)
            numbers = NumberSizes(number, stream, number, number, autocast=half)
            found = activation_bytes(shape, load, numbers, recompute=recompute)
            plan = plan_reward(vlm, settings, gpu=False, text_tokens=length - shape.tower.tokens(pixels))
            assert row(plan, "activations") == found.peak
            copies = _copies_outside(parts.network, language, vision) if recompute else row(plan, "bfloat16 copies")
            assert found.saved + (copies if half else 0) == pytest.approx(measured, rel=0.05), (update, pixels)


def _copies_outside(network, language, vision):
    """bfloat16 copies of the weights outside of the layers that are computed again."""
    inside = {id(p) for block in sharded_blocks(network.vlm) for p in block.parameters()}
    out = network.vlm.get_output_embeddings()
    total = 0
    for name, module in network.named_modules():
        if isinstance(module, torch.nn.Linear | torch.nn.Conv3d) and module is not out:
            gradient = "none" if "rm_head" in name else vision if "visual" in name else language
            before_all = isinstance(module, torch.nn.Conv3d) and gradient != "weights"
            is_cast = gradient != "none" and not before_all and module.weight.dtype == torch.float32
            if is_cast and id(module.weight) not in inside:
                total += 2 * module.weight.numel()
    return total


def _sharded(rank, port, queue, vlm):
    AcceleratorState._reset_state(reset_partial_state=True)  # the parent may have trained
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port}  # fmt: skip
    os.environ.update({name: str(value) for name, value in told.items()})
    warnings.simplefilter("ignore")  # FSDP2 warns of views that nobody changes in place
    processes()
    queue.put((rank, {shard: _measured(vlm, shard) for shard in SHARDS}))
    queue.close()
    queue.join_thread()
    os._exit(0)


def _measured(vlm, shard):
    """Bytes that this process holds after a step of the training's own engine."""
    settings = RewardSettings(pixels=256, batch=2)
    parts = open_parts(vlm, instruction=INSTRUCTION, pixels=256)
    make_trainable(parts.network, settings, ties=0.0)
    engine = make_engine(shard, parts.network, settings, make_accelerator(settings))
    buckets = []
    if shard == "none":
        engine._wrapped.register_comm_hook(buckets, _pass_on)
    engine.begin(last=True)
    quality, _ = engine(parts.questions([Image.new("RGB", (16, 16))] * 2, ["a", "b"], ["c", "c"]))
    engine.backward(quality.mu.sum() + quality.log_sigma.sum())
    whole, adamw = list(parts.network.parameters()), engine.optimizer
    if shard in ("none", "fsdp2"):
        local = lambda tensor: tensor.to_local() if hasattr(tensor, "to_local") else tensor  # noqa: E731
        gradients = size(local(p.grad) for p in whole if p.requires_grad)
        engine.step(1e-3)
        bytes_by_name = {"parameters": size(local(p) for p in whole), "gradients": gradients}
        bytes_by_name["optimizer"] = size(local(value) for state in adamw.state.values() for value in state.values())
        return bytes_by_name | ({"DDP's buckets": size(buckets)} if buckets else {})
    gradients = size(part for group in adamw.averaged_gradients.values() for part in group if part is not None)
    engine.step(1e-3)
    masters = adamw.single_partition_of_fp32_groups if shard == "zero2" else adamw.fp32_partitioned_groups_flat
    moments = [value for state in adamw.optimizer.state.values() for name, value in state.items() if name != "step"]
    return {
        "parameters": size(whole if shard == "zero2" else (p.ds_tensor for p in whole)),
        "gradients": gradients,
        "optimizer": size([*masters, *moments]),
    }


def _pass_on(buckets, bucket):
    """DDP's hook of communication, which gets every bucket."""
    buckets.append(bucket.buffer())
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def test_two_processes_hold_what_is_planned(place):
    """FSDP2's shards of the first process, and what DDP holds beside the gradients."""
    vlm = tiny(place / "qwen2_vl")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with held_port() as port:
        both = [context.Process(target=_sharded, args=(rank, port, queue, vlm)) for rank in range(2)]
        for process in both:
            process.start()
        try:
            measured = dict(queue.get(timeout=100) for _ in both)[0]
        finally:
            for process in both:
                process.join(timeout=10)
                process.kill()
    for kind, bytes_by_name in measured.items():
        plan = plan_reward(vlm, RewardSettings(pixels=256), gpus=2, shard=kind, gpu=False)
        rounding = 1e-4 if kind.startswith("zero") else 0  # DeepSpeed fills groups of parameters up to even sizes
        expected = pytest.approx(bytes_by_name, rel=rounding, abs=0)
        assert {name: row(plan, name) for name in bytes_by_name} == expected


def test_what_does_not_fit_gets_the_smallest_change():
    settings = RewardSettings(learn="lora", precision="bfloat16", at_once=1, recompute=False)
    assert plan_reward("qwen2-vl-7b", settings, memory=24 * GB).change == "--recompute"
    assert plan_reward("qwen2-vl-7b", settings, memory=80 * GB).change is None
    full = RewardSettings(precision="bfloat16", batch=64, recompute=True)
    assert plan_reward("qwen2-vl-7b", full, memory=80 * GB, gpus=48).change == "--shard fsdp2"
    nothing = plan_reward("qwen2-vl-7b", full, memory=8 * GB)
    assert nothing.fits is False
    assert nothing.change is None


def test_a_copy_of_the_model_as_it_began_is_needed_for_beta_alone():
    plans = [plan_distill("qwen3-vl-8b", DistillSettings(beta=beta), gpus=8) for beta in (0.04, 0.0)]
    assert [row(plan, "reference") for plan in plans] == [4 * 8_767_123_696, 0]
    lora = plan_distill("qwen3-vl-8b", DistillSettings(learn="lora"), gpus=8)
    assert row(lora, "reference") == 0
    assert row(lora, "gradients") == 4 * lora.trained
    small = plan_distill("qwen3-vl-8b", DistillSettings(learn="lora", at_once=1, recompute=True), gpus=1)
    cache = 6 * 64 * small.tokens * 2 * 36 * 8 * 128 * 2  # answers, tokens, keys and values, layers, heads, bytes
    assert row(small, "generation") + row(small, "activations") + row(small, "bfloat16 copies") == cache


def test_a_training_is_refused_only_where_what_is_exact_exceeds_the_memory(place, tmp_path, monkeypatch, capsys):
    vlm = tiny(place / "qwen2_vl")
    plan = plan_reward(vlm, SMALL, gpu=False)
    check_training(vlm, SMALL, memory=plan.fixed)  # activations would not fit: no reason to refuse
    with pytest.raises(BadValue, match=r"(?s)must fit.*parameters that learn"):
        check_training(vlm, SMALL, memory=plan.fixed - 1)
    monkeypatch.setattr(planning, "available_memory", lambda processes: 10)
    with pytest.raises(BadValue, match="10 B there"):
        check_training(vlm, DistillSettings())
    check_training("nobody/knows", SMALL)  # a hub's name: nothing to plan from
    told = ("train", "reward", tmp_path, "-o", tmp_path / "model", "--backbone", vlm, "--memory", "1MB")
    code, words = said(capsys, *told)
    assert code == 2
    assert "must fit" in words
    assert not (tmp_path / "model").exists()


def test_the_command_prints_a_plan_and_needs_no_data(capsys):
    told = ("train", "reward", "--backbone", "qwen2-vl-7b", "--plan", "--gpus", "48", "--memory", "80GB",
            "--precision", "bfloat16")  # fmt: skip
    code, words = said(capsys, *told, "--json")
    assert code == 0
    assert '"gpus": 48' in words
    assert '"memory": 80000000000' in words
    _, table = said(capsys, *told)
    assert "it does not fit into 80.0 GB" in table
    assert "smallest change that fits: --shard fsdp2" in table
    for arguments, expected in (
        (("train", "reward", "--backbone", "qwen2-vl-7b"), "SOURCE is needed"),
        (("train", "reward", "--backbone", "nobody", "--plan"), "qwen3-vl-8b"),
        (("train", "reward", "--backbone", "qwen2-vl-7b", "--plan", "--memory", "much"), "80GB"),
    ):
        code, words = said(capsys, *arguments)
        assert code == 2
        assert expected in words
    code, words = said(capsys, "distill", "train", "--vlm", "qwen3-vl-8b", "--plan")
    assert code == 0
    assert "reference" in words


def test_memory_is_read_with_its_unit():
    assert [parse_memory(text) for text in ("80GB", "24 GiB", "512MB", "1.5T")] == [
        80 * GB, 24 * 2**30, 512 * 10**6, 1500 * GB
    ]  # fmt: skip
    for text in ("", "much", "0GB", "-1GB"):
        with pytest.raises(BadValue, match="80GB"):
            parse_memory(text)
    assert available_memory(2) == available_memory(1) // 2


def test_a_backbone_of_another_kind_is_planned_without_activations(place, monkeypatch):
    monkeypatch.setattr("salon.train.memory_network.FAMILIES", ())
    plan = plan_reward(tiny(place / "qwen2_vl"), SMALL, gpu=False)
    assert row(plan, "gradients")
    assert not row(plan, "activations")
    with pytest.raises(UnknownReference):
        open_backbone(place)
