"""Sizes and rates as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import UsageError
from isthmus.record import (
    GIB,
    KIB,
    MIB,
    decimal_bytes,
    format_bytes,
    format_rate,
    format_seconds,
    near_bytes,
    parse_bytes,
    parse_seconds,
    parse_share,
    parse_sizes,
    three_figures,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("1B", 1),
        ("4KiB", 4096),
        ("4kib", 4096),
        ("4 KiB", 4096),
        (" 64MiB ", 64 * MIB),
        ("1.5GiB", 3 * GIB // 2),
        ("2TiB", 2 << 40),
        ("4K", 4096),
        ("4M", 4 * MIB),
        ("1G", GIB),
        ("100MB", 100_000_000),
        ("1.5KB", 1500),
        ("0.5KiB", 512),
        ("9007199254740993", 9007199254740993),  # Beyond what a float holds exactly.
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", " ", "MiB", "-1", "1e6", "4 Ki B", "4KiB2", "4XiB", "4Mb/s", "1,5MiB", "0x10", ".5KiB", "nan"]
)
def test_what_is_no_size_is_named_with_what_was_expected(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a size: .* [Ee]xpected a number and B, KiB, MiB") as refusal:
        parse_bytes(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("text", ["1.5", "0.3KiB", "1.0001KB"])
def test_a_part_of_a_byte_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"not a whole number of bytes: {text!r}"):
        parse_bytes(text)


def test_the_sweep_of_the_seed() -> None:
    sizes = parse_sizes("160MiB:3040MiB:160MiB")
    assert sizes == [160 * MIB * step for step in range(1, 20)]
    assert len(sizes) == 19
    assert sizes[-1] == 3040 * MIB


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4KiB", [4096]),
        ("64KiB,1KiB", [KIB, 64 * KIB]),
        ("1KiB,1024,1K", [KIB]),
        ("1:8", [1, 2, 4, 8]),
        ("1:9", [1, 2, 4, 8]),
        ("3:13", [3, 6, 12]),
        ("5:5", [5]),
        ("1KiB:4KiB:1KiB", [1024, 2048, 3072, 4096]),
        ("1:10:4", [1, 5, 9]),
        ("7,1:4,2:6:2", [1, 2, 4, 6, 7]),
    ],
)
def test_lists_and_ranges(text: str, sizes: list[int]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "size 0 in '0'; the smallest transfer is 1 byte"),
        ("1KiB,0:4", "size 0 in '0:4'"),
        ("1:8:0", "size 0 in '1:8:0'"),
        ("8:1", "not a range of sizes: '8:1'; expected FIRST:LAST or FIRST:LAST:STEP"),
        ("1:2:3:4", "not a range of sizes: '1:2:3:4'"),
        ("1KiB,,2KiB", "not a size: ''"),
        ("1KiB,", "not a size: ''"),
        ("1KiB;2KiB", "not a size: '1KiB;2KiB'"),
        ("small", "not a size: 'small'"),
        ("1:1GiB:1", "'1:1GiB:1' is a range of 1073741824 sizes; at most 10000 can be measured"),
        ("1:999999TiB:1", "is a range of 1099510528264372224 sizes"),
        ("99999999TiB", "more bytes than any machine has: '99999999TiB'"),
        ("64Mx", "did you mean 64MB?"),
    ],
)
def test_the_wrong_item_of_a_list_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_sizes(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1025, "1025 B"),
        (1536, "1536 B"),
        (160 * MIB, "160 MiB"),
        (3 * GIB // 2, "1536 MiB"),
        (GIB, "1 GiB"),
        (GIB + MIB, "1025 MiB"),
        (1 << 40, "1 TiB"),
    ],
)
def test_sizes_are_written_exactly(size: int, text: str) -> None:
    assert format_bytes(size) == text


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_size_that_was_written_is_read_as_itself(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0 B/s"),
        (12.3, "12.3 B/s"),
        (999.4, "999 B/s"),
        (999.6, "1.00 kB/s"),
        (1234, "1.23 kB/s"),
        (999.6e6, "1.00 GB/s"),
        (55.34e9, "55.3 GB/s"),
        (9.996e9, "10.0 GB/s"),
        (99.96e9, "100 GB/s"),
        (123.4e9, "123 GB/s"),
    ],
)
def test_rates_have_three_digits(rate: float, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ns"),
        (1e-9, "1.00 ns"),
        (850e-9, "850 ns"),
        (999.6e-9, "1.00 us"),
        (7.41e-6, "7.41 us"),
        (0.0123, "12.3 ms"),
        (0.9996, "1.00 s"),
        (12, "12.0 s"),
        (123.4, "123 s"),
    ],
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5ms", 5e-3),
        ("1.5 s", 1.5),
        ("200us", 200e-6),
        ("80ns", 80e-9),
        ("1e-3 s", 1e-3),
        (" 5ms ", 5e-3),
        ("10m", 600.0),
        ("2h", 7200.0),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "ms", "0s", "-5ms", "5 parsecs", "5MS", "5m s", "inf", "1e400s", "٥ms"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="such as 5ms"):
        parse_seconds(text)


@pytest.mark.parametrize(
    "text", ["64 MB", "1 GB", "100 kB", "1500 MB", "64 MiB", "1280 MiB", "240 KiB", "1025 B", "8 kB", "4 KiB", "0 B"]
)
def test_a_size_is_said_as_it_was_asked_for(text: str) -> None:
    assert format_bytes(parse_bytes(text)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.500"), (0.822, "0.822"), (1, "1.00"), (12.34, "12.3"), (100, "100"), (1234.5, "1234")]
)
def test_ends_of_an_interval_have_their_zeros(value: float, text: str) -> None:
    assert three_figures(value) == text


@pytest.mark.parametrize("text", ["0", "2", "1e-3", " 0.5 "])
def test_a_time_needs_a_unit(text: str) -> None:
    with pytest.raises(UsageError, match=f"such as {text.strip()}s or {text.strip()}ms"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("text", "bare", "share"), [("30%", 1, 0.3), ("0.3", 1, 0.3), (" 5 % ", 0.01, 0.05), ("5", 0.01, 0.05)]
)
def test_shares_are_taken_with_the_sign_and_without(text: str, bare: float, share: float) -> None:
    assert parse_share(text, bare) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "%", "-5%", "half", "5 %%", "nan"])
def test_what_is_no_share_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"such as 30% or 0\.3"):
        parse_share(text)


def test_a_share_of_more_than_the_whole_lacks_its_unit() -> None:
    with pytest.raises(UsageError, match=r"^10 has no unit: 10%$"):
        parse_share(" 10 ")
    assert parse_share("200", 0.01) == 2


@pytest.mark.parametrize(("size", "text"), [(64 * MIB, "64 MiB"), (150_754_820_096, "140 GiB"), (3, "3 B")])
def test_sizes_of_memory_have_three_digits(size: int, text: str) -> None:
    assert near_bytes(size) == text


def test_what_moved_is_decimal_as_rates_are() -> None:
    assert [decimal_bytes(count) for count in (0, 999, 1000, 999_600, 50_950_504_448)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "1.00 MB",
        "51.0 GB",
    ]
