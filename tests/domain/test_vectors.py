"""How a long text is cut into windows, and when vectors may be compared."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.vectors import OVERLAP_CHARS, WINDOW_CHARS, EmbeddingModel, windows


def test_a_short_text_is_one_window_and_a_blank_one_none() -> None:
    assert windows(" a word ") == ["a word"]
    assert windows("x" * WINDOW_CHARS) == ["x" * WINDOW_CHARS]
    assert windows(" \n ") == windows("") == []


def test_windows_overlap_and_break_between_words() -> None:
    words = " ".join(f"word{number}" for number in range(1000))
    found = windows(words)
    assert all(len(window) <= WINDOW_CHARS for window in found)
    assert all(window.split()[-1] in words.split() for window in found)
    assert all(words.index(after) < words.index(before) + len(before) for before, after in itertools.pairwise(found))
    assert all(len(set(before.split()) & set(after.split())) > 10 for before, after in itertools.pairwise(found))


def test_a_text_without_gaps_is_cut_all_the_same() -> None:
    found = windows("".join(chr(0x4E00 + number) for number in range(2 * WINDOW_CHARS)))
    assert [len(window) for window in found] == [WINDOW_CHARS, WINDOW_CHARS, 2 * OVERLAP_CHARS]


@given(st.text(alphabet="ab \n", max_size=4 * WINDOW_CHARS))
def test_windows_hold_every_word_character_in_order(text: str) -> None:
    at = 0
    for window in windows(text):
        start = text.find(window, max(0, at - WINDOW_CHARS))
        assert start >= 0
        assert text[at:start].strip() == ""
        at = max(at, start + len(window))
    assert text[at:].strip() == ""


def test_models_are_comparable_by_id_revision_and_dimension() -> None:
    model = EmbeddingModel(id="m", revision="1", dimension=8)
    assert model.key == "m@1#8"
    assert len({model.key, EmbeddingModel(id="m", revision="2", dimension=8).key, "m@1#16"}) == 3
