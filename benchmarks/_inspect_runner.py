"""The same questions through inspect_ai's runner: its own client, scheduler and log. For `judge_calls`."""

from __future__ import annotations

import importlib
import time
from pathlib import Path


def inspect_seconds(url: str, texts: list[str], width: int, folder: Path) -> float:
    """Processor seconds for all texts, answers written to its log as it does by itself."""
    inspect, dataset, models, solver = (
        importlib.import_module(f"inspect_ai{part}") for part in ("", ".dataset", ".model", ".solver")
    )
    settings = models.GenerateConfig(max_connections=width, temperature=0, max_tokens=64, logprobs=True, top_logprobs=5)
    model = models.get_model("openai-api/local/echo", base_url=url, api_key="none", config=settings, memoize=False)
    samples = dataset.MemoryDataset([dataset.Sample(input=text) for text in texts])
    task = inspect.Task(dataset=samples, solver=solver.generate())
    started = time.process_time()
    (log,) = inspect.eval(task, model=model, log_dir=str(folder), display="none", max_samples=width)
    seconds = time.process_time() - started
    assert log.status == "success", log.error
    assert [one.output.completion for one in log.samples] == ["A"] * len(texts)
    return seconds
