"""The page's own colours: text has the contrast of WCAG AA on every ground it stands on, light and dark."""

import re
from importlib.resources import files

import pytest

_CSS = files("isthmus.report").joinpath("templates/page.css").read_text(encoding="utf-8")


def variables(dark: bool) -> dict[str, str]:
    blocks = re.findall(r":root \{([^}]*)\}", _CSS)
    assert len(blocks) == 2
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", blocks[1 if dark else 0]))


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("text", ["--ink", "--soft", "--error", "--warning", "--info"])
@pytest.mark.parametrize("ground", ["--page", "--card"])
def test_text_stands_out_from_its_ground(dark: bool, text: str, ground: str) -> None:
    colours = variables(dark)
    low, high = sorted((luminance(colours[text]), luminance(colours[ground])))
    assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize(
    "rule",
    [":focus-visible", "@media print", "prefers-color-scheme: dark", "prefers-reduced-motion", "overflow-x: auto"],
)
def test_what_readers_need_is_provided_for(rule: str) -> None:
    assert rule in _CSS


def test_charts_are_printed_on_one_sheet_with_what_explains_them() -> None:
    printed = _CSS.partition("@media print")[2]
    for rule in ("break-after", "break-inside"):
        kept = [names for names, value in re.findall(r"([^{}]+)\{ (break-\w+): avoid", printed) if value == rule]
        assert {".legend", ".note"} <= {name.strip() for names in kept for name in names.split(",")}


def test_the_first_sheet_has_the_chart_next_to_its_table() -> None:
    """In letters that can be read, with no title of a part alone at its end: `h200-all` has 6 sheets."""
    printed = _CSS.partition("@media print")[2]
    assert re.search(r"\.glance \{ grid-template-columns: auto minmax", printed)
    assert re.search(r"\.glance \.chart text \{ font-size: 1[5-9]px", printed)
    assert re.search(r"summary,[^{}]*\{ break-after: avoid", printed)


def test_long_names_in_tables_wrap() -> None:
    assert re.search(r"\.figures th\.long \{[^}]*white-space: normal;[^}]*overflow-wrap: anywhere", _CSS)
    macros = files("isthmus.report").joinpath("templates/macros.html.j2").read_text(encoding="utf-8")
    assert 'row.heading | length > 40 %} class="long"' in macros


def test_folded_parts_open_on_paper_and_nothing_waits_for_a_window() -> None:
    """Closed details print nothing, and what is laid out only near the window is white in a picture of the page."""
    screen, _, printed = _CSS.partition("@media print")
    assert ".part:not([open])::details-content { content-visibility: visible; }" in printed
    assert "content-visibility" not in screen
    hidden = [
        names.strip() for names in re.findall(r"([^{}]+)\{ display: none; \}", printed) if ":not([open])" in names
    ]
    assert [name.rpartition("*/")[2].strip() for name in hidden] == [
        ".part.long:not([open]) > :not(summary, .findings)"
    ]
