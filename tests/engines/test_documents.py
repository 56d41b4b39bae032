"""Full text finds what is there and live, never what was, for any term and at a bounded cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.domain.memory import Memory, ReviewState
from perdure.domain.retrieval import Filter
from perdure.engines.sqlite import documents
from perdure.errors import ItemMissing
from perdure.ports.store import Session
from tests.engines.stores import (
    ENGINES,
    EVERYTHING,
    MINE,
    THEIRS,
    Engine,
    document_of,
    found,
    opened,
    read,
    remember,
    version_of,
    write,
)

PUNCTUATION = r"""! " # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \ ] ^ _ ` { | } ~"""
HOSTILE = [
    "AND", "OR", "NOT", "NEAR", '"', "'", "*", "(", ")", "^", "-", "--", ":", "{", "", " ", "\x00", "a\x00b", "a\x01b", "a\tb",
    "\ud800", "🔥", "x" * 8000, 'a" OR "b', "title:a", "{title}:a", "NEAR(a b)", "a*", "\x7f", "\u2028", "\ufeff", "%", "?",
]  # fmt: skip


def test_any_of_the_terms_finds_and_more_of_them_rank_higher(engine: Engine) -> None:
    def fill(session: Session) -> list[str]:
        return [remember(session, text).id for text in ("alpha", "alpha beta", "gamma", "delta", "epsilon zeta")]

    ids = write(engine, fill)
    assert read(engine, lambda s: found(s, "alpha beta")) == [ids[1], ids[0]]


def test_a_title_counts_more_than_a_body(engine: Engine) -> None:
    body = write(engine, lambda s: remember(s, "alpha beta", title="gamma delta"))
    title = write(engine, lambda s: remember(s, "gamma delta", title="alpha beta"))
    write(engine, lambda s: [remember(s, f"word{n} other{n}") for n in range(5)])
    assert read(engine, lambda s: found(s, "alpha")) == [title.id, body.id]


@pytest.mark.parametrize("term", [*PUNCTUATION.split(), *(f"a{c}b" for c in PUNCTUATION.split()), "身份", "müşteri", "🔥"])
def test_ft6_every_symbol_is_part_of_its_term(engine: Engine, term: str) -> None:
    memory = write(engine, lambda s: remember(s, f"before {term} after"))
    write(engine, lambda s: remember(s, "a b ab before after"))
    assert read(engine, lambda s: [c.memory_id for c in s.documents.search([term], EVERYTHING, 10)]) == [memory.id]


@pytest.mark.parametrize("term", HOSTILE, ids=ascii)
def test_ft11_no_term_is_an_error(engine: Engine, term: str) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    assert read(engine, lambda s: [c.memory_id for c in s.documents.search([term, "word"], EVERYTHING, 10)]) == [memory.id]
    read(engine, lambda s: s.documents.search([term], EVERYTHING, 10))


@settings(max_examples=60)
@given(terms=st.lists(st.text(max_size=12), max_size=80))
def test_ft11_no_list_of_terms_is_an_error(vault_of_words: Engine, terms: list[str]) -> None:
    read(vault_of_words, lambda s: s.documents.search(terms, EVERYTHING, 10))


@pytest.fixture(scope="module")
def vault_of_words(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened(ENGINES["sqlite"](tmp_path_factory.mktemp("home"))) as engine:
        write(engine, lambda s: [remember(s, f"word w{n}") for n in range(20)])
        yield engine


def test_a_limit_of_nothing_answers_nothing(engine: Engine) -> None:
    write(engine, lambda s: remember(s, "word"))
    assert read(engine, lambda s: s.documents.search(["word"], EVERYTHING, 0)) == []


def test_sr4_a_replaced_text_is_found_by_its_new_words_only(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "prefers python"))
    write(engine, lambda s: s.documents.put(document_of(replace(memory, content="prefers javascript"))))
    assert read(engine, lambda s: [found(s, word) for word in ("python", "javascript")]) == [[], [memory.id]]
    assert read(engine, lambda s: s.documents.count((MINE,))) == 1


def test_sr2_a_removed_document_is_found_no_more_and_may_return(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    write(engine, lambda s: s.documents.remove(MINE, memory.id))
    write(engine, lambda s: s.documents.remove(MINE, memory.id))
    assert read(engine, lambda s: (found(s, "word"), s.documents.count((MINE,)))) == ([], 0)
    write(engine, lambda s: s.documents.put(document_of(memory)))
    assert read(engine, lambda s: found(s, "word")) == [memory.id]


def test_a_document_without_its_memory_is_refused(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    with pytest.raises(ItemMissing):
        write(engine, lambda s: s.documents.put(document_of(replace(memory, id="another"))))


def test_sc4_a_search_stays_in_its_spaces(engine: Engine) -> None:
    mine = write(engine, lambda s: remember(s, "word"))
    theirs = write(engine, lambda s: remember(s, "word", space_id=THEIRS))
    both = Filter(spaces=(MINE, THEIRS))
    assert read(engine, lambda s: found(s, "word")) == [mine.id]
    assert set(read(engine, lambda s: found(s, "word", both))) == {mine.id, theirs.id}
    assert read(engine, lambda s: found(s, "word", Filter(spaces=("nowhere",)))) == []


def test_a_filter_may_itself_look_like_a_query(engine: Engine) -> None:
    odd = 'x" OR scope : "'
    memory = write(engine, lambda s: remember(s, "word", agent=odd, tags=(odd,), session_id="a b*", project_id="my-proj"))
    write(engine, lambda s: remember(s, "word", agent="x", tags=("x",), session_id="a", project_id="my"))
    where = Filter(spaces=(MINE,), agent=odd, tags=(odd,), session_id="a b*", project_id="my-proj")
    assert read(engine, lambda s: found(s, "word", where)) == [memory.id]


def test_a_filters_value_is_not_a_word_of_the_text(engine: Engine) -> None:
    write(engine, lambda s: remember(s, "word", agent="claude", derived=True))
    assert read(engine, lambda s: found(s, "claude derived note")) == []


def test_a_review_holds_without_a_new_document(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    write(engine, lambda s: s.memories.save(replace(memory, review=ReviewState.REVIEWED)))
    reviewed = Filter(spaces=(MINE,), reviews=(ReviewState.REVIEWED,))
    assert read(engine, lambda s: found(s, "word", reviewed)) == [memory.id]


def test_common_terms_are_left_out_but_still_order(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_SCORED", 4)

    def fill(session: Session) -> tuple[list[str], list[str]]:
        rare = [remember(session, text).id for text in ("rare other", "rare common", "rare other")]
        return rare, [remember(session, f"common {n}").id for n in range(3)] + [
            remember(session, f"filler{n}").id for n in range(9)
        ]

    rare, _ = write(engine, fill)
    answered = read(engine, lambda s: found(s, "common rare"))
    assert answered[0] == rare[1]
    assert set(answered) == set(rare)


def test_when_even_the_rarest_term_is_common_the_newest_answer(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_SCORED", 3)
    ids = write(engine, lambda s: [remember(s, "common").id for _ in range(9)])
    assert set(read(engine, lambda s: found(s, "common"))) == set(ids[-3:])


def test_within_a_narrow_filter_no_term_is_left_out(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_SCORED", 6)

    def fill(session: Session) -> list[str]:
        ids = [remember(session, text, session_id="s").id for text in ("first", "second")]
        for _ in range(8):
            remember(session, "first second")
        return ids

    ids = write(engine, fill)
    narrow = Filter(spaces=(MINE,), session_id="s")
    assert set(read(engine, lambda s: found(s, "first second", narrow))) == set(ids)


def test_a_check_tells_what_is_missing_and_what_is_a_ghost(engine: Engine) -> None:
    kept = write(engine, lambda s: [remember(s, f"word{n}") for n in range(4)])
    assert read(engine, lambda s: s.documents.check()) == []

    def harm(session: Session) -> None:
        session.documents.remove(MINE, kept[0].id)
        session.memories.save(replace(kept[1], archived_at=session.instant()))
        session.memories.purge(MINE, kept[2].id, session.instant())

    write(engine, harm)
    findings = read(engine, lambda s: s.documents.check())
    assert [finding.split(";")[0] for finding in findings] == [
        "1 live memories are not searchable",
        "2 documents belong to no live memory",
    ]


def test_a_rebuild_writes_every_live_memory_anew(engine: Engine) -> None:
    def fill(session: Session) -> list[Memory]:
        return [remember(session, f"word{n} word", space_id=(MINE, THEIRS)[n % 2]) for n in range(5)]

    memories = write(engine, fill)
    write(engine, lambda s: s.documents.remove(MINE, memories[0].id))
    write(engine, lambda s: s.memories.save(replace(memories[1], review=ReviewState.SUPERSEDED)))
    assert write(engine, lambda s: s.documents.rebuild(document_of)) == 4
    assert read(engine, lambda s: s.documents.check()) == []
    both = Filter(spaces=(MINE, THEIRS))
    assert set(read(engine, lambda s: found(s, "word", both))) == {m.id for m in (memories[0], *memories[2:])}


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "revise", "archive", "restore", "purge"]),
        st.integers(0, 4),
        st.lists(st.sampled_from("abcdef"), max_size=4),
    ),
    max_size=25,
)


@settings(max_examples=25)
@given(steps=_STEPS)
def test_after_any_changes_a_word_finds_exactly_the_live_memories_that_hold_it(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, list[str]]]
) -> None:
    with opened(ENGINES["sqlite"](tmp_path_factory.mktemp("home"))) as engine:
        memories: dict[int, Memory] = {}
        for step, place, words in steps:
            changed = write(engine, lambda s: _change(s, step, memories.get(place), text=" ".join(words)))  # noqa: B023 - run at once
            memories.pop(place, None)
            if changed:
                memories[place] = changed
        for word in "abcdef":
            held = {m.id for m in memories.values() if m.is_live and word in m.content.split()}
            assert set(read(engine, lambda s: found(s, word))) == held  # noqa: B023 - run at once
        assert read(engine, lambda s: s.documents.check()) == []


def _change(session: Session, step: str, memory: Memory | None, *, text: str) -> Memory | None:
    """One step as a service would do it: the row, its version and its document in one transaction."""
    if memory is None:
        return remember(session, text) if step == "add" else None
    if step == "purge":
        session.documents.remove(MINE, memory.id)
        session.memories.purge(MINE, memory.id, session.instant())
        return None
    if step == "revise":
        memory = replace(memory, content=text, version=memory.version + 1, updated_at=session.instant())
        session.memories.save(memory, version_of(memory))
    else:
        memory = replace(memory, archived_at=session.instant() if step == "archive" else None)
        session.memories.save(memory)
    if memory.is_live:
        session.documents.put(document_of(memory))
    else:
        session.documents.remove(MINE, memory.id)
    return memory
