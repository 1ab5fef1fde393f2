"""The keys of clients. The file has only hashes, so that its readers cannot use the keys."""

from __future__ import annotations

import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...errors import suggestion
from ..limits import Quota
from ..refused import Refused
from ..requests.unsupported import Rule, rule_of

__all__ = ["KeyOptions", "Keys", "add_line", "line_of", "new_key"]

_LINE = re.compile(r"([A-Za-z0-9._-]{1,64})\s+([0-9a-f]{64})((?:\s+\w+=\S+)*)")
_COUNT = re.compile(r"[0-9]{1,12}")
MOST = 10_000
LOOKS = 1.0
"""The seconds between checks of the file."""
log = logging.getLogger("harmonystream.gateway")
LONGEST = 512
"""The most characters of a key in a request."""
_WHERE = "Send it as Authorization: Bearer, or as x-api-key."


def new_key() -> str:
    """A new key that cannot be guessed."""
    return "hs-" + secrets.token_urlsafe(32)


def line_of(name: str, key: str) -> str:
    """The line for a key in a file of keys. Raises ValueError if the name is not possible in such a line."""
    line = f"{name} {sha256(key.encode()).hexdigest()}"
    if _LINE.fullmatch(line) is None:
        raise ValueError(f"a key's name has 1 to 64 letters, digits and ._-, unlike {name!r}")
    return line


def add_line(path: str | os.PathLike[str], line: str) -> None:
    """Add a line to a file of keys. Raises OSError, and ValueError if the file is another one."""
    before = ""
    if (file := Path(path)).exists():
        _read(file)
        before = file.read_text("utf-8")
    with file.open("a", encoding="utf-8") as keys:
        keys.write(("\n" if before and not before.endswith("\n") else "") + line + "\n")


class KeyOptions(NamedTuple):
    """An owner's options, where they differ from the gateway's. models: the models that the owner may use."""

    rule: Rule | None = None
    models: frozenset[str] | None = None
    concurrent: int | None = None
    tokens_per_minute: int | None = None


class Keys:
    """Who may use the gateway. hashes: maps the SHA-256 of each key, in hexadecimal, to its owner's name. options: by
    owner.
    """

    def __init__(self, hashes: Mapping[str, str], options: Mapping[str, KeyOptions] | None = None) -> None:
        self._take(hashes, options or {})
        self._path: Path | None = None
        self._state: tuple[int, ...] = ()
        self._looked = 0.0
        self._served: Collection[str] | None = None

    def _take(self, hashes: Mapping[str, str], options: Mapping[str, KeyOptions]) -> None:
        self._hashes = [(digest.encode(), owner) for digest, owner in hashes.items()]
        self._options = dict(options)

    def __len__(self) -> int:
        return len(self._hashes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Keys:
        """Read a file. Each key has a line with its owner's name and its hash. Empty lines and lines with # are
        skipped.

        An owner may have several keys. Options may follow the hash, and hold for all keys of the owner:
        `unsupported=ignore`, `refuse` or `auto`; `models=NAME,NAME`; `concurrent=N` and `tokens_per_minute=N`, where 0
        means no limit. When the file changes, its keys are read again within a second. Raises OSError, and ValueError
        that names the line.
        """
        made = cls({})
        made._path = Path(path)
        made._state = _state_of(made._path)
        made._take(*_read(made._path))
        if not made._hashes:
            raise ValueError(f"{path} has no keys, so every request would be refused")
        return made

    def reload(self) -> None:
        """Read the file again, if there is one. If it cannot be read, or has a mistake, nothing changes."""
        if self._path is None:
            return
        try:
            self._state = _state_of(self._path)
            self._take(*_read(self._path))
        except (OSError, ValueError) as error:
            log.error("the keys stay as they were: %s", error)
        else:
            log.info("the keys of %s were read again: %d", self._path, len(self))
            self._warn()

    def check_models(self, served: Collection[str]) -> None:
        """Warn in the log of models in `models=` that are not served, now and each time the file is read again.

        It is no error, because a model may be served only later. served: names and aliases.
        """
        self._served = served
        self._warn()

    def _warn(self) -> None:
        served = self._served
        if served is None:
            return
        for owner, own in self._options.items():
            for name in sorted((own.models or frozenset()) - set(served)):
                known = suggestion(name, sorted(served))
                log.warning("models= of the key of %s names %s, which is not served; %s", owner, name, known)

    def _look(self) -> None:
        """Reload the file if it has changed. This is checked at most once a second."""
        now = time.monotonic()
        if self._path is None or now - self._looked < LOOKS:
            return
        self._looked = now
        try:
            changed = _state_of(self._path) != self._state
        except OSError:  # it is being replaced, or it is gone
            return
        if changed:
            self.reload()

    def rule(self, owner: str) -> Rule | None:
        """What happens to this owner's unsupported options. None leaves it to the gateway."""
        return self._options.get(owner, _NONE).rule

    def may_ask(self, owner: str, model: str) -> bool:
        """May this owner use the model of this name?"""
        models = self._options.get(owner, _NONE).models
        return models is None or model in models

    def quota(self, owner: str, usual: Quota) -> Quota:
        """What this owner may use. usual: the quota of owners that the file gives none."""
        own = self._options.get(owner, _NONE)
        concurrent, tokens = own.concurrent, own.tokens_per_minute
        return Quota(usual[0] if concurrent is None else concurrent, usual[1] if tokens is None else tokens)

    def owner(self, headers: Mapping[str, str]) -> str:
        """The owner of the key in a request's headers, `Authorization: Bearer` or `x-api-key`. Raises `Refused`.

        A right key in one header is enough, because clients send a placeholder in the other. The time that this takes
        does not depend on which key is right, or on whether any is.
        """
        self._look()
        scheme, _, given = headers.get("authorization", "").partition(" ")
        sent = [given.strip() if scheme.lower() == "bearer" else "", headers.get("x-api-key", "")]
        if not any(sent):
            raise Refused(401, f"There is no key. {_WHERE}", code="invalid_api_key")
        found = [self._owner_of(key) for key in sent if key]
        owner = next((one for one in found if one is not None), None)
        if owner is None:
            what = "The key is not valid: ask who runs this gateway for one. " + _WHERE
            raise Refused(401, what, code="invalid_api_key")
        return owner

    def _owner_of(self, key: str) -> str | None:
        digest = sha256(key[:LONGEST].encode("utf-8", "replace")).hexdigest().encode()
        found = None
        for known, owner in self._hashes:
            if hmac.compare_digest(known, digest):
                found = owner
        return None if len(key) > LONGEST else found


def _state_of(path: Path) -> tuple[int, ...]:
    """A value that changes when the file is written."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


_NONE = KeyOptions()


def _read(path: Path) -> tuple[dict[str, str], dict[str, KeyOptions]]:
    """The hashes and the options in a file."""
    hashes: dict[str, str] = {}
    options: dict[str, KeyOptions] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"{path}, line {number}: expected a name and the SHA-256 of a key")
        if found[2] in hashes:
            raise ValueError(f"{path}, line {number}: this key is there already")
        if len(hashes) == MOST:
            raise ValueError(f"{path} has more than {MOST} keys")
        hashes[found[2]] = found[1]
        try:
            own = _options(found[3].split())
            before = options.get(found[1], _NONE)
            for name, value, other in zip(KeyOptions._fields, own, before):
                if None not in (value, other) and value != other:
                    raise ValueError(f"another line says another {name.replace('rule', 'unsupported')} of {found[1]}")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        options[found[1]] = KeyOptions._make(other if value is None else value for value, other in zip(own, before))
    return hashes, options


def _options(words: list[str]) -> KeyOptions:
    """The options at the end of a line. Raises ValueError."""
    made = _NONE
    for word in words:
        name, _, value = word.partition("=")
        if name == "unsupported":
            try:
                made = made._replace(rule=rule_of(value))
            except ValueError as error:
                raise ValueError(f"unsupported {error}") from None
        elif name == "models":
            made = made._replace(models=frozenset(filter(None, value.split(","))))
        elif name in ("concurrent", "tokens_per_minute"):
            if _COUNT.fullmatch(value) is None:
                raise ValueError(f"{name} must be a whole number, not {value!r}")
            count = int(value)
            made = made._replace(concurrent=count) if name == "concurrent" else made._replace(tokens_per_minute=count)
        else:
            known = ("unsupported", "models", "concurrent", "tokens_per_minute")
            raise ValueError(f"{name} is unknown; {suggestion(name, known)}")
    return made
