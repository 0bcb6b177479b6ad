"""Model folders of strangers: weights are read, code that lies beside them never runs, whatever is typed."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig, AutoImageProcessor, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

from salon.models.weights import MissingWeights, load_from_hub

CODE = """
from pathlib import Path
Path({place!r}).write_text("it ran")
from transformers import PretrainedConfig
class Evil(PretrainedConfig):
    model_type = "evil"
"""
AUTO = (AutoConfig, AutoModelForImageTextToText, AutoTokenizer, AutoProcessor, AutoImageProcessor)


@pytest.mark.parametrize("auto", AUTO)
def test_code_in_a_model_folder_is_refused_without_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auto: Any
) -> None:
    folder, ran = tmp_path / "evil", tmp_path / "ran"
    folder.mkdir()
    (folder / "code.py").write_text(CODE.format(place=str(ran)))
    told = {"model_type": "evil", "auto_map": {one.__name__: "code.Evil" for one in AUTO}}
    told["auto_map"]["AutoTokenizer"] = ["code.Evil", None]
    for name in ("config", "tokenizer_config", "preprocessor_config", "processor_config"):
        (folder / f"{name}.json").write_text(json.dumps(told))
    asked = []
    monkeypatch.setattr(builtins, "input", lambda *words: asked.append(words) or "y")
    with pytest.raises(MissingWeights, match="code"):
        load_from_hub(auto.from_pretrained, folder, what="a model")
    assert not asked
    assert not ran.exists()
