"""Advice for programs of other vendors: of HIP, whose functions are CUDA's by other names, and of torch with SYCL."""

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
_OF_TORCH = re.compile(r"\btorch\.cuda\b|\"cuda\"")


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
