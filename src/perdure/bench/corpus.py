"""Text to measure with that every Python carries: the language's own help topics, cut into memories and questions.

Each memory is a stretch of real prose at a random place, so that words are as common as they are in prose; each ends with a word
of its own. A vault twenty times as large has each word twenty times as often, which is the hard case for full text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pydoc_data.topics import topics

WORDS_PER_MEMORY = 60

QUESTIONS = (
    "How do I raise an exception inside a generator function?",
    "When is the finalizer of an object called by the interpreter?",
    "What does the import statement do with a package name?",
    "Which operators can a class define for numeric types?",
    "How are default parameter values evaluated in a function definition?",
    "Where does the interpreter look up a global variable name?",
    "What happens when a sequence index is out of range?",
    "How is a string literal with a backslash escape read?",
    "Which methods make an object an asynchronous context manager?",
    "Why does comparing two values of different types raise an error?",
    "How can a breakpoint be set with a condition in the debugger?",
    "What is the difference between a bytes and a bytearray object?",
    "When does a try statement execute its finally clause?",
    "How do class decorators differ from metaclass arguments?",
    "Which format specification aligns a decimal number to the right?",
    "What does the with statement guarantee about the exit method?",
    "How is the attribute reference of an instance resolved?",
    "Where are the slots of a class stored and what do they save?",
    "How does a coroutine suspend its execution with await?",
    "Which rules decide the precedence of boolean operations?",
    "How does pattern matching capture the rest of a mapping?",
    "What must a module spec loader provide to the import system?",
    "Why is a mutable dictionary key not hashable?",
    "How does a slice assignment replace items of a list?",
)

_WORDS = " ".join(topics[name] for name in sorted(topics)).split()
_SHORT = frozenset(("does", "from", "have", "into", "that", "their", "this", "what", "when", "where", "which", "with"))


def memories(count: int, seed: int) -> Iterator[str]:
    """`count` texts of 60 words, the same for the same seed."""
    rng = random.Random(seed)
    for number in range(count):
        start = rng.randrange(len(_WORDS) - WORDS_PER_MEMORY)
        yield f"{' '.join(_WORDS[start : start + WORDS_PER_MEMORY])} memory{seed}x{number}"


def queries(count: int, seed: int) -> list[str]:
    """`count` queries, each of three words of one question (words that carry meaning: four letters or more)."""
    rng = random.Random(seed)
    pools = [
        [word for word in re.findall(r"[a-z]+", question.lower()) if len(word) > 3 and word not in _SHORT]
        for question in QUESTIONS
    ]
    return [" ".join(rng.sample(rng.choice(pools), 3)) for _ in range(count)]
