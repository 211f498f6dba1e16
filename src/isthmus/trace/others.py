"""Files of others that people take for traces: what each is, and the command that makes a trace of it, or gets it."""

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

# How files begin that are no traces.
_BEGINNINGS = {
    re.compile(rb"version https://git-lfs\.github\.com/spec/"): (
        "a pointer of Git LFS in place of the file; get it: git lfs pull --include {name}"
    ),
    re.compile(rb"PK\x03\x04"): "a zip archive; unpack it, and give the trace in it: unzip {name}",
    re.compile(rb'\s*(\[\s*)?\{"(Type|data)":'): (
        "JSON of nsys, which is not read; make the other export: nsys export --type sqlite {stem}.nsys-rep"
    ),
    re.compile(
        rb"==\d+== "
    ): "text that nvprof printed; record with nsys profile --trace=cuda, then nsys export --type sqlite",
}
_REPORTS = {
    (
        ".nsys-rep",
        ".qdrep",
    ): "a report of nsys, which nsys alone reads; make an export: nsys export --type sqlite {name}",
    (".ncu-rep",): "a report of Nsight Compute, which has no copies; record with isthmus trace",
    (".pb", ".xplane"): (
        "a profile of XLA; its folder has the same as JSON, {stem}.trace.json.gz or perfetto_trace.json.gz: give that"
    ),
    (".pftrace", ".proto", ".perfetto-trace"): (
        "a trace of Perfetto in its own format, which is not read; give the trace that it was made from"
    ),
}


def what_it_is(path: Path, begin: bytes) -> str:
    """What a file is that begins so and is no trace, and what to do; empty for what is not known."""
    beginnings = (words for beginning, words in _BEGINNINGS.items() if beginning.match(begin))
    suffixes = (words for names, words in _REPORTS.items() if path.suffix in names)
    known = next(chain(beginnings, suffixes), "")
    return known.format(path=path, name=path.name, stem=path.name.partition(".")[0])


def what_database(tables: Iterable[str]) -> str:
    """Whose SQLite database has tables of these names, and what to do; empty for what is not known."""
    names = list(tables)
    if any(name.startswith("rocpd_") for name in names):
        return (
            "a database of rocprofv3 (rocpd), which is not read; copies of ROCm are read from traces of torch: "
            "torch.profiler with export_chrome_trace('trace.json')"
        )
    if any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in names):
        return "a database of nvprof, which is not read; record with nsys profile --trace=cuda, and export that"
    return ""
