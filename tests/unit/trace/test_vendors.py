"""What functions of each vendor do is known by their names."""

import pytest

from isthmus.trace import vendors


@pytest.mark.parametrize(
    ("name", "vendor", "does"),
    [
        ("cudaMemcpyAsync", "CUDA", {"copies", "asynchronous"}),
        ("cuMemcpyHtoD", "CUDA", {"copies"}),
        ("cuMemcpyDtoDAsync", "CUDA", {"asynchronous"}),
        ("cudaMemcpyPeer", "CUDA", set()),
        ("cudaStreamSynchronize", "CUDA", {"waits"}),
        ("cuMemHostRegister", "CUDA", {"pins"}),
        ("cudaFreeHost", "CUDA", {"unpins"}),
        ("hipMemcpyWithStream", "HIP", {"copies"}),
        ("hipHostMalloc", "HIP", {"pins"}),
        ("hipHostFree", "HIP", {"unpins"}),
        ("hipDeviceSynchronize", "HIP", {"waits"}),
        ("urEnqueueUSMMemcpy", "SYCL", {"copies", "asynchronous"}),
        ("urQueueFinish", "SYCL", {"asynchronous", "waits"}),
        ("clEnqueueWriteBuffer", "OpenCL", {"copies"}),
        ("clFinish", "OpenCL", {"waits"}),
        ("current_stream", None, set()),
        ("clearCache", None, set()),
    ],
)
def test_a_function_is_known_by_its_name(name: str, vendor: str | None, does: set[str]) -> None:
    found = vendors.vendor_of(name)
    assert (found.name if found else None) == vendor
    every = ("copies", "asynchronous", "waits", "pins", "unpins")
    assert {what for what in every if getattr(vendors, what)(name)} == does
