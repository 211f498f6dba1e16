"""The jump by which dlsym is passed on is assembled for each architecture, also for those that no test runs on."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.processes import ended

CLANG = os.environ.get("CLANG", "clang-15")


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_jump_of_dlsym_is_assembled(architecture: str, repository: Path, tmp_path: Path) -> None:
    clang = shutil.which(CLANG) or shutil.which("clang")
    if clang is None:
        pytest.skip(f"needs {CLANG}, or the one that CLANG names")
    source = (repository / "native" / "interpose" / "hooks" / "dlsym.cpp").read_text("utf-8")
    code = re.search(rf'defined\(__{architecture}__\)\nasm\(R"\((.*?)\)"\);', source, re.DOTALL)
    assert code is not None
    built = tmp_path / "dlsym.o"
    words: list[str | Path] = [clang, f"--target={architecture}-linux-gnu", "-c", "-x", "assembler", "-", "-o", built]
    done = ended(*words, stdin=code[1])
    assert done.returncode == 0, done.stderr
    symbols = built.read_bytes()
    assert all(name in symbols for name in (b"isthmus_dlsym\0", b"isthmus_next_dlsym\0"))
