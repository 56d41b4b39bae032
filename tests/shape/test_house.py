"""The tree as it is keeps every house limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.shape import limits
from tests.shape.tree import TESTS, SourceFile, everything, read, source

Limit = Callable[[Iterable[SourceFile]], list[str]]

OF_THE_SOURCE: list[Limit] = [
    limits.function_length_p95,
    limits.parameter_counts,
    limits.positional_parameters,
    limits.tool_bodies,
    limits.broad_excepts,
    limits.environment_reads,
    limits.impure_core,
]
OF_EVERYTHING: list[Limit] = [
    limits.function_lengths,
    limits.file_lengths,
    limits.hidden_imports,
    limits.vague_names,
    limits.package_files,
    limits.bare_suppressions,
]
OF_TESTS: list[Limit] = [limits.test_names, limits.sleeps]


def _assert_none(findings: list[str]) -> None:
    assert not findings, "\n" + "\n".join(findings)


def _name(limit: Limit) -> str:
    return limit.__name__


@pytest.mark.parametrize("limit", OF_THE_SOURCE, ids=_name)
def test_the_source_keeps_the_limit(limit: Limit) -> None:
    _assert_none(limit(source()))


@pytest.mark.parametrize("limit", OF_EVERYTHING, ids=_name)
def test_source_tests_and_benchmarks_keep_the_limit(limit: Limit) -> None:
    _assert_none(limit(everything()))


@pytest.mark.parametrize("limit", OF_TESTS, ids=_name)
def test_the_tests_keep_the_limit(limit: Limit) -> None:
    _assert_none(limit(read(TESTS)))


def test_every_room_has_its_test() -> None:
    _assert_none(limits.rooms_without_tests(source(), read(TESTS)))


def test_every_exception_to_a_limit_is_still_needed() -> None:
    paths = {file.path for file in source()}
    named = {key.split(":")[0] for key in (*limits.MANY_PARAMETERS,)}
    assert named <= paths
