"""Finding compilers for OpenACC, and building programs with them: fakes that are shell scripts, and GCC where it is."""

import os
import subprocess
from pathlib import Path

import pytest

from isthmus.errors import CallFailed, Unsupported, UsageError
from isthmus.experiment.openacc.build import (
    PROGRAMS,
    build_folder,
    build_path,
    cached_programs,
    check_folder,
    find_compiler,
    program_path,
    source_folder,
)

# Writes what it was told into the program, whose name follows -o.
BUILDS = """
while [ "$1" != -o ]; do case $1 in -*) flags="$flags $1";; esac; shift; done
echo "$flags" > "$2"; chmod +x "$2"; echo built >> "$LOG"
"""
OFFLOADS = """
case $1 in
    -dumpfullversion) echo 13.2.0; exit;;
    -print-prog-name=*) echo /usr/lib/gcc/accel/nvptx-none/mkoffload; exit;;
    -print-file-name=*) echo "$LIBRARIES/${1#-print-file-name=}"; exit;;
esac
"""
PLAIN = """
case $1 in
    -dumpfullversion) echo 13.2.0;;
    -print-prog-name=*) echo "${1#-print-prog-name=}";;
    -print-file-name=*) echo "${1#-print-file-name=}";;
esac
"""
NVCPP = 'if [ "$1" = --version ]; then printf "\\nnvc++ 24.5-1 64-bit target on x86-64 Linux\\n"; exit; fi\n'


class Machine:
    """A folder that stands for PATH, with compilers in it."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.libraries = root / "lib"
        self.log = root / "log"
        self.cache = root / "cache"
        for folder in (self.bin, self.libraries):
            folder.mkdir()
        for name in ("libgomp.so.1", "libgomp-plugin-nvptx.so.1"):
            (self.libraries / name).write_text(name)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.bin), "/usr/bin", "/bin"])
        return {"PATH": path, "LIBRARIES": str(self.libraries), "LOG": str(self.log), "XDG_CACHE_HOME": str(self.cache)}

    @property
    def only_fakes(self) -> dict[str, str]:
        return self.environment | {"PATH": str(self.bin)}

    def add(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)
        return path

    def times_built(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_gcc_that_offloads_is_found(machine: Machine) -> None:
    path = machine.add("g++", OFFLOADS)
    compiler = find_compiler(machine.environment)
    assert (compiler.path, compiler.version) == (str(path), "g++ 13.2.0")
    assert list(compiler.flags) == [""]
    assert [Path(library).name for library in compiler.runtime] == ["libgomp.so.1", "libgomp-plugin-nvptx.so.1"]


def test_a_gcc_of_another_version_offloads_where_the_first_does_not(machine: Machine) -> None:
    machine.add("g++", PLAIN)
    path = machine.add("g++-13", OFFLOADS)
    assert find_compiler(machine.only_fakes).path == str(path)


def test_nvcpp_comes_first_because_it_has_the_managed_mode(machine: Machine) -> None:
    machine.add("g++", OFFLOADS)
    path = machine.add("nvc++", NVCPP + BUILDS)
    compiler = find_compiler(machine.environment)
    assert (compiler.path, compiler.version) == (str(path), "nvc++ 24.5")
    assert list(compiler.flags) == ["", "_managed"]
    assert "-gpu=managed" in compiler.flags["_managed"]


@pytest.mark.parametrize(("variable", "below"), [("NVHPC", "sdk"), ("NVHPC_ROOT", "sdk/Linux_x86_64/24.5")])
def test_nvcpp_is_looked_for_where_its_kit_is(machine: Machine, tmp_path: Path, variable: str, below: str) -> None:
    path = machine.add("../sdk/Linux_x86_64/24.5/compilers/bin/nvc++", NVCPP)
    found = find_compiler(machine.only_fakes | {variable: str(tmp_path / below)})
    assert Path(found.path).samefile(path)


@pytest.mark.parametrize("script", [PLAIN, "exit 1", ""])
def test_without_a_compiler_that_can_the_packages_are_named(machine: Machine, script: str) -> None:
    machine.add("g++", script)
    with pytest.raises(Unsupported, match=r"gcc-offload-nvptx.*NVIDIA HPC SDK.*--binaries"):
        find_compiler(machine.only_fakes)


def test_without_any_compiler(machine: Machine) -> None:
    with pytest.raises(Unsupported, match=r"g\+\+, which is not here"):
        find_compiler(machine.only_fakes)


def test_a_broken_nvcpp_is_passed_over(machine: Machine) -> None:
    machine.add("nvc++", "exit 1")
    machine.add("g++", OFFLOADS)
    assert find_compiler(machine.environment).version == "g++ 13.2.0"


def test_cuda_is_kept_out_of_the_path_but_no_compiler(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("cuda", "both", "other")]
    for folder in folders:
        folder.mkdir()
    for file in ("cuda/ptxas", "both/ptxas", "both/g++"):
        (tmp_path / file).touch()
    path = build_path({"PATH": os.pathsep.join(map(str, folders))})
    assert path.split(os.pathsep) == [str(tmp_path / "both"), str(tmp_path / "other")]


def test_programs_are_built_once_for_one_compiler(machine: Machine) -> None:
    machine.add("g++", OFFLOADS + BUILDS)
    compiler = find_compiler(machine.environment)
    first = cached_programs(compiler, machine.environment)
    assert cached_programs(compiler, machine.environment) == first
    assert first.is_relative_to(machine.cache)
    assert machine.times_built() == len(PROGRAMS)
    check_folder(first)
    assert "-fopenacc" in (first / "stride").read_text()
    other = cached_programs(compiler._replace(version="g++ 13.2.1"), machine.environment)
    assert other != first
    assert machine.times_built() == 2 * len(PROGRAMS)
    # Nothing half-built is left beside them.
    assert set(first.parent.iterdir()) == {first, other}


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(machine: Machine) -> None:
    machine.add("g++", OFFLOADS + "echo In file included; echo 'x.cpp:1: error: no OpenACC' >&2; exit 1")
    with pytest.raises(CallFailed, match=r"g\+\+ 13.2.0 .* did not build contiguous: x.cpp:1: error: no OpenACC"):
        cached_programs(find_compiler(machine.environment), machine.environment)
    assert list((machine.cache / "isthmus" / "openacc").iterdir()) == []


def test_programs_that_were_planted_or_altered_are_not_run(machine: Machine) -> None:
    machine.add("g++", OFFLOADS + BUILDS)
    compiler = find_compiler(machine.environment)
    whole = cached_programs(compiler, machine.environment)
    right = (whole / "stride").read_text()
    (whole / "stride").write_text("#!/bin/sh\nsteal\n")
    # As older versions named the folder, without a hash of what is in it.
    planted = whole.with_name(whole.name.rpartition("-")[0])
    planted.mkdir()
    for name in PROGRAMS:
        (planted / name).write_text("#!/bin/sh\nsteal\n")
        (planted / name).chmod(0o755)
    again = cached_programs(compiler, machine.environment)
    assert (again / "stride").read_text() == right
    (again / "more").symlink_to(planted)
    assert not (cached_programs(compiler, machine.environment) / "more").exists()


@pytest.mark.parametrize("part", [".", "isthmus", "isthmus/openacc"])
def test_programs_of_a_folder_that_others_may_write_to_are_not_run(
    machine: Machine, reachable: Path, part: str
) -> None:
    machine.add("g++", OFFLOADS + BUILDS)
    machine.cache = reachable / "cache"
    compiler = find_compiler(machine.environment)
    cached_programs(compiler, machine.environment)
    (machine.cache / part).chmod(0o777)
    with pytest.raises(Unsupported, match=r"may write to .*--build FOLDER"):
        cached_programs(compiler, machine.environment)


def test_a_cache_that_cannot_be_written(machine: Machine) -> None:
    machine.add("g++", OFFLOADS + BUILDS)
    machine.cache.write_text("a file, not a folder")
    with pytest.raises(Unsupported, match="set XDG_CACHE_HOME"):
        cached_programs(find_compiler(machine.environment), machine.environment)


def test_a_folder_for_other_machines_has_the_libraries_too(machine: Machine, tmp_path: Path) -> None:
    machine.add("g++", OFFLOADS + BUILDS)
    folder = tmp_path / "new" / "folder"
    assert build_folder(folder, machine.environment).version == "g++ 13.2.0"
    assert {path.name for path in folder.iterdir()} == {*PROGRAMS, "libgomp.so.1", "libgomp-plugin-nvptx.so.1"}
    check_folder(folder)
    with pytest.raises(UsageError, match="expected a new or an empty folder"):
        build_folder(folder, machine.environment)


def test_a_folder_without_the_programs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "contiguous").touch(mode=0o755)
    (tmp_path / "stride").touch(mode=0o644)
    with pytest.raises(UsageError, match="no program stride there; expected contiguous, stride, stencil"):
        check_folder(tmp_path)


def test_which_program_has_which_way(machine: Machine, tmp_path: Path) -> None:
    machine.add("nvc++", NVCPP + BUILDS)
    folder = tmp_path / "both"
    build_folder(folder, machine.environment)
    assert program_path(folder, "stride", "explicit") == folder / "stride"
    assert program_path(folder, "stride", "automatic") == folder / "stride_managed"
    assert program_path(folder, "stride", "both") == folder / "stride_managed"
    assert "-gpu=managed" in (folder / "stride_managed").read_text()
    assert "-gpu=managed" not in (folder / "stride").read_text()
    assert program_path(tmp_path, "stride", "automatic") == tmp_path / "stride"
    assert program_path(tmp_path, "stride", "both") is None


@pytest.mark.thorough
def test_gcc_builds_programs_that_refuse_to_run_on_the_host(tmp_path: Path) -> None:
    try:
        find_compiler()
    except Unsupported as error:
        pytest.skip(str(error))
    build_folder(tmp_path / "programs")
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    for name in PROGRAMS:
        ended = subprocess.run(
            [str(tmp_path / "programs" / name)], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 3, ended.stderr
        assert "run on the host" in ended.stderr or "fell back to the host" in ended.stderr
        assert ended.stdout == ""


def test_the_sources_are_there() -> None:
    assert {f"{name}.cpp" for name in PROGRAMS} <= {path.name for path in source_folder().iterdir()}
