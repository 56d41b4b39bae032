"""Spaces and projects: found by id, slug or name, made on the way (SEMANTICS 1)."""

from __future__ import annotations

from perdure.domain.access import Caller
from perdure.domain.scopes import Project, Space, SpaceKind, project_name, slugify
from perdure.errors import ProjectMissing
from perdure.ports.store import Session, Store
from perdure.services.access import OWNER_ID


class ScopeService:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def prepare(self) -> None:
        """Make the owner's personal space where it is missing (a new vault)."""

        def work(session: Session) -> None:
            if session.spaces.get(OWNER_ID) is None:
                session.spaces.add(
                    Space(
                        id=OWNER_ID,
                        kind=SpaceKind.PERSONAL,
                        name="Personal",
                        owner_id=OWNER_ID,
                        number=1 + max((space.number for space in session.spaces.all()), default=0),
                        created_at=session.instant(),
                    )
                )

        await self._store.write(work)

    async def projects(self, caller: Caller) -> list[Project]:
        """Every project of the caller's spaces with its counts, the most recently used first."""
        return await self._store.read(lambda session: session.projects.list(caller.spaces))

    async def find_project(self, caller: Caller, name: str) -> Project | None:
        return await self._store.read(lambda session: session.projects.find(caller.spaces, name))

    async def require_project(self, caller: Caller, name: str) -> Project:
        """By id, slug or name. Raises ProjectMissing."""
        project = await self.find_project(caller, name)
        if project is None:
            raise ProjectMissing
        return project


def ensure_project(session: Session, space_id: str, raw: str) -> Project:
    """The project of that id, slug or name in the space, made if it is missing; slugs stay unique (FAULTS DU7).

    Raises InvalidInput for a name that is no name.
    """
    name = project_name(raw)
    found = session.projects.find((space_id,), name)
    # A slug or a name in other letters' case finds a project; a different name that merely slugs alike is another one.
    if found is not None and (name in (found.id, found.slug) or found.name.casefold() == name.casefold()):
        return found
    base = slugify(name)
    taken = session.projects.slugs(space_id, base)
    slug = base if base not in taken else next(s for n in range(2, len(taken) + 3) if (s := f"{base}-{n}") not in taken)
    project = Project(id=session.new_id(), space_id=space_id, slug=slug, name=name, folder=None, created_at=session.instant())
    session.projects.add(project)
    return project
