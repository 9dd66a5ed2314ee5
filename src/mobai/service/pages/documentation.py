"""The API's own documentation: the OpenAPI document, and a page made of it without any other origin."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from mobai.service.access import OPEN, ScopedRoute, needs
from mobai.service.pages.rendering import page
from mobai.service.renderings import to_json

router = APIRouter(route_class=ScopedRoute, include_in_schema=False)

_METHODS = ("get", "post", "put", "delete")


@router.get("/openapi.json", openapi_extra=needs(OPEN))
async def document(request: Request) -> Response:
    """Return the OpenAPI 3.1 document, which is made once: anybody may ask for it."""
    kept = request.app.state
    if not hasattr(kept, "document"):
        kept.document = to_json(request.app.openapi())
    return Response(kept.document, media_type="application/json")


@router.get("/docs", openapi_extra=needs(OPEN))
async def documentation(request: Request) -> Response:
    """Show the API to people."""
    kept = request.app.state
    if not hasattr(kept, "calls"):
        kept.calls = _calls(request.app.openapi())
    return page(request, "api.html", info=request.app.openapi()["info"], calls=kept.calls)


def _calls(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _call(method, path, parts[method], found)
        for path, parts in found["paths"].items()
        for method in _METHODS
        if method in parts
    ]


def _call(method: str, path: str, call: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says about a call."""
    parameters = [
        {"name": one["name"], "needed": False, "about": one.get("description", ""), "kind": _kind(one["schema"])}
        for one in call.get("parameters", ())
        if one["in"] == "query"
    ]
    body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return {
        "method": method.upper(),
        "path": path,
        "summary": call["summary"],
        "about": call.get("description", ""),
        "scope": call["x-scope"],
        "parameters": parameters,
        "fields": _fields(body, found),
        "answer": _fields(_answer(call), found),
    }


def _answer(call: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of what a call returns if all goes well."""
    good: dict[str, Any] = next((one for code, one in call["responses"].items() if code.startswith("2")), {})
    found: dict[str, Any] | None = good.get("content", {}).get("application/json", {}).get("schema")
    return found


def _fields(schema: dict[str, Any] | None, found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a body, with those of objects in a list."""
    model = _resolve(schema, found)
    rows = []
    for name, one in model.get("properties", {}).items():
        rows.append(
            {
                "name": name,
                "needed": name in model.get("required", ()),
                "kind": _kind(one),
                "about": one.get("description", ""),
            }
        )
        inner = _resolve(one.get("items"), found)
        for row in _fields(inner, found) if inner.get("properties") else ():
            rows.append({**row, "name": f"{name}[].{row['name']}"})
    return rows


def _resolve(schema: dict[str, Any] | None, found: dict[str, Any]) -> dict[str, Any]:
    for one in (schema or {}).get("anyOf", [schema or {}]):
        if "$ref" in one:
            resolved: dict[str, Any] = found["components"]["schemas"][one["$ref"].rsplit("/", 1)[-1]]
            return resolved
    return schema or {}


def _kind(schema: dict[str, Any]) -> str:
    """Say in a word what a value is, and what it is unless given."""
    kinds = [str(one.get("type", "object")) for one in schema.get("anyOf", [schema])]
    words = " or ".join(kind for kind in kinds if kind != "null")
    default = schema.get("default")
    return words if default in (None, [], "") else f"{words}, {default} unless given"
