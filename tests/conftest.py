"""What all tests share: runs whose truth is known."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The module tests/synthetic.py, which tests cannot import by name because they are no package."""
    spec = spec_from_file_location("isthmus_tests_synthetic", Path(__file__).with_name("synthetic.py"))
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    # Dataclasses look their module up while they are made.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
