"""Changes the code in one place after another, and says which changes the tests of its folder do not notice.

Usage: mutants.py RESULTS.jsonl [--seed 44] [--python 80] [--native 40] [--again EARLIER.jsonl]

In a clean checkout with its tests installed, by its interpreter, and with cosmic-ray for changes of Python. Changes
are drawn from the seed. Each result is written when it is known, so that a run which ended goes on where it was.
--again takes the changes of an earlier run, as far as their lines still stand, and others of the same seed for the
rest. A change that makes no difference gets a field "equivalent" with the reason, by hand, and counts apart.
"""

import argparse
import difflib
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = REPOSITORY / "tests"
MOST_SECONDS = 90
# What stands between types as well is changed without an effect.
_OF_TYPES = re.compile("BitOr|RemoveDecorator|Variable|ExceptionReplacer")
_NATIVE = (
    *((" == ", " != "), (" != ", " == "), (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > ")),
    *((" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" * ", " / "), (" / ", " * ")),
    *(("true", "false"), ("false", "true"), ("return ", "if (0) return "), ("std::min", "std::max")),
)
# Folders of native whose tests are not below tests/unit alone.
_ALSO = {
    "accelerator": ("integration/accelerate",),
    "backend": ("contract",),
    "base": ("contract/test_session.py",),
    "bindings": ("contract",),
    "capi": ("contract/c", "integration/test_c_interface.py"),
    "driver": ("integration/drivers/test_drivers.py",),
    "experiment": ("contract",),
    "interpose": ("integration/accelerate",),
    "tracer": ("integration/test_tracer.py",),
    "transfer": ("contract",),
}


class Mutant(msgspec.Struct, frozen=True, omit_defaults=True):
    """Lines of a file in place of others, and what became of it: noticed, survived or not built."""

    file: str
    line: int
    old: str
    new: str
    outcome: str = ""
    equivalent: str = ""

    def changed(self, text: str) -> str | None:
        """The file's text with the change nearest to its line; None where its lines do not stand there any more."""
        places = [match.start() for match in re.finditer(re.escape(self.old), text)]
        if not places:
            return None
        nearest = min(places, key=lambda place: abs(text.count("\n", 0, place) + 1 - self.line))
        return text[:nearest] + self.new + text[nearest + len(self.old) :]


def files_of(root: str, pattern: str) -> list[Path]:
    """Every file of code as often as it has lines."""
    return [path for path in sorted((REPOSITORY / root).rglob(pattern)) for _ in path.open(encoding="utf-8")]


def of_python(chance: random.Random) -> Iterator[Mutant]:
    """Changes of Python, by cosmic-ray's operators."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    lines = files_of("src/isthmus", "*.py")
    names = sorted(name for name in operator_names() if not _OF_TYPES.search(name))
    while True:
        path = chance.choice(lines)
        before = path.read_text("utf-8")
        for name in chance.sample(names, len(names)):
            after = mutate_code(before, get_operator(name)(), chance.randrange(12))
            if after and after != before:
                yield difference(path, before, after)
                break


def of_native(chance: random.Random) -> Iterator[Mutant]:
    """Changes of C++: one operator, constant or call of a line."""
    lines = files_of("native", "*.cpp")
    while True:
        path = chance.choice(lines)
        before = path.read_text("utf-8").splitlines(keepends=True)
        at = chance.randrange(len(before))
        code = before[at].partition("//")[0]
        fitting = [each for each in _NATIVE if each[0] in code and not code.lstrip().startswith(("#", "template"))]
        if fitting:
            old, new = chance.choice(fitting)
            after = [*before[:at], before[at].replace(old, new, 1), *before[at + 1 :]]
            yield difference(path, "".join(before), "".join(after))


def difference(path: Path, before: str, after: str) -> Mutant:
    """The lines that differ."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    codes = [each for each in difflib.SequenceMatcher(None, old, new).get_opcodes() if each[0] != "equal"]
    begin, end, other_begin, other_end = codes[0][1], codes[-1][2], codes[0][3], codes[-1][4]
    return Mutant(
        path.relative_to(REPOSITORY).as_posix(), begin + 1, "".join(old[begin:end]), "".join(new[other_begin:other_end])
    )


def tests_of(file: str) -> list[str]:
    """The tests that are mirrored to the folder of a file, and the documents of Python as snapshots."""
    root, *folders = Path(file).parts[:-1]
    folders = folders[1:] if root == "src" else folders
    also = ["snapshots"] if root == "src" else list(_ALSO.get(folders[0], ()))
    for depth in range(len(folders), 0, -1):
        mirrored = Path("unit", *folders[:depth])
        if any((TESTS / mirrored).rglob("test_*.py")):
            also.insert(0, mirrored.as_posix())
            break
    return [f"tests/{each}" for each in also]


def tried(mutant: Mutant) -> str:
    """What becomes of the change; the file is as before afterwards."""
    path = REPOSITORY / mutant.file
    before = path.read_text("utf-8")
    is_native = mutant.file.startswith("native/")
    try:
        path.write_text(mutant.changed(before) or before, "utf-8")
        if is_native and run("make", "--no-print-directory", ".venv/native.stamp", seconds=1200):
            return "not built"
        words = ("-m", "pytest", "-q", "-x", "-m", "not thorough", "-p", "no:cacheprovider", *tests_of(mutant.file))
        return "noticed" if run(sys.executable, *words, seconds=MOST_SECONDS) else "survived"
    finally:
        path.write_text(before, "utf-8")


def run(*words: str, seconds: float) -> bool:
    """Whether it fails, or takes longer than it may."""
    try:
        return subprocess.run(words, cwd=REPOSITORY, capture_output=True, timeout=seconds, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def read(path: Path | None) -> list[Mutant]:
    """The results of a file; none where there is none."""
    if path is None or not path.exists():
        return []
    return msgspec.json.decode(f"[{','.join(path.read_text('utf-8').splitlines())}]", type=list[Mutant])


def wanted(earlier: list[Mutant], drawn: Iterator[Mutant], count: int) -> Iterator[Mutant]:
    """So many changes: those of earlier whose lines still stand, then others."""
    standing = [each for each in earlier if (REPOSITORY / each.file).exists()]
    standing = [each for each in standing if each.changed((REPOSITORY / each.file).read_text("utf-8"))][:count]
    yield from standing
    yield from (next(drawn) for _ in range(count - len(standing)))


def main() -> None:
    """Try what was not tried yet, and say how many were noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seed", type=int, default=44)
    parser.add_argument("--python", type=int, default=80)
    parser.add_argument("--native", type=int, default=40)
    parser.add_argument("--again", type=Path)
    given = parser.parse_args()
    if subprocess.run(["git", "diff", "--quiet"], cwd=REPOSITORY, check=False).returncode:
        sys.exit("there are changes that are not committed: they would be lost among these")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the file that is changed is put back
    done = {(each.file, each.old, each.new) for each in read(given.results)}
    earlier = read(given.again)
    parts = ((given.python, "src/", of_python), (given.native, "native/", of_native))
    for count, root, drawn in parts:
        of_part = [each for each in earlier if each.file.startswith(root)]
        for mutant in wanted(of_part, drawn(random.Random(given.seed)) if count else iter(()), count):
            if (mutant.file, mutant.old, mutant.new) not in done:
                result = msgspec.structs.replace(mutant, outcome=tried(mutant), equivalent="")
                with given.results.open("ab") as file:
                    file.write(msgspec.json.encode(result) + b"\n")
    if given.native:
        run("make", "--no-print-directory", ".venv/native.stamp", seconds=1200)
    counts = Counter("equivalent" if each.equivalent else each.outcome for each in read(given.results))
    print(", ".join(f"{outcome}: {number}" for outcome, number in sorted(counts.items())))


if __name__ == "__main__":
    main()
