"""Tokens that clients of a server show: the user's own, or a new one; and how they are compared."""

from __future__ import annotations

import hmac
import os
import secrets

from p4mesh.errors import UsageError

_SHORTEST = 16
_NEW_BYTES = 24


def own_token(variable: str) -> str | None:
    """Token that an environment variable gives, None without it; raises UsageError for one that can be guessed."""
    given = os.environ.get(variable)
    if given is None:
        return None
    if len(given) < _SHORTEST or not given.isascii() or not given.isprintable() or " " in given:
        raise UsageError(
            f"{variable}: not a token",
            hint=f"{_SHORTEST} letters, digits or signs at least; without the variable a new one is made",
        )
    return given


def new_token() -> str:
    """Make a token that nobody can guess."""
    return secrets.token_urlsafe(_NEW_BYTES)


def is_token(given: str, token: str) -> bool:
    """Compare what a client shows; it takes the same time for any wrong one."""
    return hmac.compare_digest(given.encode(), token.encode())
