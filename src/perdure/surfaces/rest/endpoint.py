"""A route is a declaration: a function whose decorator, annotations and docstring are the whole contract.

    @endpoint("GET", "/api/memories")
    async def list_memories(call: Call, query: ListQuery) -> MemoryPage:
        \"\"\"Memories, newest first.\"\"\"

Routing, validation, audit and /openapi.json follow from it. Parameters: `call`, then each name in the path, then `query` and
`body` (pydantic models). It parses no more, makes one service call, renders.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.records import AuditEntry
from perdure.errors import Forbidden, PerdureError, Unauthorized
from perdure.surfaces.mcp import declaration
from perdure.surfaces.mcp.arguments import accept, explain
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.rest.problems import MethodRefused, NotJson

NDJSON = "application/x-ndjson"
NO_STORE = {"Cache-Control": "no-store"}
_ID = re.compile(r"[0-9a-fA-F-]{32,36}")
Model = TypeVar("Model", bound=BaseModel)


class Given(BaseModel):
    """What a caller sends: unknown names are refused, so that a misspelt filter never widens what is hit."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Site:
    """What the routes stand on."""

    app: App
    gate: Gate
    on_stop: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `known` is None on a public address that was asked without a token."""

    site: Site
    request: Request
    known: Caller | None

    @property
    def app(self) -> App:
        return self.site.app

    @property
    def caller(self) -> Caller:
        if self.known is None:
            raise Unauthorized
        return self.known


Function = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """`primary`: for the primary token alone. `public`: answers without a token. `gated`: the gate keeps the record itself.
    `works_locked`: needs no open vault; all others answer why it could not be opened, where it could not (FAULTS DL14).

    `takes` and `gives` are the media types of body and answer where those are no JSON documents of a model.
    """

    method: str
    path: str
    function: Function
    status: int = 200
    primary: bool = False
    public: bool = False
    gated: bool = False
    works_locked: bool = False
    takes: str | None = None
    gives: str | None = None

    @cached_property
    def hints(self) -> dict[str, Any]:
        return get_type_hints(self.function)

    @property
    def summary(self) -> str:
        return (self.function.__doc__ or "").strip().splitlines()[0]

    @property
    def answer(self) -> type[BaseModel] | None:
        kind = self.hints["return"]
        return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None

    async def respond(self, site: Site, request: Request) -> Response:
        call = Call(site, request, request.state.caller)
        if not self.public:
            site.app.vault.touch()
        if self.method == "GET" or self.gated:
            return await self._run(call)
        started = time.perf_counter()
        status = "cancelled"
        try:
            response = await self._run(call)
            status = "ok"
        except PerdureError as error:
            status = error.code
            raise
        finally:
            elapsed_ms = (time.perf_counter() - started) * 1000
            site.app.audit.record(dataclasses.replace(self._entry(call, status), duration_ms=elapsed_ms))
        return response

    async def _run(self, call: Call) -> Response:
        if self.primary and not call.caller.is_primary:
            raise Forbidden(
                f"This needs the primary token, yours is of the kind {call.caller.kind}; `perdure token show primary` prints it."
            )
        fault = None if self.works_locked or self.public or self.gated else call.site.gate.fault()
        if fault is not None:
            raise fault
        arguments: dict[str, Any] = dict(call.request.path_params)
        if "query" in self.hints:
            arguments["query"] = parse(self.hints["query"], _query(call.request, schema_of(self.hints["query"])))
        if "body" in self.hints:
            arguments["body"] = parse(self.hints["body"], await read_json(call.request))
        result = await self.function(call, **arguments)
        if isinstance(result, Response):
            return result
        return Response(result.model_dump_json(), self.status, headers=NO_STORE, media_type="application/json")

    def _entry(self, call: Call, status: str) -> AuditEntry:
        """Route and ids; never what was sent."""
        ids = [f"{name}={value}" for name, value in call.request.path_params.items() if _ID.fullmatch(value)]
        return AuditEntry(
            tool_name=f"{self.method} {self.path}",
            agent=call.caller.client,
            session_id=None,
            input_summary=", ".join(ids),
            output_status=status,
            duration_ms=0.0,
            error_message=None if status == "ok" else status,
            token_id=call.caller.token_id,
        )


def endpoint(method: str, path: str, **how: Any) -> Callable[[Function], Endpoint]:
    """Declare a route; `how` are the fields of Endpoint."""
    return lambda function: Endpoint(method=method, path=path, function=function, **how)


class Resource:
    """The ASGI application of one path: its endpoints by method, HEAD where there is GET, OPTIONS, and 405 with Allow."""

    def __init__(self, site: Site, endpoints: Sequence[Endpoint]) -> None:
        self._site = site
        self._endpoints = {e.method: e for e in endpoints}
        heads = {"HEAD"} if "GET" in self._endpoints else set()
        self._allowed = ", ".join(sorted({*self._endpoints, "OPTIONS"} | heads))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method == "OPTIONS":
            response = Response(status_code=204, headers={"Allow": self._allowed})
        else:
            found = self._endpoints.get("GET" if request.method == "HEAD" else request.method)
            if found is None:
                raise MethodRefused(self._allowed)
            response = await found.respond(self._site, request)
        await response(scope, receive, send)


@cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema as the tools' schemas are written, made once."""
    return declaration.schema_of(model)


def parse(model: type[Model], raw: object) -> Model:
    """Raises InvalidInput, naming the argument and what is allowed, never what was sent."""
    schema = schema_of(model)
    given = accept(raw, schema)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise explain(error, schema) from None


async def read_json(request: Request) -> Any:
    """The body as JSON; an empty one is an empty object. Raises NotJson, TooLarge."""
    return parse_json(await request.body() or b"{}")


def parse_json(body: bytes) -> Any:
    """Raises NotJson for what is no JSON: also half surrogate pairs, raw control characters, nesting beyond 200 levels."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise NotJson(f"The body is not JSON: {error}.", argument="body") from None


def _query(request: Request, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The query by name; a name that takes an array may be repeated."""
    properties, query = schema["properties"], request.query_params
    return {name: query.getlist(name) if properties.get(name, {}).get("type") == "array" else query[name] for name in query}
