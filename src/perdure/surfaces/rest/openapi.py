"""/openapi.json (3.1), made from the declarations of routes and tools; nothing is described twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from perdure.surfaces.mcp.declaration import Tool
from perdure.surfaces.rest.endpoint import Call, Endpoint, endpoint, schema_of
from perdure.surfaces.rest.problems import MEDIA_TYPE
from perdure.surfaces.rest.shapes import Problem
from perdure.surfaces.rest.tools import PATH, ToolAnswer

REF = "#/components/schemas/{model}"
JSON = "application/json"


def describe(endpoints: Sequence[Endpoint], tools: Sequence[Tool], version: str) -> dict[str, Any]:
    """The whole document. Each tool stands as a path of its own, with its declaration's schema as the body."""
    answers = [(kind, "serialization") for kind in dict.fromkeys([Problem, ToolAnswer, *_answers(endpoints)])]
    _, schemas = models_json_schema(answers, ref_template=REF)  # type: ignore[arg-type]  # the mode is one of the literals
    paths: dict[str, dict[str, Any]] = {}
    for e in endpoints:
        if e.path != PATH:
            paths.setdefault(e.path, {})[e.method.lower()] = _operation(e)
    for tool in tools:
        paths[PATH.format(name=tool.name)] = {"post": _tool_operation(tool)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "perdure", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Problem": {"description": "A problem", "content": {MEDIA_TYPE: {"schema": _ref(Problem)}}}},
        },
    }


@endpoint("GET", "/openapi.json", public=True)
async def get_openapi(call: Call) -> Response:
    """This document."""
    return Response(call.request.app.state.openapi, media_type=JSON)


def rendered(endpoints: Sequence[Endpoint], tools: Sequence[Tool], version: str) -> str:
    return json.dumps(describe(endpoints, tools, version), ensure_ascii=False)


def _answers(endpoints: Sequence[Endpoint]) -> list[type[BaseModel]]:
    return [e.answer for e in endpoints if e.answer is not None]


def _operation(e: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": e.function.__name__, "summary": e.summary}
    if e.primary:
        operation["description"] = "For the primary token alone."
    if e.public:
        operation["security"] = [{}, {"token": []}]
    parameters = [_path_parameter(name) for name in e.hints if f"{{{name}}}" in e.path]
    if "query" in e.hints:
        parameters += _query_parameters(schema_of(e.hints["query"]))
    if parameters:
        operation["parameters"] = parameters
    if "body" in e.hints:
        operation["requestBody"] = _body(schema_of(e.hints["body"]))
    elif e.takes:
        operation["requestBody"] = {"required": True, "content": {e.takes: {"schema": {"type": "string"}}}}
    return operation | {"responses": _responses(e)}


def _tool_operation(tool: Tool) -> dict[str, Any]:
    answer = {"description": HTTPStatus.OK.phrase, "content": {JSON: {"schema": _ref(ToolAnswer)}}}
    return {
        "operationId": tool.name,
        "summary": tool.description.splitlines()[0],
        "description": tool.description + ("\n\nFor the primary token alone." if tool.primary else ""),
        "tags": ["tools"],
        "requestBody": _body(tool.schema),
        "responses": {"200": answer, "default": {"$ref": "#/components/responses/Problem"}},
    }


def _responses(e: Endpoint) -> dict[str, Any]:
    good: dict[str, Any] = {"description": HTTPStatus(e.status).phrase}
    if e.answer is not None:
        good["content"] = {JSON: {"schema": _ref(e.answer)}}
    elif e.status != HTTPStatus.NO_CONTENT:
        good["content"] = {e.gives or JSON: {"schema": {"type": "string"} if e.gives else {"type": "object"}}}
    return {str(e.status): good, "default": {"$ref": "#/components/responses/Problem"}}


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query_parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": shape}
        | ({"description": shape["description"]} if "description" in shape else {})
        for name, shape in schema["properties"].items()
    ]


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": bool(schema.get("required")), "content": {JSON: {"schema": schema}}}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REF.format(model=model.__name__)}


ENDPOINTS = (get_openapi,)
