"""vLLM's `--load-format isthmus`: weights from safetensors files by `isthmus.torch.load_file`, a file at a time.

What is downloaded, which files count and what becomes of the tensors is vLLM's own. It asks a loader for whole tensors
and cuts them itself, so that each rank of several has whole files cross its link, and cuts on the device.
"""

import dataclasses
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
import vllm

from isthmus import __version__
from isthmus.errors import UsageError
from isthmus.torch import load_file

try:
    from vllm.model_executor.model_loader import default_loader
    from vllm.model_executor.model_loader.default_loader import DefaultModelLoader
    from vllm.model_executor.model_loader.ep_weight_filter import should_skip_weight

    _ = DefaultModelLoader._prepare_weights, DefaultModelLoader._get_weights_iterator, DefaultModelLoader.Source
except (ImportError, AttributeError) as error:
    raise UsageError(
        f"--load-format isthmus of Isthmus {__version__} is for vLLM 0.26 to 0.33; this is vLLM {vllm.__version__}: "
        f"{error}"
    ) from None

Weights = Iterator[tuple[str, torch.Tensor]]


class Loader(DefaultModelLoader):  # type: ignore[misc]
    """vLLM's default loader for safetensors, whose tensors come on the model's device, as views of one file's memory.

    For its time a file takes its own size there; where that is not to be had, vLLM reads the file as it does without
    Isthmus. It reads all of them where it was given a strategy, or files of other formats.
    """

    _device = torch.device("cpu")
    counter_before_loading_weights: float

    def __init__(self, load_config: Any) -> None:
        super().__init__(dataclasses.replace(load_config, load_format="safetensors"))

    def get_all_weights(self, model_config: Any, model: torch.nn.Module) -> Weights:
        """All tensors with their names, as vLLM's models take them."""
        devices = (parameter.device for parameter in model.parameters() if parameter.device.type != "meta")
        # A model that is quantized while it is loaded may have no parameter anywhere yet.
        self._device = next(devices, None) or torch.get_default_device()
        return super().get_all_weights(model_config, model)  # type: ignore[no-any-return]

    def _get_weights_iterator(self, source: Any) -> Weights:
        # Either leaves out tensors or makes others of them, by means of vLLM's own.
        special = self.load_config.safetensors_load_strategy or getattr(self, "_encoder_only_lm_prefixes", None)
        if self.load_config.model_loader_extra_config.get("enable_multithread_load") or special:
            return super()._get_weights_iterator(source)  # type: ignore[no-any-return]
        _, files, are_safetensors, *_ = self._prepare_weights(
            source.model_or_path,
            source.subfolder,
            source.revision,
            source.fall_back_to_pt,
            source.allow_patterns_overrides,
        )
        if not are_safetensors:
            return super()._get_weights_iterator(source)  # type: ignore[no-any-return]
        if self.counter_before_loading_weights == 0.0:
            self.counter_before_loading_weights = time.perf_counter()
        return self._loaded(source.prefix, files)

    def _loaded(self, prefix: str, files: Iterable[str]) -> Weights:
        are_divided = getattr(self, "local_expert_ids", None) is not None
        for file in sorted(files):
            try:
                tensors = load_file(file, self._device, part=self._nothing_of_other_experts if are_divided else None)
            except torch.OutOfMemoryError:
                for name, tensor in default_loader.safetensors_weights_iterator([file], False):
                    if not (are_divided and self._is_other_expert(name)):
                        yield prefix + name, tensor
                continue
            # Taken out one by one, so that nothing of a file is left when the next one is loaded.
            for name in list(tensors):
                tensor = tensors.pop(name)
                if not (are_divided and self._is_other_expert(name)):
                    yield prefix + name, tensor
                del tensor

    def _is_other_expert(self, name: str) -> bool:
        """Whether another rank has this one, where experts are divided between ranks."""
        return bool(should_skip_weight(name, getattr(self, "local_expert_ids", None)))

    def _nothing_of_other_experts(self, name: str, shape: tuple[int, ...]) -> tuple[int, int, int] | None:
        return (0, 0, 0) if shape and self._is_other_expert(name) else None
