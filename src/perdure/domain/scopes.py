"""Spaces (who owns a memory) and projects (named scopes in a space, found by id, slug or name)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perdure.errors import InvalidInput

MAX_PROJECT_NAME_CHARS = 200


class SpaceKind(StrEnum):
    PERSONAL = "personal"
    TEAM = "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """`number` is a small integer, unique in the vault: engines use it to bound an index to one space."""

    id: str
    kind: SpaceKind
    name: str
    owner_id: str
    number: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: str
    space_id: str
    slug: str
    name: str
    folder: str | None
    created_at: datetime
    memories: int = 0
    last_at: datetime | None = None


def project_name(raw: str) -> str:
    """The project's name, trimmed and in NFC. It is a label, never a path.

    Raises InvalidInput for a blank name, one over 200 characters, one with control characters, or one that reads as a path
    upwards (`..` as a whole path part).
    """
    name = unicodedata.normalize("NFC", raw).strip()
    if not name or len(name) > MAX_PROJECT_NAME_CHARS:
        raise InvalidInput(f"project: must have 1 to {MAX_PROJECT_NAME_CHARS} characters, has {len(name)}", argument="project")
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        raise InvalidInput("project: must not hold control characters", argument="project")
    if ".." in re.split(r"[\\/]", name):
        raise InvalidInput("project: is a name, not a path; `..` is not allowed in it", argument="project")
    return name


def slugify(name: str) -> str:
    """A URL-safe form of a name in any script; never empty. Two names may share it, so slugs are made unique on storing."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    slug = re.sub(r"[^\w]+", "-", folded).strip("-_")
    return slug or "project"
