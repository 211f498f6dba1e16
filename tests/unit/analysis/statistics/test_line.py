"""Lines of least relative squares: exact where times are a latency and a rate, and never with a negative part."""

import numpy as np
import pytest

from isthmus.analysis.statistics.shape import relative_line

SIZES = np.array([1024.0, 4096.0, 65536.0, 1048576.0])


def test_a_latency_and_a_rate_come_out() -> None:
    fixed, per_byte = relative_line(SIZES, (7e-6 + SIZES / 55e9)[:, np.newaxis])
    assert fixed[0] == pytest.approx(7e-6)
    assert per_byte[0] == pytest.approx(1 / 55e9)


@pytest.mark.parametrize("power", [-0.5, 2.0])
def test_no_part_is_negative(power: float) -> None:
    fixed, per_byte = relative_line(SIZES, (1e-6 * SIZES**power)[:, np.newaxis])
    assert min(fixed[0], per_byte[0]) == 0
    assert max(fixed[0], per_byte[0]) > 0


def test_a_single_size_is_all_rate() -> None:
    fixed, per_byte = relative_line(SIZES[:1], np.array([[1e-6, 2e-6]]))
    assert list(fixed) == [0, 0]
    assert list(per_byte) == pytest.approx([1e-6 / 1024, 2e-6 / 1024])
