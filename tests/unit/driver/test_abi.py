"""The hand-written declarations of vendor libraries are those of the vendors' own headers: compiling is the test.

For each library a program is written from our header: one assertion per function of its X-list, per constant and per
member of a structure. It sees both headers, ours and the vendor's, so a wrong type, a wrong number or a name that the
vendor does not know is an error of the compiler, which names it.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Library:
    """What ties one of our headers to the vendor's."""

    namespace: str
    functions: str  # the name of the X-list
    vendor: str  # the vendor's header and what must be defined before it
    package: str  # what brings that header
    header: str
    prefixes: dict[str, str]  # a constant of ours that begins so is the vendor's that begins so
    constants: dict[str, str]  # those that no prefix explains
    # Our structure, the vendor's, and its members in both.
    structures: dict[str, tuple[str, dict[str, str]]]


VENDORS = json.loads((HERE / "vendors.json").read_text("utf-8"))
# CUDA's is included so that each version of a function is under its exported symbol, in place of macros for the newest.
LIBRARIES = {name: Library(**library) for name, library in VENDORS["libraries"].items()}
CUDA, CUPTI, OPENCL = (LIBRARIES[name] for name in ("cuda", "cupti", "opencl"))
# What begins our record of CUPTI's, in each of the vendor's versions that its newest headers still have.
RECORDS: dict[str, tuple[list[str], dict[str, str]]] = VENDORS["records"]

NvidiaFile = Callable[[str, str, str], Path]
RunCpp = Callable[..., str]


def our_header(repository: Path, library: Library) -> str:
    return (repository / "native" / "driver" / f"{library.namespace}_api.hpp").read_text("utf-8")


def vendor_constant(library: Library, name: str) -> str:
    if name in library.constants:
        return library.constants[name]
    prefix = next((prefix for prefix in library.prefixes if name.startswith(prefix)), None)
    assert prefix is not None, f"say in vendors.json which constant of {library.header} {library.namespace}::{name} is"
    return library.prefixes[prefix] + name.removeprefix(prefix).upper()


def assertions(text: str, library: Library) -> Iterator[str]:
    """One line of C++ for each thing that our header declares."""
    ours = f"isthmus::{library.namespace}"

    functions = re.findall(r"^ *X\((\w+), (?:\"(\w+)\"|\d+),", text, re.MULTILINE)
    yield "#define COUNT(...) +1"
    yield f'static_assert(0 {library.functions}(COUNT) == {len(functions)}, "an entry of the X-list was overlooked");'
    for function, symbol in functions:
        yield f"EXPECT_CALLABLE({ours}::Api, {function}, {symbol or function});"

    for name in re.findall(r"^inline constexpr [\w:]+ (\w+) =", text, re.MULTILINE):
        yield f"EXPECT_VALUE({ours}::{name}, {vendor_constant(library, name)});"

    # Tables and sources of functions are ours alone.
    structures = set(re.findall(r"^struct (?:alignas\(\d+\) )?(\w+) {", text, re.MULTILINE)) - {"Api", "Source"}
    assert structures == set(library.structures), "say in vendors.json which structure of the vendor each of ours is"
    for name, (theirs, members) in library.structures.items():
        yield f"static_assert(abi::same<{ours}::{name}, ::{theirs}>());"
        for our_member, their_member in members.items():
            yield f"EXPECT_MEMBER({ours}::{name}, {our_member}, ::{theirs}, {their_member});"


def program(library: Library, lines: Iterator[str]) -> str:
    head = [library.vendor, '#include "abi.hpp"', f'#include "driver/{library.namespace}_api.hpp"']
    return "\n".join([*head, *lines, "int main() {}", ""])


def headers(library: Library, nvidia_file: NvidiaFile) -> Path:
    """The folder with the vendor's header; skips where one is missing that it includes."""
    if library is CUPTI:
        nvidia_file("nvidia.cu13", "include/crt/host_defines.h", "nvidia-cuda-crt")
    nvidia_file("nvidia.cu13", f"include/{library.header}", library.package)
    return nvidia_file("nvidia.cu13", "include", library.package)


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_declarations_are_those_of_the_vendor(
    library: Library, repository: Path, tmp_path: Path, nvidia_file: NvidiaFile, run_cpp: RunCpp
) -> None:
    include = headers(library, nvidia_file)
    source = tmp_path / "abi.cpp"
    source.write_text(program(library, assertions(our_header(repository, library), library)))
    run_cpp(source, flags=(f"-I{include}", f"-I{HERE}", "-Wno-deprecated-declarations"))


def test_records_begin_as_those_of_the_vendor(
    repository: Path, tmp_path: Path, nvidia_file: NvidiaFile, run_cpp: RunCpp
) -> None:
    include = headers(CUPTI, nvidia_file)
    ours = (repository / "native" / "driver" / "cupti_records.hpp").read_text("utf-8")
    assert set(re.findall(r"^struct (\w+) {", ours, re.MULTILINE)) == set(RECORDS)
    lines = [CUPTI.vendor, '#include "abi.hpp"', '#include "driver/cupti_records.hpp"']
    for name, (versions, members) in RECORDS.items():
        for version in versions:
            lines += [
                f"EXPECT_MEMBER(isthmus::cupti::{name}, {mine}, ::{version}, {theirs});"
                for mine, theirs in members.items()
            ]
    source = tmp_path / "records.cpp"
    source.write_text("\n".join([*lines, "int main() {}", ""]))
    run_cpp(source, flags=(f"-I{include}", f"-I{HERE}", "-Wno-deprecated-declarations"))


def test_places_in_the_table_of_an_opencl_driver(repository: Path, tmp_path: Path, run_cpp: RunCpp) -> None:
    places = re.findall(r"^ *X\((\w+), (\d+),", our_header(repository, OPENCL), re.MULTILINE)
    assert places
    source = tmp_path / "places.cpp"
    lines = [
        "#include <cstddef>",
        "#include <cstdio>",
        "#if __has_include(<CL/cl_icd.h>)",
        OPENCL.vendor,
        "#include <CL/cl_icd.h>",
        *(f"static_assert(offsetof(cl_icd_dispatch, {name}) == {place} * sizeof(void*));" for name, place in places),
        'int main() { std::puts("compared"); }',
        "#else",
        'int main() { std::puts("no header"); }',
        "#endif",
        "",
    ]
    source.write_text("\n".join(lines))
    if run_cpp(source, flags=("-Wno-deprecated-declarations",)) == "no header\n":
        pytest.skip("needs CL/cl_icd.h, which no package of the extra brings: apt install opencl-c-headers")


def test_a_wrong_declaration_is_noticed(
    repository: Path, tmp_path: Path, nvidia_file: NvidiaFile, run_cpp: RunCpp
) -> None:
    include = nvidia_file("nvidia.cu13", "include/cuda.h", CUDA.package).parent
    source = tmp_path / "wrong.cpp"
    wrong = [
        "struct Api { struct { using Pointer = int (*)(unsigned long long, int); } cuMemFree; };",
        "EXPECT_CALLABLE(Api, cuMemFree, cuMemFree_v2);",
        "EXPECT_VALUE(3, CUDA_ERROR_OUT_OF_MEMORY);",
    ]
    source.write_text(program(CUDA, iter(wrong)))
    with pytest.raises(AssertionError) as failure:
        run_cpp(source, flags=(f"-I{include}", f"-I{HERE}"))
    assert "cuMemFree is not declared as the vendor declares cuMemFree_v2" in str(failure.value)
    assert "3 is not CUDA_ERROR_OUT_OF_MEMORY" in str(failure.value)
