"""What conversations may have in them: text. Pictures, sound and files are refused, because raw engines take ids."""

from __future__ import annotations

from typing import Any

from ..refused import Refused

__all__ = ["refuse_media"]

_MEDIA = {
    **dict.fromkeys(("image", "image_url", "input_image"), "images"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video_url"), "video"),
    **dict.fromkeys(("file", "input_file", "document"), "files"),
    "container_upload": "files",
}


def refuse_media(messages: Any, param: str) -> None:
    """Raises `Refused` for the first part that is not text, with its place. What else is wrong, the renderer says."""
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            for name in ("content", "output"):
                _refuse_parts(message.get(name), f"{param}[{at}].{name}")


def _refuse_parts(parts: Any, where: str) -> None:
    for at, part in enumerate(parts if isinstance(parts, list) else ()):
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if isinstance(kind, str) and kind in _MEDIA:
            what = f"{where}[{at}].type is {kind}: this gateway takes no {_MEDIA[kind]}, only text."
            raise Refused(400, what, param=f"{where}[{at}]", code="unsupported_content")
        if kind == "tool_result":
            _refuse_parts(part.get("content"), f"{where}[{at}].content")
