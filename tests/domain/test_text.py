"""Texts and queries meet in the same literal terms, whatever script or symbols they hold."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.scripts import compose
from perdure.domain.text import MAX_QUERY_TERMS, MAX_TERM_CHARS, index_terms, is_mostly_latin, normalized, query_terms


def _stem(word: str) -> str:
    """Enough of English for these tests; the real one is tests/providers/test_stemming.py."""
    return word.removesuffix("s")


def _hits(query: str, text: str) -> bool:
    """Any term of the query is in the text, as the engines decide it."""
    return not set(query_terms(query, _stem)).isdisjoint(index_terms(text, _stem))


def _wholly_in(query: str, text: str) -> bool:
    return set(query_terms(query, _stem)) <= set(index_terms(text, _stem))


@pytest.mark.parametrize(
    "identifier",
    [
        "src/auth.js", "std::vector", "gen-itgc", "GB/s", "C++", "C#", "F#", ".NET", ".env", "@app/core", "hash_password",
        "v1.2.3", "--no-verify", "user@example.com", "10.0.0.1", "2026-11-30", "550e8400-e29b-41d4-a716-446655440000", "#123",
        "R&D", "3,000", r"C:\Users\me", "https://example.com/a?b=1", "__init__", "$HOME", "~/.ssh/config", "key=value",
    ],
)  # fmt: skip
def test_an_identifier_is_one_literal_term_wherever_it_stands(identifier: str) -> None:
    literal = identifier.casefold()
    for around in ("{}", "see {}.", "({}),", '"{}"', "`{}`;", "[{}]", "is it {}?", "修改{}文件"):
        assert literal in index_terms(around.format(identifier), _stem), around
    assert query_terms(identifier, _stem)[0] == literal
    assert _wholly_in(identifier, f"we use {identifier}, always")


def test_parts_of_an_identifier_find_it() -> None:
    text = "moved src/auth_token.js and getUserName to HTTPServer"
    for query in ("auth", "token", "js", "getUserName", "getusername", "user name", "server", "HTTP"):
        assert _wholly_in(query, text), query


def test_one_letter_parts_of_an_identifier_are_not_asked_for() -> None:
    assert query_terms("GB/s C++ C#", _stem) == ["gb/s", "gb", "c++", "c#"]
    assert not _hits("C++", "plan C")


def test_case_width_and_accents_do_not_count() -> None:
    for query, text in (
        ("musteri", "Müşteri"), ("ISTANBUL", "İstanbul"), ("ｆｕｌｌ", "full"), ("lodz", "Łódź"), ("cafe\u0301", "café"),
        ("STRASSE", "straße"),
    ):  # fmt: skip
        assert _wholly_in(query, text), query


def test_marks_of_other_scripts_stay() -> None:
    assert not _hits("か", "が")
    assert not _hits("कि", "की")
    assert _wholly_in("हिन्दी", "मुझे हिन्दी आती है")


def test_stop_words_stay_out_unless_there_is_nothing_else() -> None:
    assert query_terms("what is the port", _stem) == ["port"]
    assert index_terms("it is what it is", _stem) == ["it", "is", "what", "it", "is"]
    assert _wholly_in("what is it", "it is what it is")


def test_words_in_capitals_are_never_stop_words() -> None:
    assert _wholly_in("IT", "the IT department")
    assert not _hits("IT", "it rains")


def test_stemming_ignores_case_and_leaves_short_words_alone() -> None:
    assert _wholly_in("APIs", "one api")
    assert query_terms("GBs", _stem) == ["gbs"]


def test_possessives_and_curly_apostrophes_find_the_word() -> None:
    assert _wholly_in("John", "John’s laptop")
    assert _wholly_in("l'homme", "l’homme")


def test_emoji_and_symbols_are_terms_of_their_own() -> None:
    assert _wholly_in("🔥", "that🔥hot")
    assert _wholly_in("👍", "good 👍🏽!")
    assert _wholly_in("€50", "it costs €50")


@pytest.mark.parametrize(
    ("query", "text"), [("สวัสดี", "พูดว่าสวัสดีครับ"), ("ສະບາຍ", "ສະບາຍດີ"), ("ភាសា", "ភាសាខ្មែរ"), ("မြန်မာ", "မြန်မာစာ")]
)
def test_scripts_without_spaces_are_found_within_a_run(query: str, text: str) -> None:
    assert _wholly_in(query, text)


def test_terms_longer_than_the_limit_are_cut_alike() -> None:
    long = "x" * 500
    assert query_terms(long, _stem) == index_terms(long, _stem) == ["x" * MAX_TERM_CHARS]


def test_a_long_query_asks_for_the_first_terms_only() -> None:
    terms = query_terms(" ".join(f"word{number}" for number in range(500)), _stem)
    assert len(terms) == MAX_QUERY_TERMS
    assert terms[0] == "word0"


def test_composition_in_slices_equals_composition_of_the_whole() -> None:
    text = "ﾃﾞｰﾀ cafe\u0301 각 " * 300 + "カ\u3099" * 400
    assert compose(text) == unicodedata.normalize("NFKC", text)


def test_a_megabyte_of_any_shape_is_analysed() -> None:
    for shape in ("a", "a'", ",", "aB3/+", "用户", "a\u0301\u0316\u05b0\u05b7", "'", "🔥", "\ud800", "x.y."):
        assert isinstance(index_terms(shape * (200_000 // len(shape)), _stem), list)


def test_ft1_a_chinese_phrase_is_found_within_a_sentence() -> None:
    assert _wholly_in("身份验证", "用户身份验证失败")
    assert query_terms("身份验证", _stem) == ["身份", "份验", "验证"]


def test_ft2_two_letter_words_and_words_glued_to_latin_are_found() -> None:
    assert _wholly_in("配置", "修改API配置")
    assert _wholly_in("API", "修改API配置")
    assert _wholly_in("早报", "今天的早报")
    assert _wholly_in("盘", "C盘满了")
    assert _wholly_in("C盘", "清理C盘")


def test_ft3_japanese_and_korean_are_found_with_particles_glued_to_them() -> None:
    assert _wholly_in("しりとり", "今日は成語しりとりをした")
    assert _wholly_in("끝말잇기", "오늘 끝말잇기 게임을 했다")
    assert _wholly_in("게임", "오늘 끝말잇기 게임을 했다")
    assert _wholly_in("テスト", "ﾃｽﾄを実行")


def test_ft5_operators_and_hyphens_are_words() -> None:
    assert query_terms("tier1-test AND unicode", _stem)[0] == "tier1-test"
    assert _hits("tier1-test AND unicode", "the tier1-test suite")


def test_ft6_apostrophes_and_slashes_are_taken_as_they_come() -> None:
    assert _hits("don't use agents", "we use no agents")
    assert _wholly_in("don't", "don't")
    assert _hits("Downloads/transcripts", "see Downloads/transcripts/2026")


def test_ft8_a_slash_counts_in_texts_and_queries_alike() -> None:
    assert _hits("GB/s", "40 GB/s")
    assert not _hits("GBs", "40 GB/s")


def test_ft10_hyphenated_ids_are_found_whole_and_by_part() -> None:
    uuid = "00000000-0000-0000-0000-000000000001"
    for query in (uuid, "000000000001", "my-proj", "proj", "main", "team_a"):
        assert _wholly_in(query, f"project {uuid} my-proj main team_a"), query


@pytest.mark.parametrize(
    "query",
    ['"', "'", "*", "(", ")", "^", "NEAR", "AND", "OR", "NOT", "-", "--", ":", "{", "", "x" * 8000, "a b " * 2000,
     "🔥🎉", "\u0000", "\ud800", "%", "_"],
)  # fmt: skip
def test_ft11_any_query_gives_clean_terms(query: str) -> None:
    terms = query_terms(query, _stem)
    assert len(terms) <= MAX_QUERY_TERMS
    assert all(_is_clean(term) for term in terms)


def test_en2_a_turkish_note_is_found_with_and_without_its_letters() -> None:
    text = "Müşteri notları: görüşme çarşamba günü, ışık açık"
    for query in ("Müşteri", "musteri", "notlari", "ÇARŞAMBA", "isik"):
        assert _wholly_in(query, text), query


def test_mostly_latin_texts_are_told_from_others() -> None:
    assert is_mostly_latin("Müşteri notları")
    assert is_mostly_latin("12:30 → 🔥")
    assert not is_mostly_latin("用户身份验证 API")


def test_equal_texts_are_equal_without_case_space_and_final_punctuation() -> None:
    assert normalized(" The  ＡＰＩ\nworks. ") == normalized("the api works")
    assert normalized("port 8090") != normalized("port 8091")


def _is_clean(term: str) -> bool:
    return (
        bool(term)
        and len(term) <= MAX_TERM_CHARS
        and not any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in term)
    )


@given(st.text(st.characters(codec=None)))
def test_no_term_holds_space_control_or_surrogate(text: str) -> None:
    assert all(_is_clean(term) for term in [*index_terms(text, _stem), *query_terms(text, _stem)])


_WORDS = st.one_of(
    st.from_regex(r"[a-z]{4,12}", fullmatch=True),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{2,20}", fullmatch=True),
    st.from_regex(r"[a-z]{1,8}([-_./:@][A-Za-z0-9]{1,8}){1,4}", fullmatch=True),
    st.text("用户身份验证失败配置早报しりとりテスト끝말잇기게임", min_size=1, max_size=8),
    st.text("абвгдежзийклмн", min_size=4, max_size=8),
)


@given(st.lists(_WORDS, min_size=1, max_size=8), st.data(), st.sampled_from([" ", "\n", ", ", " (", ") ", "; "]))
def test_every_word_of_a_text_finds_it(words: list[str], data: st.DataObject, between: str) -> None:
    """Beside another word, so that a stop word may stay out of both."""
    word = data.draw(st.sampled_from(words))
    assert _wholly_in(f"zebra {word}", between.join([*words, "zebra"]))


@given(_WORDS)
def test_a_text_of_one_word_is_found_by_it(word: str) -> None:
    assert _wholly_in(word, word)
