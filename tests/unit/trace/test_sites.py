"""Of the lines that led to a call, the program's own is shown, with what it called of torch."""

import pytest

from isthmus.trace import site_words
from isthmus.trace.sites import is_library


@pytest.mark.parametrize(
    "frame",
    [
        "torch/_tensor.py:999 to",
        "/usr/lib/python3/dist-packages/torch/_tensor.py:999 to",
        "/opt/venv/lib/python3.12/site-packages/mine/loop.py:3 step",
        "threading.py:120 run",
        "multiprocessing/queues.py:113 get",
        "<frozen importlib._bootstrap>.py:1 _find",
        "aten::copy_",
    ],
)
def test_frames_of_libraries_are_known(frame: str) -> None:
    assert is_library(frame)


@pytest.mark.parametrize(
    "frame",
    [
        "train.py:42 step",
        "/home/u/torch.project/train.py:42 step",
        "src/models/numpy_layer.py:7 forward",
        "torch.py:1 <module>",
        "libapp.so+0x1f40 exchange",
        "\u8bad\u7ec3.py:5 \u6b65",
    ],
)
def test_frames_of_programs_are_not(frame: str) -> None:
    assert not is_library(frame)


def test_the_innermost_own_line_is_shown_with_the_operator() -> None:
    inner = ("torch/_tensor.py:999 to", "data.py:7 load", "train.py:42 step")
    assert site_words(("aten::to", *inner)) == "data.py:7 load (aten::to)"
    assert site_words(inner) == "data.py:7 load"


def test_where_all_is_a_library_the_innermost_frame_is_shown() -> None:
    assert site_words(("torch/_tensor.py:999 to", "threading.py:1 run")) == "torch/_tensor.py:999 to"
    assert site_words(("aten::to",)) == "aten::to"
    assert site_words(()) == ""
