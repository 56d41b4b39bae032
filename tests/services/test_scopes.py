from __future__ import annotations

import pytest

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.errors import ProjectMissing
from tests.services.conftest import Play


async def capture(app: App, me: Caller, content: str, project: str) -> None:
    await app.memories.capture(me, Draft(content=content, kind=Kind.NOTE, project=project))


def test_a_project_is_found_by_id_slug_and_name_in_any_case(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await capture(app, me, "a", "Great Parser")
        (project,) = await app.scopes.projects(me)
        for name in (project.id, "great-parser", "Great Parser", "GREAT PARSER"):
            assert (await app.scopes.require_project(me, name)).id == project.id
        with pytest.raises(ProjectMissing, match="cortexa_list_projects"):
            await app.scopes.require_project(me, "Other")

    play(scenario)


def test_a_capture_in_other_letters_case_or_by_slug_joins_the_project(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for number, name in enumerate(("Great Parser", "great parser", "great-parser")):
            await capture(app, me, f"note {number}", name)
        assert [(p.name, p.memories) for p in await app.scopes.projects(me)] == [("Great Parser", 3)]

    play(scenario)


def test_projects_come_most_recently_used_first_with_live_counts(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await capture(app, me, "a", "one")
        await capture(app, me, "b", "two")
        await capture(app, me, "c", "one")
        assert [(p.name, p.memories) for p in await app.scopes.projects(me)] == [("one", 2), ("two", 1)]

    play(scenario)


def test_preparing_a_vault_twice_makes_one_space(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.scopes.prepare()
        spaces = await app.scopes._store.read(lambda session: session.spaces.all())
        assert [space.id for space in spaces] == [me.space_id]

    play(scenario)
