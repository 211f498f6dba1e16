"""Files of others that people take for traces: what each is, and the command that makes a trace of it, or gets it."""

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from isthmus.trace.vendors import ROCPROFV3

# How files begin that are no traces.
_BEGINNINGS = {
    re.compile(rb"version https://git-lfs\.github\.com/spec/"): (
        "a pointer of Git LFS in place of the file; get it: git lfs pull --include {name}"
    ),
    re.compile(rb"PK\x03\x04"): "a zip archive; unpack it, and give the trace in it: unzip {name}",
    re.compile(rb'\s*(\[\s*)?\{"(Type|data)":'): (
        "JSON of nsys, which is not read; make the other export: nsys export --type sqlite {stem}.nsys-rep"
    ),
    re.compile(rb'\s*\{\s*"schema":\s*"[\w.+-]+",\s*"pid":'): (
        "an execution trace of torch, which has no times of devices; record with torch.profiler, and "
        "export_chrome_trace('trace.json')"
    ),
    **{
        re.compile(
            begin
        ): f"{kind} file, as nsys exports; make the other export: nsys export --type sqlite {{stem}}.nsys-rep"
        for begin, kind in (
            (rb"\x89HDF\r\n\x1a\n", "an HDF5"),
            (rb"PAR1", "a Parquet"),
            (rb"ARROW1|\xff{4}", "an Arrow"),
        )
    },
    re.compile(rb'\s*"?(Kind|Domain|Guid)"?,.*"?(Direction|Start_Timestamp|Correlation_Id|Function)"?'): (
        f"CSV of rocprofv3; record with: {ROCPROFV3}, and give {{json}} (without CSV's sizes, nothing can be priced)"
    ),
    re.compile(rb'\s*"?(Name|Index|KernelName)"?,.*"?(BeginNs|DurationNs|TotalDurationNs)"?'): (
        "CSV of rocprof, which has no copies one by one; give the JSON next to it: results.json of rocprof --hip-trace"
    ),
    re.compile(rb'\s*"?(Time \(%\)|Start \(ns\)|Total Time \(ns\)|Time\(%\)|Total \(MB\))"?,'): (
        "CSV that nsys stats printed; give the export that it was made from: nsys export --type sqlite REPORT.nsys-rep"
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
    stem = path.name.partition(".")[0]
    return known.format(path=path, name=path.name, stem=stem, json=stem.partition("_")[0] + "_results.json")


def what_folder_it_is(path: Path) -> str:
    """What a folder is that was given for a trace, and what to do."""
    if any(path.glob("*.parquet")) or any(path.glob("*.arrow")):
        return f"a folder of tables of nsys; make the other export: nsys export --type sqlite {path.stem}.nsys-rep"
    return "a folder; give the file in it that is a trace, or all of one program's"


def what_database(tables: Iterable[str]) -> str:
    """Whose SQLite database has tables of these names, and what to do; empty for what is not known."""
    names = list(tables)
    if {"HIP", "COPY", "OPS"} <= set(names) or {"HSA", "COPY"} <= set(names):
        return (
            "a database of rocprof; give the JSON that it makes at the same time: results.json of rocprof --hip-trace"
        )
    if any(name.startswith("rocpd_") for name in names):
        return f"a database of rocprofv3 (rocpd), which is not read; record with: {ROCPROFV3}"
    if any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in names):
        return "a database of nvprof, which is not read; record with nsys profile --trace=cuda, and export that"
    return ""
