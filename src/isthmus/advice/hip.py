"""Advice for programs of HIP, whose functions are CUDA's by other names."""

import re
from dataclasses import replace

from isthmus.advice.rule import Words

# Those whose names differ by more than their beginning.
_OTHERS = {
    "cuda_runtime.h": "hip/hip_runtime.h",
    "cudaMallocHost": "hipHostMalloc",
    "cudaHostAlloc": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
}
_CUDA = re.compile(r"cuda_runtime\.h|\bcuda[A-Z]\w*")


def words_in_hip(words: Words) -> Words:
    """The words of a finding for a program of HIP: its names in the texts, and its code in place of CUDA's."""
    snippets = {"hip" if name == "cuda" else name: code for name, code in words.snippets.items()}
    if "hip" in snippets:
        snippets["hip"] = in_hip(snippets["hip"])
    return replace(words, cause=in_hip(words.cause), change=in_hip(words.change), snippets=snippets)


def in_hip(text: str) -> str:
    """A text or code with what HIP calls the functions and types of CUDA's runtime."""
    return _CUDA.sub(lambda match: _OTHERS.get(match[0]) or "hip" + match[0].removeprefix("cuda"), text)
