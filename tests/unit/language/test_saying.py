"""Texts by key, their forms, and the language that is spoken."""

import json
import threading
from pathlib import Path

import pytest

from isthmus import language
from isthmus.language import Quoted, can_say, capitalised, enumerated, in_brackets, say, sentences, speaking, spoken


def test_english_is_spoken_unless_told_otherwise() -> None:
    assert spoken() == "en"
    assert say("memory.text_pinned") == "pinned memory"


def test_another_language_is_spoken_within_and_not_after() -> None:
    with speaking("ja"):
        assert say("memory.text_pinned") == "ピン留めメモリ"
        with speaking("zh"):
            assert say("memory.text_pinned") == "锁页内存"
        assert spoken() == "ja"
    assert spoken() == "en"


def test_a_language_is_left_by_an_error_too() -> None:
    with pytest.raises(KeyError), speaking("ja"):
        say("memory.no_such_kind")
    assert spoken() == "en"


def test_other_threads_keep_their_own_language() -> None:
    heard: list[str] = []
    with speaking("ja"):
        thread = threading.Thread(target=lambda: heard.append(spoken()))
        thread.start()
        thread.join()
    assert heard == ["en"]


def test_a_count_chooses_the_form() -> None:
    assert say("common.cases", count=1) == "1 case"
    assert say("common.cases", count=0) == "0 cases"
    assert say("common.cases", count=12) == "12 cases"
    with speaking("ja"):
        assert say("common.cases", count=1) == "1件"


def test_a_missing_value_is_an_error_and_not_a_gap() -> None:
    with pytest.raises(KeyError):
        say("common.range", low="1")


def test_a_missing_translation_shows_the_english_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts = {"half": {"en": "half rate", "ja": "半速"}, "none": {"en": "none", "ja": ""}}
    (tmp_path / "unheard_of.json").write_text(json.dumps(texts), "utf-8")
    monkeypatch.setattr(language, "files", lambda _: tmp_path)
    assert [say("unheard_of.half"), say("unheard_of.none")] == ["half rate", "none"]
    with speaking("ja"):
        assert [say("unheard_of.half"), say("unheard_of.none")] == ["半速", ""]
    with speaking("zh"):
        assert say("unheard_of.half") == "half rate"


def test_chinese_keeps_ideographs_and_latin_apart_and_ideographs_together() -> None:
    with speaking("zh"):
        assert enumerated(["1 MiB", "4 MiB", "锁页内存"]) == "1 MiB、4 MiB 和锁页内存"
        assert say("common.range", low="锁页", high="注册") == "锁页至注册"
    assert enumerated(["1 MiB", "锁页内存"]) == "1 MiB and 锁页内存"


def test_a_quoted_title_stays_as_its_author_spaced_it() -> None:
    title = "主机Pinned Memory与Pageable Memory和设备间的拷贝"
    with speaking("zh"):
        assert say("published.note", citation=Quoted(title)).startswith(f"来源：{title}。")
        assert "主机 Pinned" in say("published.note", citation=title)


def test_what_cannot_be_said_is_known_beforehand() -> None:
    assert can_say("memory.text_pinned")
    assert not can_say("memory.text_of_the_future")


@pytest.mark.parametrize(
    ("language", "words", "expected"),
    [
        ("en", [], ""),
        ("en", ["a"], "a"),
        ("en", ["a", "b"], "a and b"),
        ("en", ["a", "b", "c"], "a, b and c"),
        ("ja", ["a", "b", "c"], "a、b、c"),
        ("zh", ["a", "b", "c"], "a、b 和 c"),
    ],
)
def test_lists_are_joined_as_the_language_does(language: str, words: list[str], expected: str) -> None:
    with speaking(language):  # type: ignore[arg-type]
        assert enumerated(words) == expected


def test_sentences_follow_each_other_with_or_without_a_space() -> None:
    assert sentences(["One.", "", "Two."]) == "One. Two."
    with speaking("ja"):
        assert sentences(["一。", "二。"]) == "一。二。"


def test_brackets_leave_no_trace_of_nothing() -> None:
    assert in_brackets("") == ""
    assert in_brackets("so") == " (so)"


def test_only_the_first_letter_becomes_a_capital() -> None:
    assert capitalised("pinned H2D") == "Pinned H2D"
    assert capitalised("") == ""
