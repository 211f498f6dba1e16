"""Code that shows a change: that of a plan's method where it is one, else a text of its own."""

from collections.abc import Mapping
from importlib.resources import files

from isthmus.advice.records import Interface
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
