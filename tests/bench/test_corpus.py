from __future__ import annotations

from perdure.bench import corpus


def test_the_same_seed_gives_the_same_texts_and_another_one_others() -> None:
    assert list(corpus.memories(20, seed=1)) == list(corpus.memories(20, seed=1))
    assert list(corpus.memories(20, seed=1)) != list(corpus.memories(20, seed=2))
    assert corpus.queries(20, seed=1) == corpus.queries(20, seed=1) != corpus.queries(20, seed=2)
    assert all(len(text.split()) == corpus.WORDS_PER_MEMORY + 1 for text in corpus.memories(20, seed=1))


def test_every_memory_has_a_word_of_its_own() -> None:
    assert len({text.split()[-1] for text in corpus.memories(100, seed=1)}) == 100


def test_a_query_is_three_words_of_one_question() -> None:
    for query in corpus.queries(50, seed=4):
        words = query.split()
        assert len(words) == 3
        assert any(all(word in question.lower() for word in words) for question in corpus.QUESTIONS)
