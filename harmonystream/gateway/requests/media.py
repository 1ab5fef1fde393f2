"""What conversations may contain: text, and pictures if the engine writes the prompt itself."""

from __future__ import annotations

import re
from typing import Any

from ..refused import Refused

__all__ = ["picture_of", "refuse_media"]

_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image"), "images"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video_url"), "video"),
    **dict.fromkeys(("file", "input_file", "document"), "files"),
    "container_upload": "files",
}


_PICTURES = ("image", "image_url", "input_image")
_URL = re.compile(r"data:image/[a-z0-9.+-]{1,32};base64,[A-Za-z0-9+/=_-]+|https?://\S{1,8192}")
"""A picture itself, or where it is."""


def refuse_media(messages: Any, param: str, pictures: bool = False) -> None:
    """Raises `Refused` for the first part that is not text, with its place. pictures: are they allowed?

    The renderer reports other mistakes.
    """
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            for name in ("content", "output"):
                _refuse_parts(message.get(name), f"{param}[{at}].{name}", pictures)


def _refuse_parts(parts: Any, where: str, pictures: bool) -> None:
    for at, part in enumerate(parts if isinstance(parts, list) else ()):
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if isinstance(kind, str) and kind in _MEDIA and not (pictures and kind in _PICTURES):
            what = f"{where}[{at}].type is {kind}: this model takes no {_MEDIA[kind]} here."
            raise Refused(400, what, param=f"{where}[{at}]", code="unsupported_content")
        if kind == "tool_result":
            _refuse_parts(part.get("content"), f"{where}[{at}].content", pictures)


def picture_of(part: Any, where: str) -> dict[str, Any] | None:
    """A picture in the form of Chat Completions, from a part of any API. None if it is another part. Raises `Refused`.

    Nothing is fetched here. An engine that takes pictures decides whether it fetches a URL.
    """
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in _PICTURES:
        return None
    given: Any = part.get("source") if kind == "image" else part.get("image_url")
    detail = part.get("detail")
    if isinstance(given, dict):
        detail = given.get("detail", detail)
        if given.get("type") == "base64":
            given = f"data:{given.get('media_type')};base64,{given.get('data')}"
        else:
            given = given.get("url")
    if not isinstance(given, str) or _URL.fullmatch(given) is None:
        what = f"{where} is a picture that is neither base64 nor at an http:// or https:// URL."
        raise Refused(400, what, param=where, code="invalid_value")
    url: dict[str, Any] = {"url": given}
    return {"type": "image_url", "image_url": url | ({"detail": detail} if isinstance(detail, str) else {})}
