"""What vLLM calls in each of its processes: adds the load format `isthmus`, importing nothing until it is asked for."""

import importlib.abc
import importlib.util
import logging
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LOAD_FORMAT = "isthmus"
_HOST = "vllm.model_executor.model_loader"


def register() -> None:
    """Add the format where vLLM has its loaders already, else as soon as it imports them. Raises nothing."""
    try:
        if _HOST in sys.modules:
            _add(sys.modules[_HOST])
        elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
    except Exception as error:  # who installed Isthmus need not use it, and wants vLLM to start
        _warn(error)


class _Finder(importlib.abc.MetaPathFinder):
    """Has the module of loaders executed as it would be, and the format added at its end."""

    _is_asking = False

    def find_spec(self, name: str, *_: Sequence[str] | ModuleType | None) -> ModuleSpec | None:
        if name != _HOST or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def then_add(module: ModuleType) -> None:
                execute(module)
                try:
                    sys.meta_path.remove(self)
                    _add(module)
                except Exception as error:
                    _warn(error)

            spec.loader.exec_module = then_add  # type: ignore[method-assign]
        return spec


def _add(host: Any) -> None:
    class IsthmusModelLoader(host.BaseModelLoader):  # type: ignore[misc]
        """Stands for the loader until one is wanted."""

        def __new__(cls, load_config: Any) -> Any:
            from isthmus.plugins.vllm_weights import Loader

            return Loader(load_config)

    host.register_model_loader(LOAD_FORMAT)(IsthmusModelLoader)


def _warn(error: Exception) -> None:
    logging.getLogger("isthmus").warning("--load-format %s is not there: %s", LOAD_FORMAT, error)
