"""Settings of the service: who may do what (tokens), and where what happens is sent to (webhooks)."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from fastapi import Request, Response

from mobai import views
from mobai.errors import InputError, NotFoundError
from mobai.service.access import COOKIE, needs
from mobai.service.api.common import caller_of, service_of
from mobai.service.pages.forms import Form, read_form
from mobai.service.pages.login import set_session
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, refuse_if_read_only, see, sentence
from mobai.service.problems import ProblemError, code_of
from mobai.service.tokens import ANYBODY, SCOPES, create_token, list_tokens, revoke_token
from mobai.service.webhooks import FORMATS

router = page_router()

_FIELDS = ("name", "scope", "only", "expires", "url", "events", "format", "private")


def _check(request: Request) -> None:
    """Refuse whoever administers some experiments only: tokens and webhooks are for all of them."""
    if caller_of(request).only != "*":
        raise ProblemError(403, "settings need a token that is not limited to some names")


async def _shown(request: Request, code: int = 200, **more: Any) -> Response:
    service = service_of(request)

    def look() -> dict[str, Any]:
        tokens = [_token(one) for one in list_tokens(service.experiments.journal)]
        return {"tokens": tokens, "webhooks": service.webhooks.list()}

    facts = await to_thread.run_sync(look)
    about = {"token_form": Form(), "webhook_form": Form(), "secret": None, "outcome": None, **more}
    choices = {"scopes": SCOPES, "formats": FORMATS, "kinds": views.NOTIFICATIONS}
    is_open = not service.tokens.any
    private = service.webhooks.allow_private
    return page(request, "settings.html", code, **facts, **choices, **about, is_open=is_open, private=private)


def _token(one: dict[str, Any]) -> dict[str, Any]:
    times = {key: None if one[key] is None else views.moment_text(one[key]) for key in ("created_at", "expires_at")}
    return {**one, **times}


@router.get("/settings", openapi_extra=needs("admin"))
async def settings(request: Request) -> Response:
    """Show tokens and webhooks."""
    refuse_if_read_only(request)
    _check(request)
    return await _shown(request)


@router.post("/settings/tokens", openapi_extra=needs("admin"))
async def add_token(request: Request) -> Response:
    """Make a token, and show it once. Who makes the first one stays logged in."""
    _check(request)
    form, service = await read_form(request), service_of(request)
    name, scope = form.get("name"), form.get("scope", "read")

    def make() -> str:
        only, expires = form.get("only") or "*", form.get("expires") or None
        return create_token(service.experiments.journal, name, scope, only=only, expires=expires)

    try:
        secret = await service.write(make)
    except InputError as error:
        _place(form, error)
        return await _shown(request, code_of(error), token_form=form)
    await to_thread.run_sync(service.tokens.refresh)
    answer = await _shown(request, secret={"what": f"Token {name}", "text": secret})
    if caller_of(request) is ANYBODY and COOKIE not in request.cookies:
        await set_session(request, answer, ANYBODY)
    return answer


@router.post("/settings/tokens/revoke", openapi_extra=needs("admin"))
async def remove_token(request: Request) -> Response:
    """Make a token invalid."""
    _check(request)
    form, service = await read_form(request), service_of(request)
    await _do(lambda: revoke_token(service.experiments.journal, form.get("name")), request)
    await to_thread.run_sync(service.tokens.refresh)
    return see("/settings")


@router.post("/settings/webhooks", openapi_extra=needs("admin"))
async def add_webhook(request: Request) -> Response:
    """Add a webhook, and show the secret that signs its messages once."""
    _check(request)
    form, service = await read_form(request), service_of(request)
    name = form.get("webhook-name")
    events = [kind for kind in views.NOTIFICATIONS if f"event-{kind}" in form]

    def make() -> str:
        return service.webhooks.add(
            name,
            form.get("url"),
            only=form.get("webhook-only") or "*",
            events=events,
            format=form.get("format", "standard"),
            private="private" in form and service.webhooks.allow_private,
        )

    try:
        secret = await service.write(make)
    except InputError as error:
        _place(form, error, "webhook-")
        return await _shown(request, code_of(error), webhook_form=form)
    return await _shown(request, secret={"what": f"The secret of the webhook {name}", "text": secret})


@router.post("/settings/webhooks/remove", openapi_extra=needs("admin"))
async def remove_webhook(request: Request) -> Response:
    """Send nothing more there."""
    _check(request)
    form, service = await read_form(request), service_of(request)
    await _do(lambda: service.webhooks.remove(form.get("name")), request)
    return see("/settings")


@router.post("/settings/webhooks/test", openapi_extra=needs("admin"))
async def try_webhook(request: Request) -> Response:
    """Send a message now, and show how that went."""
    _check(request)
    form, service = await read_form(request), service_of(request)
    try:
        found = await service.send(lambda: service.webhooks.try_out(form.get("name")))
    except NotFoundError:
        return await _shown(request, 404, outcome=f"There is no webhook {form.get('name')}.")
    words = "the message arrived" if found["delivered"] else f"it did not arrive: {found['detail']}"
    return await _shown(request, outcome=f"{form.get('name')}: {words}.")


async def _do(action: Any, request: Request) -> None:
    """Do something to what is named; nothing if somebody else was faster."""
    try:
        await service_of(request).write(action)
    except NotFoundError:
        return


def _place(form: Form, error: InputError, prefix: str = "") -> None:
    """Say at which field a complaint of the library belongs; names and patterns have a prefix in their field's name."""
    field = error.argument if error.argument in _FIELDS else ""
    place = f"{prefix}{field}" if field in ("name", "only") else field
    form.error(place or "", sentence(error.message if field else str(error)))
