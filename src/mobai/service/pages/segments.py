"""The page of an experiment in segments: a table of them by objectives, each cell leading to its intervals."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from mobai import views
from mobai.service.access import needs
from mobai.service.api.common import caller_of, service_of
from mobai.service.api.segments import look_at
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, path_of

router = page_router()


@router.get("/segments/{name}", openapi_extra=needs("read"))
async def show(request: Request, name: str) -> Response:
    """Show who is best in every segment."""
    found = await look_at(service_of(request), caller_of(request), name)
    table = views.segments_table(found)
    links = [path_of(one.name) for one in found.by_segment.values()]
    rows = [(cells, links[n] if n < len(links) else "") for n, cells in enumerate(table.rows)]
    facts: dict[str, Any] = {
        "name": name,
        "headline": views.segments_headline(found),
        "header": table.header,
        "rows": rows,
    }
    return page(request, "segments.html", **facts)
