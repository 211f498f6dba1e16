"""Calls that copy memory of the host are hooked, those of the newest CUDA too: no copy goes by unseen."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

NvidiaFile = Callable[[str, str, str], Path]

# Copies of cuda.h that are not hooked, and why.
WITHOUT_THE_HOST = {
    "cuMemcpyDtoD": "within a device",
    "cuMemcpyDtoDAsync": "within a device",
    "cuMemcpyDtoA": "within a device",
    "cuMemcpyAtoD": "within a device",
    "cuMemcpyAtoA": "within a device",
    "cuMemcpyPeer": "between devices",
    "cuMemcpyPeerAsync": "between devices",
}
# Names that programs got before CUDA 4.0, with addresses of 32 bits: no process of 64 bits can copy by them.
NEWEST_OLD_VERSION = 3000


@pytest.fixture
def headers(nvidia_file: NvidiaFile) -> tuple[str, str]:
    """The text of cuda.h, and of cudaTypedefs.h, which says since when there is what."""
    package = "nvidia-cuda-runtime"
    return (
        nvidia_file("nvidia.cu13", "include/cuda.h", package).read_text("utf-8"),
        nvidia_file("nvidia.cu13", "include/cudaTypedefs.h", package).read_text("utf-8"),
    )


def rows(repository: Path, library: str) -> list[tuple[str, str, str, str, str]]:
    """Symbol, suffix, name, since and before of all that a library hooks."""
    text = (repository / "native" / library / "functions.hpp").read_text("utf-8")
    return re.findall(r"X\((\w+), (\w*), ?(\w+), (\d+), (\w+),", re.sub(r"\s*\\\n\s*", " ", text))


def hooked(repository: Path, header: str) -> dict[str, set[tuple[str, str, int]]]:
    """By the name that cuGetProcAddress knows: symbol, suffix and the first version of each that the header knows."""
    version = re.search(r"#define CUDA_VERSION (\d+)", header)
    assert version is not None
    hooks: dict[str, set[tuple[str, str, int]]] = {}
    for symbol, suffix, name, since, _ in rows(repository, "accelerator"):
        if int(since) <= int(version[1]):
            hooks.setdefault(name, set()).add((symbol, suffix, int(since)))
    return hooks


def versions(typedefs: str, beyond: int = 0) -> dict[str, set[int]]:
    """Which versions of CUDA brought a function of this name, later than one."""
    found: dict[str, set[int]] = {}
    for name, version in re.findall(r"PFN_(cu\w+?)_v(\d+)\)", typedefs):
        if int(version) > beyond:
            found.setdefault(name, set()).add(int(version))
    return found


def test_every_copy_of_the_newest_driver_is_taken_or_counted(repository: Path, headers: tuple[str, str]) -> None:
    header, typedefs = headers
    hooks = hooked(repository, header)
    copies = {re.sub(r"_(v\d+|pt[ds][sz])$", "", name) for name in re.findall(r"CUDAAPI (cuMemcpy\w*)\(", header)}
    assert copies - set(WITHOUT_THE_HOST) == {name for name in hooks if name.startswith("cuMemcpy")}
    since = versions(typedefs, NEWEST_OLD_VERSION)
    for name in copies - set(WITHOUT_THE_HOST):
        assert {version for _, _, version in hooks[name]} == since[name], name


def test_each_has_the_driver_s_symbol_and_variant(repository: Path, headers: tuple[str, str]) -> None:
    header, typedefs = headers
    since = versions(typedefs)
    for name, variants in hooked(repository, header).items():
        for symbol, suffix, version in variants:
            assert re.search(rf"\b{symbol}\b", header), symbol
            assert version in since[name], (name, version)
            # One for the thread's own default stream, too, if the driver has one.
            has_variant = re.search(rf"PFN_{name}_v\d+_pt[ds][sz]\)", typedefs) is not None
            assert suffix or not has_variant, symbol
            if suffix:
                assert f"PFN_{name}_v7000{suffix})" in typedefs or f"_v{version}{suffix})" in typedefs, symbol


@pytest.mark.parametrize("library", ["accelerator", "races"])
def test_every_version_of_a_hooked_function_is_hooked(library: str, repository: Path, headers: tuple[str, str]) -> None:
    """NVIDIA's runtime looks up `cuDevicePrimaryCtxReset` as CUDA 7.0 had it, however new it is."""
    hooks = rows(repository, library)
    for name, since in versions(headers[1]).items():
        ranges = [
            (int(first), float("inf") if end == "INT_MAX" else int(end))
            for _, _, each, first, end in hooks
            if each == name
        ]
        for version in since if ranges else ():
            is_newest = version == max(since)
            assert any(first <= version < end for first, end in ranges) or (
                version <= NEWEST_OLD_VERSION and not is_newest
            ), (name, version)
