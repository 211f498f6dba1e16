"""Names of calls lose the versions that tools and the driver append, and nothing else."""

import pytest

from isthmus.trace.recorded import call_name


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ("cudaMemcpyAsync_v3020", "cudaMemcpyAsync"),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
        ("cudaMemcpy_v3020, by isthmus accelerate", "cudaMemcpy, by isthmus accelerate"),
        ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
        ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
        ("cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoH"),
        ("cudaMemcpy2DAsync", "cudaMemcpy2DAsync"),
        ("cuLaunchKernel", "cuLaunchKernel"),
        ("cuda_v", "cuda_v"),
        ("attention_v2", "attention_v2"),
        ("", ""),
    ],
)
def test_a_call_is_named_as_programs_write_it(recorded: str, expected: str) -> None:
    assert call_name(recorded) == expected
