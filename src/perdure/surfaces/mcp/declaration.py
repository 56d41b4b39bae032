"""A tool is a declaration: a function whose name, signature, annotations and docstring are the whole contract.

    @tool(writes=False)
    async def cortexa_recent(app: App, caller: Caller, *, limit: Annotated[int, Clamp(), Field(description="…")] = 20) -> Reply:
        \"\"\"List the most recent captures.\"\"\"

Schema, `tools/list`, validation, REST route and audit follow from it. The body parses no more, makes one service call, renders.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from perdure.app import App
from perdure.domain.access import Caller
from perdure.surfaces.mcp.arguments import accept, explain
from perdure.surfaces.mcp.reply import Reply

Function = Callable[..., Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Clamp:
    """For a number without a stated maximum: it is brought into this range, and the answer says so."""

    low: int = 1
    high: int = 100


@dataclass(frozen=True, slots=True)
class Arguments:
    """Typed arguments by name, and what the answer must say about them."""

    values: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`primary`: for the primary token alone. `writes`: changes something. `repeatable`: a write that does no more when it is
    repeated at once. `works_locked`: needs no open vault."""

    name: str
    description: str
    primary: bool
    writes: bool
    repeatable: bool
    works_locked: bool
    schema: dict[str, Any]
    model: type[BaseModel] = field(repr=False)
    function: Function = field(repr=False)
    clamps: Mapping[str, Clamp] = field(default_factory=dict, repr=False)

    def parse(self, raw: object) -> Arguments:
        """Raw arguments as typed ones. Raises InvalidInput, naming the argument and what is allowed."""
        given = accept(raw, self.schema)
        try:
            model = self.model.model_validate(given)
        except ValidationError as error:
            raise explain(error, self.schema) from None
        values = {name: getattr(model, name) for name in self.model.model_fields}
        notes = []
        for name, clamp in self.clamps.items():
            if values[name] is not None and not clamp.low <= values[name] <= clamp.high:
                values[name] = min(max(values[name], clamp.low), clamp.high)
                notes.append(f"{name}: must lie between {clamp.low} and {clamp.high}; {values[name]} was taken.")
        return Arguments(values, tuple(notes))

    async def run(self, app: App, caller: Caller, values: Mapping[str, Any]) -> Reply:
        return await self.function(app, caller, **values)


def tool(
    *, primary: bool = False, writes: bool = False, repeatable: bool = False, works_locked: bool = False
) -> Callable[[Function], Tool]:
    """Declare a tool. Its keyword-only parameters are its arguments."""

    def declare(function: Function) -> Tool:
        name = function.__name__
        hints = get_type_hints(function, include_extras=True)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        fields: dict[str, Any] = {p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in parameters}
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields)
        return Tool(
            name=name,
            description=inspect.cleandoc(function.__doc__ or ""),
            primary=primary,
            writes=writes,
            repeatable=repeatable,
            works_locked=works_locked,
            schema=schema_of(model),
            model=model,
            function=function,
            clamps={p.name: c for p in parameters for c in getattr(hints[p.name], "__metadata__", ()) if isinstance(c, Clamp)},
        )

    return declare


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """A model's JSON schema as the contracts write it: no references, no titles, and what is optional is not "or null"."""
    whole = model.model_json_schema()
    return {"properties": {}, **_flat(whole, whole.get("$defs", {}))}


def _flat(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
        return _flat({**target, **{key: value for key, value in schema.items() if key != "$ref"}}, definitions)
    if "anyOf" in schema:
        branches = [branch for branch in schema["anyOf"] if branch.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        if len(branches) == 1:
            return _flat({**branches[0], **rest}, definitions)
    flat: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("title", "$defs") or (key == "default" and value is None):
            continue
        if key == "properties":
            flat[key] = {name: _flat(inner, definitions) for name, inner in value.items()}
        else:
            flat[key] = _flat(value, definitions) if key == "items" else value
    return flat
