"""The Fortran of the recipes, as it is in the page, compiles and copies on the host's device."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes" / "fortran.md"


@pytest.mark.skipif(not shutil.which("gfortran"), reason="gfortran is not installed")
def test_copies_from_fortran(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    (block,) = re.findall(r"```fortran\n(.*?)```", text, re.DOTALL)
    (command,) = re.findall(r"^gfortran .*", text, re.MULTILINE)
    (tmp_path / "copy.f90").write_text(block)
    isthmus = f"{sys.executable} -m isthmus"
    subprocess.run(["sh", "-ec", command.replace("isthmus c-flags", f"{isthmus} c-flags")], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a.out"], check=False).returncode == 0
