"""The arithmetic of the OpenACC programs, on the CPU: directives are nothing there, and a stub says there is a GPU."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from isthmus.experiment.openacc.build import PROGRAMS, source_folder
from isthmus.experiment.openacc.points import case_of, words_of
from isthmus.experiment.openacc.programs import Figures
from tests.processes import ended

pytestmark = pytest.mark.thorough

STUB = Path(__file__).with_name("openacc_on_cpu")
# As nvc++ builds them in managed mode, where any memory is good for either side.
MANAGED = ("-D__NVCOMPILER", "-D__NVCOMPILER_MAJOR__=24", "-D__NVCOMPILER_MINOR__=5", "-DMANAGED_MODE")


def build(source: Path, program: Path, *flags: str) -> Path:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler: apt-get install g++")
    # As strict as the native core, but for what only directives name and this compiler does not read.
    unread = ("-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-parameter")
    strict = ("-Wall", "-Wextra", "-Wconversion", *unread, "-Werror", "-D_GLIBCXX_ASSERTIONS")
    command = [compiler, "-std=c++17", "-O1", *strict, *flags, "-I", str(STUB), str(source), "-o", str(program), "-ldl"]
    subprocess.run(command, check=True)
    return program


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    return {name: build(source_folder() / f"{name}.cpp", folder / name, *MANAGED) for name in PROGRAMS}


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ended(str(program), *words)


def figures(program: Path, words: list[str]) -> tuple[Figures, dict[str, object]]:
    ended = run(program, *words, "--repeats", "3")
    assert ended.returncode == 0, ended.stderr
    return msgspec.json.decode(ended.stdout, type=Figures), msgspec.json.decode(ended.stdout)


def expected_sum(count: int, touched_each_pass: int, touched_of_part: int) -> int:
    return sum(i % 3343 for i in range(count)) + 3 * touched_each_pass + touched_of_part


@pytest.mark.parametrize("way", ["automatic", "both"])
@pytest.mark.parametrize("fraction", [0.0, 0.25, 1.0])
def test_contiguous_adds_to_the_leading_part(programs: dict[str, Path], way: str, fraction: float) -> None:
    count = 10_000
    found, raw = figures(programs["contiguous"], words_of(case_of("contiguous", way, 8 * count, fraction=fraction)))
    # A sixteenth of the array warms up.
    assert found.sum == expected_sum(count, int(fraction * count), int(fraction * (count // 16)))
    assert (found.right, found.device, found.compiler) == (True, 'the "CPU"', "nvc++ 24.5")
    assert (raw["program"], raw["way"], raw["bytes"], raw["fraction"]) == ("contiguous", way, 8 * count, fraction)
    assert len(found.series["host_seconds"]) == 3


@pytest.mark.parametrize("way", ["automatic", "both"])
@pytest.mark.parametrize("stride", [8, 24, 4096, 1 << 20])
def test_stride_adds_to_one_element_of_each(programs: dict[str, Path], way: str, stride: int) -> None:
    count, step = 10_000, stride // 8
    found, raw = figures(programs["stride"], words_of(case_of("stride", way, 8 * count, stride_bytes=stride)))
    assert found.sum == expected_sum(count, len(range(0, count, step)), len(range(0, count // 16, step)))
    assert (raw["program"], raw["way"], raw["stride_bytes"]) == ("stride", way, stride)


@pytest.mark.parametrize("way", ["automatic", "both"])
@pytest.mark.parametrize("pack", ["cpu", "gpu"])
@pytest.mark.parametrize(("side", "halo"), [(2, 1), (6, 1), (64, 1), (64, 2), (66, 4)])
def test_stencil_compares_every_point(programs: dict[str, Path], way: str, pack: str, side: int, halo: int) -> None:
    if side // 2 < 2 * halo:
        ended = run(programs["stencil"], "--way", way, "--side", str(side), "--halo", str(halo))
        assert ended.returncode == 2
        return
    found, raw = figures(programs["stencil"], words_of(case_of(f"stencil_{pack}", way, 0, rows=side, halo=halo)))
    assert found.right
    assert raw["bytes"] == side * (side // 2 + 2 * halo) * 8
    parts = [found.compute_seconds, found.pack_seconds, found.copy_seconds, found.unpack_seconds]
    for index, total in enumerate(found.host_seconds):
        assert sum(part[index] for part in parts) == pytest.approx(total)


@pytest.mark.parametrize("side", [64, 2048])  # 2048 has too many points to be compared, and is known by its sum alone.
def test_a_stale_halo_is_noticed(tmp_path: Path, side: int) -> None:
    for source in source_folder().glob("*.[ch]pp"):
        shutil.copy(source, tmp_path)
    path = tmp_path / "stencil.cpp"
    text = path.read_text()
    assert "std::memcpy(received + edge, sent, bytes);" in text
    path.write_text(text.replace("std::memcpy(received + edge, sent, bytes);", ""))
    ended = run(build(path, tmp_path / "stencil", *MANAGED), "--way", "automatic", "--side", str(side))
    assert ended.returncode == 1
    assert '"right": false' in ended.stdout


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("contiguous", ["--foo", "1"], "unknown option --foo"),
        ("contiguous", ["bytes", "8"], "unknown option bytes"),
        ("contiguous", ["--bytes"], "a value is missing after --bytes"),
        ("contiguous", ["--way", "both", "--bytes", "many"], "expected a number from 8"),
        ("contiguous", ["--way", "both", "--fraction", "1.5"], "expected a number from 0 to 1"),
        ("contiguous", ["--way", "both", "--fraction", "nan"], "expected a number from 0 to 1"),
        ("contiguous", ["--way", "both", "--repeats", "1.5"], "expected a whole number"),
        ("contiguous", ["--way", "manual"], "expected explicit, automatic or both"),
        ("contiguous", ["--way", "explicit"], "built with managed mode"),
        ("stride", ["--way", "both", "--stride", "12"], "a multiple of 8 bytes"),
        ("stencil", ["--way", "both", "--side", "65"], "expected an even number"),
        ("stencil", ["--way", "both", "--pack", "dma"], "--pack: cpu or gpu"),
        # More would leave bits that no double holds, and the exact sum would mean nothing.
        ("stencil", ["--way", "both", "--iterations", "21"], "expected a number from 1 to 20"),
    ],
)
def test_bad_options_are_refused(programs: dict[str, Path], name: str, words: list[str], message: str) -> None:
    ended = run(programs[name], *words)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert ended.stdout == ""


def test_a_program_without_managed_mode_says_so(tmp_path: Path) -> None:
    ended = run(build(source_folder() / "stride.cpp", tmp_path / "stride", *MANAGED[:3]), "--way", "both")
    assert ended.returncode == 2
    assert "built without managed mode" in ended.stderr
