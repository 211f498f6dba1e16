"""Code that shows a change: that of a plan's method, or a text of its own; and what other vendors call it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from isthmus.advice.records import Interface
from isthmus.advice.rule import Words
from isthmus.plan import SNIPPET_LANGUAGES, Method, snippet, snippet_languages
from isthmus.record import Interval, Need

_LANGUAGES: Mapping[Interface, tuple[str, ...]] = {
    "cuda": ("cuda", "torch", "cupy", "isthmus"),
    "opencl": ("opencl", "isthmus"),
}
# Those that code comes in.
ADVICE_LANGUAGES = (*SNIPPET_LANGUAGES, "hip")
# What a change calls, by what it is for.
CALLS: Mapping[str, Mapping[str, str]] = {
    "pin": {
        "cuda": "cudaMallocHost",
        "torch": "torch.empty(..., pin_memory=True)",
        "opencl": "clEnqueueMapBuffer (CL_MEM_ALLOC_HOST_PTR)",
    },
    "rows_h2d": {"cuda": "cudaMemcpy2DAsync", "opencl": "clEnqueueWriteBufferRect"},
    "rows_d2h": {"cuda": "cudaMemcpy2DAsync", "opencl": "clEnqueueReadBufferRect"},
    "asynchronous": {
        "cuda": "cudaMemcpyAsync",
        "torch": "copy_(..., non_blocking=True)",
        "opencl": "clEnqueueWriteBuffer (CL_FALSE)",
    },
}
# Code does not depend on the time that a method takes.
_NO_TIME = Interval(0.0, 0.0, 0.0)
# Those whose names differ by more than their beginning.
_OTHERS = {
    "cuda_runtime.h": "hip/hip_runtime.h",
    "cudaMallocHost": "hipHostMalloc",
    "cudaHostAlloc": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
}
_CUDA = re.compile(r"cuda_runtime\.h|\bcuda[A-Z]\w*")
_OF_TORCH = re.compile(r"\btorch\.cuda\b|\"cuda\"")


def way_code(need: Need, name: str, interface: Interface, options: Mapping[str, int] | None = None) -> dict[str, str]:
    """The calls of a method to meet a need, in every library of programs of this interface that has them."""
    method = Method(name, _NO_TIME, options=dict(options or {}))
    known = snippet_languages(need, name)
    return {language: snippet(need, method, language) for language in _LANGUAGES[interface] if language in known}


def own_code(name: str, interface: Interface) -> dict[str, str]:
    """The change of this name in every library of programs of this interface that has the calls for it."""
    folder = files(__package__) / "snippets"
    paths = {language: folder / language / f"{name}.txt" for language in _LANGUAGES[interface]}
    return {language: file.read_text("utf-8") for language, file in paths.items() if file.is_file()}


def words_of_vendor(words: Words, vendor: str) -> Words:
    """The words of a finding for a program of this vendor's: its names in the texts and in the code."""
    if vendor == "HIP":
        snippets = {"hip" if name == "cuda" else name: code for name, code in words.snippets.items()}
        snippets |= {"hip": in_hip(snippets["hip"])} if "hip" in snippets else {}
        return replace(words, cause=in_hip(words.cause), change=in_hip(words.change), snippets=snippets)
    if vendor == "SYCL" and "torch" in words.snippets:
        return replace(words, snippets={"torch": in_xpu(words.snippets["torch"])})
    return words


def in_hip(text: str) -> str:
    """A text or code with what HIP calls the functions and types of CUDA's runtime."""
    return _CUDA.sub(lambda match: _OTHERS.get(match[0]) or "hip" + match[0].removeprefix("cuda"), text)


def in_xpu(code: str) -> str:
    """Code of torch with Intel's devices in place of NVIDIA's."""
    return _OF_TORCH.sub(lambda match: match[0].replace("cuda", "xpu"), code)
