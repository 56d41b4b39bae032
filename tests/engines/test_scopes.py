"""Spaces and projects are found by every name they have, each in its own space."""

from __future__ import annotations

import pytest

from perdure.domain.memory import ReviewState
from perdure.errors import Conflict
from perdure.ports.store import Session
from tests.engines.stores import MINE, NOON, THEIRS, Engine, project, read, remember, write


def test_spaces_come_back_in_their_order(engine: Engine) -> None:
    spaces = read(engine, lambda s: s.spaces.all())
    assert [(space.id, space.number) for space in spaces] == [(MINE, 1), (THEIRS, 2)]
    assert read(engine, lambda s: s.spaces.get(THEIRS)) == spaces[1]
    assert read(engine, lambda s: s.spaces.get("nowhere")) is None


def test_a_spaces_number_is_given_once(engine: Engine) -> None:
    space = read(engine, lambda s: s.spaces.all())[0]
    with pytest.raises(Conflict):
        write(engine, lambda s: s.spaces.add(space))


def test_a_project_is_found_by_id_name_slug_and_name_in_any_case(engine: Engine) -> None:
    made = write(engine, lambda s: project(s, "Straße Nr 1", slug="strasse-nr-1", folder="/srv/a"))
    for name in (made.id, "Straße Nr 1", "strasse-nr-1", "STRASSE NR 1"):
        assert read(engine, lambda s: s.projects.find((THEIRS, MINE), name)) == made  # noqa: B023 - run at once
    assert read(engine, lambda s: s.projects.get(MINE, made.id)) == made
    assert read(engine, lambda s: s.projects.get(THEIRS, made.id)) is None
    assert read(engine, lambda s: s.projects.find((THEIRS,), "strasse-nr-1")) is None
    assert read(engine, lambda s: s.projects.find((MINE,), "strasse")) is None


def test_an_exact_name_goes_before_a_slug_and_the_first_space_before_the_next(engine: Engine) -> None:
    def fill(session: Session) -> list[str]:
        made = (
            project(session, "Alpha", slug="beta"),
            project(session, "beta", slug="beta-2"),
            project(session, "beta", slug="beta", space_id=THEIRS),
        )
        return [each.id for each in made]

    ids = write(engine, fill)

    def first(*spaces: str) -> str | None:
        found = read(engine, lambda s: s.projects.find(spaces, "beta"))
        return found.id if found else None

    assert first(MINE, THEIRS) == ids[1]
    assert first(THEIRS, MINE) == ids[2]


def test_du7_names_that_share_a_slug_need_different_slugs(engine: Engine) -> None:
    write(engine, lambda s: project(s, "A/B test", slug="a-b-test"))
    with pytest.raises(Conflict):
        write(engine, lambda s: project(s, "a b test", slug="a-b-test"))
    write(engine, lambda s: project(s, "a b test", slug="a-b-test-2"))
    write(engine, lambda s: project(s, "other", slug="%_"))
    assert read(engine, lambda s: s.projects.slugs(MINE, "a-b")) == {"a-b-test", "a-b-test-2"}
    assert read(engine, lambda s: s.projects.slugs(MINE, "%")) == {"%_"}
    assert read(engine, lambda s: s.projects.slugs(THEIRS, "a-b")) == set()


def test_the_list_counts_live_memories_and_puts_the_newest_first(engine: Engine) -> None:
    def fill(session: Session) -> list[str]:
        old, new, empty = (project(session, name) for name in ("old", "new", "empty"))
        remember(session, "1", project_id=old.id)
        remember(session, "2", project_id=new.id)
        remember(session, "3", project_id=old.id, archived_at=NOON)
        remember(session, "4", project_id=old.id, review=ReviewState.SUPERSEDED)
        remember(session, "5", project_id=old.id, space_id=THEIRS)
        project(session, "theirs", space_id=THEIRS)
        return [new.id, old.id, empty.id]

    ids = write(engine, fill)
    listed = read(engine, lambda s: s.projects.list((MINE,)))
    assert [each.id for each in listed] == ids
    assert [each.memories for each in listed] == [1, 1, 0]
    assert [each.last_at is None for each in listed] == [False, False, True]
    assert read(engine, lambda s: s.projects.list(())) == []
