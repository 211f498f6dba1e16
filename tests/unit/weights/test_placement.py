"""Where tensors go: aligned, apart, in the order of the file, and in one run where the file aligns them."""

from hypothesis import given
from hypothesis import strategies as st

from isthmus.weights import ALIGNMENT, Tensor, place


def tensors(sizes: list[int], gaps: list[int] | None = None) -> list[Tensor]:
    made, at = [], 0
    for number, size in enumerate(sizes):
        at += gaps[number] if gaps else 0
        made.append(Tensor(str(number), "U8", (size,), at, at + size))
        at += size
    return made


@given(st.data())
def test_each_tensor_has_its_bytes_in_a_run_and_is_aligned(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 300), max_size=20))
    gaps = data.draw(st.lists(st.sampled_from([0, 0, 1, 16]), min_size=len(sizes), max_size=len(sizes)))
    given_ = tensors(sizes, gaps)
    placement = place(given_)
    for one, place_ in zip(given_, placement.places, strict=True):
        if one.end > one.begin:
            assert place_ % ALIGNMENT == 0
            holding = [
                run
                for run in placement.runs
                if run.place <= place_ and place_ + one.end - one.begin <= run.place + run.size
            ]
            assert [run.begin + place_ - run.place for run in holding] == [one.begin]
    ends = [run.place + run.size for run in placement.runs]
    assert all(end <= run.place for end, run in zip(ends, placement.runs[1:], strict=False))
    assert placement.size == (ends[-1] if ends else 0)
    assert sum(run.size for run in placement.runs) == sum(sizes)


def test_aligned_tensors_are_one_run_and_an_odd_one_begins_another() -> None:
    assert len(place(tensors([32, 64, 16])).runs) == 1
    odd = place(tensors([32, 3, 64, 64]))
    assert [(run.begin, run.place, run.size) for run in odd.runs] == [(0, 0, 35), (35, 256, 128)]
