"""The tidy table: its columns stay where they are, and its rows say what was measured."""

from isthmus.record import COLUMN_TYPES, Case, Series, rows
from tests.synthetic import runs as synthetic

# As DESIGN and the documentation promise them to scripts that read by position; new ones only after these.
PROMISED = (
    "run,backend,device,experiment,method,direction,host_memory,bytes,threads,streams,pieces,width_bytes,rows,"
    "pitch_bytes,stride_bytes,fraction,metric,unit,median,ci_low,ci_high,samples,verified,note"
)


def case(**changes: object) -> Case:
    fields = {"experiment": "bandwidth", "method": "copy", "direction": "h2d", "host_memory": "pinned", "bytes": 4096}
    return Case(**(fields | changes))  # type: ignore[arg-type]


def test_columns_are_in_the_promised_order() -> None:
    assert f"{','.join(COLUMN_TYPES)},".startswith(f"{PROMISED},")


def test_a_case_is_one_row_a_metric() -> None:
    times = [float(number) for number in range(1, 11)]
    measured = case(
        series=[Series(metric="host_seconds", samples=times), Series(metric="enqueue_seconds", samples=times[:1])],
        verified="yes",
    )
    first, second = rows([synthetic.run([measured], name="r1")])
    assert tuple(first) == tuple(COLUMN_TYPES)
    assert (first["run"], first["backend"], first["device"]) == ("r1", "cuda", "NVIDIA H200")
    assert (first["bytes"], first["method"], first["direction"], first["verified"]) == ("4096", "copy", "h2d", "yes")
    assert (first["metric"], first["unit"], first["samples"]) == ("host_seconds", "s", "10")
    assert (first["median"], first["ci_low"], first["ci_high"]) == ("5.5", "2", "9")
    assert (second["metric"], second["samples"], second["ci_low"], second["ci_high"]) == (
        "enqueue_seconds",
        "1",
        "1",
        "1",
    )


def test_a_skipped_case_is_a_row_with_its_reason() -> None:
    [row] = rows([synthetic.run([case(skipped=True, note="no managed memory")])])
    assert (row["metric"], row["samples"], row["median"], row["note"]) == ("host_seconds", "0", "", "no managed memory")
    assert row["verified"] == "n/a"


def test_wrong_data_say_so() -> None:
    wrong = case(
        series=[Series(metric="host_seconds", samples=[1.0])], verified="no", note="wrong data h2d: the first at byte 8"
    )
    [row] = rows([synthetic.run([wrong])])
    assert (row["verified"], row["note"]) == ("no", "wrong data h2d: the first at byte 8")


def test_parameters_that_do_not_apply_are_empty() -> None:
    [row] = rows([synthetic.run([case(threads=2, fraction=0.5)])])
    assert (row["threads"], row["fraction"]) == ("2", "0.5")
    empty = ("streams", "pieces", "width_bytes", "rows", "pitch_bytes", "stride_bytes", "alignment_bytes")
    assert [row[name] for name in empty] == [""] * len(empty)


def test_times_keep_nine_digits() -> None:
    [row] = rows([synthetic.run([case(series=[Series(metric="host_seconds", samples=[1.23456789123e-6])])])])
    assert row["median"] == "1.23456789e-06"


def test_runs_follow_one_another() -> None:
    runs = [synthetic.run([case()], name=name) for name in ("a", "b")]
    assert [row["run"] for row in rows(runs)] == ["a", "b"]
