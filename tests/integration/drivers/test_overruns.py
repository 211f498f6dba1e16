"""Arrays that are not within their allocation are refused where device memory is the host's, too."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ended


@pytest.mark.parametrize("size", [16 << 10, 4 << 20])
def test_no_form_of_copy_takes_an_array_that_is_not_within_its_allocation(
    linked: Callable[[str], Path], size: int
) -> None:
    done = ended(linked("overruns.cpp"), "host", str(size))
    assert done.returncode == 0, done.stdout
    assert done.stdout == f"calls: {4 * 4 * 14}\n"
