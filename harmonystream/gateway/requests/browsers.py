"""What pages in a browser may not do: use a gateway without keys, or read what only this machine may see.

A browser sends a page's requests from the user's own machine. It reports the page (`Origin`), and the name under which
the page called the gateway (`Host`). A page can make its own name point to this machine, so the gateway must know its
names.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from ..refused import Refused

__all__ = ["check_page", "is_from_here"]

_PROXIES = ("forwarded", "x-forwarded-for", "x-real-ip")
"""Headers that proxies add. With one of them, the address of the connection is not that of the client."""


def check_page(headers: Headers, hosts: Collection[str], origins: Collection[str]) -> None:
    """Raises `Refused` for a request that may come from a page of another site.

    hosts: names of this gateway, beside addresses and names without a dot; "*" allows any. origins: pages with these
    origins may call the gateway from scripts.
    """
    host, origin = headers.get("host"), headers.get("origin")
    name = None if host is None else _name_of(host)
    if name is not None and "*" not in hosts and name not in hosts and not _is_own(name):
        what = f"This gateway has no keys, and is not known as {name[:64]!r}: name it in the setting `hosts`."
        raise Refused(403, what, code="host_not_allowed")
    if origin is not None and "*" not in origins and origin not in origins and not _is_same(origin, host):
        what = (
            f"This gateway has no keys, and takes no requests of pages from {origin[:64]!r}: see the setting `origins`."
        )
        raise Refused(403, what, code="origin_not_allowed")


def is_from_here(client: str | None, headers: Headers) -> bool:
    """Is the client on this machine, does the request name this machine, and does it not come from another
    site's page?
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if client is None or not _is_loopback(client) or any(name in headers for name in _PROXIES):
        return False
    name = _name_of(host)
    return (name == "localhost" or _is_loopback(name)) and (origin is None or _is_same(origin, host))


def _name_of(host: str) -> str:
    """The name in a `Host` header, without the port."""
    host = host.strip().lower()
    return host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0].rstrip(".")


def _is_own(name: str) -> bool:
    """Is it an address, or a name that cannot be registered: one without a dot, or below localhost?"""
    return "." not in name or name.endswith(".localhost") or _address(name) is not None


def _is_same(origin: str, host: str | None) -> bool:
    return host is not None and urlsplit(origin).netloc.lower() == host.strip().lower()


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _is_loopback(name: str) -> bool:
    found = _address(name)
    return found is not None and found.is_loopback
