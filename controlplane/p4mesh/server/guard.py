"""Restricts the live page to browsers of this machine and to requests of its own pages.

* A name that another site lets point to this machine (DNS rebinding) is not in the list of hosts.
* A request of another site (cross-site request forgery) has a foreign ``Origin`` or ``Sec-Fetch-Site``; what changes
  something needs the token as well, in a header that other sites cannot send.
* The page loads nothing from elsewhere, runs no script but its own files, and is in no frame.
* A report has scripts of its own: it is sandboxed, in an origin without anything of the live page.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from p4mesh.access_token import is_token

HOSTS = frozenset({"127.0.0.1", "localhost"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
# Vega makes functions of the expressions in a specification; all of those are written here, none is read.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts allow-top-navigation-by-user-activation; default-src 'none'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)
POLICY = "content-security-policy"
_HEADERS = {
    POLICY: _PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Refuses what does not come from a page of this server, and adds the headers that protect the page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = _refusal(scope["method"], headers)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    own.setdefault(name, value)
            await send(message)

        app: ASGIApp = PlainTextResponse(f"{refusal}\n", status_code=403) if refusal else self._app
        await app(scope, receive, sent)


def _refusal(method: str, headers: Headers) -> str:
    """Why a request is refused; empty where it is not."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or _name(f"//{hosts[0]}") not in HOSTS:
        return "the live page is at 127.0.0.1 and at localhost only"
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{hosts[0]}":
        return "requests of other sites are refused"
    if method not in _SAFE_METHODS and origin is None and headers.get("sec-fetch-site", "none") != "none":
        return "requests of other sites are refused"
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
        return "requests of other sites are refused"
    return ""


def _name(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


def has_token(headers: Headers, token: str) -> bool:
    """Whether a request has the token of the server."""
    return is_token(headers.get("authorization", ""), f"Bearer {token}")
