"""The number of files that this process may have open."""

from __future__ import annotations

import resource


def allow_open_files(wanted: int) -> None:
    """Raise the soft limit to what is wanted, as far as the hard limit goes; a higher one stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    possible = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < possible:
        resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))
