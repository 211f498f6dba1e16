"""torch's copies on a CUDA device, plain and accelerated; on the CPU that the comparison sees what is wrong."""

import sys
from importlib.util import find_spec

import pytest

from tests.processes import ended

MODULE = "tests.integration.accelerate.torch_copies"
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")


@pytest.mark.thorough
@needs_torch
def test_torch_s_copies_are_the_same_accelerated() -> None:
    done = ended(sys.executable, "-m", MODULE)
    if done.returncode == 77:
        pytest.skip("needs a CUDA device that torch can use")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_torch
def test_a_result_that_differs_in_a_byte_a_type_or_a_shape_is_wrong() -> None:
    import torch

    from tests.integration.accelerate.torch_copies import same

    whole = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    other = whole.clone()
    other[1, 2] += 1
    assert same(whole, whole.clone())
    assert same(whole.t(), whole.t().contiguous())
    assert not same(whole, other)
    assert not same(whole, whole.double())
    assert not same(whole, whole.reshape(3, 2))
