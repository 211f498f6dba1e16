"""When a neighbour's link is left to others, or brings nothing: programs in C++ do the checking."""

from collections.abc import Callable
from pathlib import Path


def test_a_link_that_others_use_is_left_to_them_and_used_again_afterwards(run_cpp: Callable[..., str]) -> None:
    assert run_cpp(Path(__file__).with_name("pace_check.cpp")) == "as described\n"


def test_links_beyond_what_the_host_can_carry_are_left(run_cpp: Callable[..., str]) -> None:
    assert run_cpp(Path(__file__).with_name("ceiling_check.cpp")) == "as described\n"


def test_links_of_a_copy_that_is_divided_beforehand_end_together(run_cpp: Callable[..., str]) -> None:
    assert run_cpp(Path(__file__).with_name("parts_check.cpp")) == "as described\n"
