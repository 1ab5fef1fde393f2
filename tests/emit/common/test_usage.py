"""The usage of a response, whoever has counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from wire_frames import payloads_of

import harmonystream as hs
from harmonystream.emit.common.usage import CHAT, MESSAGES, RESPONSES, counted


def test_a_usage_is_ints_and_says_nothing_as_none() -> None:
    given = {
        "prompt_tokens": np.int64(5),
        "completion_tokens": None,
        "details": {"a_tokens": 1, "b_tokens": None},
        "x": "y",
    }
    assert counted(given) == {"prompt_tokens": 5, "details": {"a_tokens": 1}, "x": "y"}
    assert type((counted(given) or {})["prompt_tokens"]) is int
    assert (counted(None), counted({})) == (None, {})


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (5, "usage is a dict with the API's names, not int"),
        (SimpleNamespace(prompt_tokens=1), "not SimpleNamespace: of a model, model_dump"),
        ({"prompt_tokens": "5"}, r"usage\['prompt_tokens'\] is a number of tokens, not '5'"),
        ({"x": {1}}, "not JSON serializable"),
    ],
)
def test_what_is_no_usage(wrong: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        counted(wrong)


CHATS: dict[str, Any] = {
    **{"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    "prompt_tokens_details": {"cached_tokens": 30},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
RESPONSESS: dict[str, Any] = {
    **{"input_tokens": 100, "output_tokens": 7, "total_tokens": 107},
    "input_tokens_details": {"cached_tokens": 30},
    "output_tokens_details": {"reasoning_tokens": 3},
}
MESSAGESS: dict[str, Any] = {
    **{"input_tokens": 70, "cache_read_input_tokens": 30, "output_tokens": 7},
    "output_tokens_details": {"thinking_tokens": 3},
}


@pytest.mark.parametrize("given_usage", [CHATS, RESPONSESS, MESSAGESS], ids=["chat", "responses", "messages"])
def test_a_usage_in_the_words_of_any_api_becomes_that_of_the_response(given_usage: dict[str, Any]) -> None:
    """Anthropic's input_tokens are those that no cache gave; OpenAI's counts have the cached ones in them."""
    totals = {} if given_usage is MESSAGESS else {"total_tokens": 107}
    assert counted(given_usage, CHAT) == {**{key: CHATS[key] for key in CHATS if key != "total_tokens"}, **totals}
    assert counted(given_usage, RESPONSES) == {
        **{key: RESPONSESS[key] for key in RESPONSESS if key != "total_tokens"},
        **totals,
    }
    assert counted(given_usage, MESSAGES) == MESSAGESS


def test_the_apis_own_words_win_and_others_are_kept() -> None:
    assert counted({"prompt_tokens": 5, "input_tokens": 6, "output_tokens": 7}, CHAT) == {
        "prompt_tokens": 5,
        "completion_tokens": 7,
    }
    assert counted({"input_tokens": 6, "x": 1}, RESPONSES) == {"input_tokens": 6, "x": 1}
    assert counted({"num_tokens": 6}, MESSAGES) == {"num_tokens": 6}
    assert counted({"prompt_tokens": 6, "num_tokens": 5}, MESSAGES) == {"input_tokens": 6, "num_tokens": 5}


# --- what the parser counts ---

IDS = [200005, 35644, 200008, 13225, 200007]
OPTIONS: dict[Any, dict[str, Any]] = {hs.ChatStream: {"created": 7}, hs.ResponsesStream: {"created": 7}}


def usages_of(api: Any, items: list[Any], usage: Any = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The usage of the last frames, None without one, and the response."""
    stream = api(id="1", model="m", **OPTIONS.get(api, {}), **options)
    sent = stream.start()
    for item in items:
        sent += stream.feed_text(item) if isinstance(item, str) else stream.feed(item)
    sent += stream.finish("stop", usage)
    found = None
    for payload in payloads_of(sent):
        if payload != "[DONE]":
            found = payload.get("usage") or payload.get("response", {}).get("usage") or found
    return found, stream.response()


def test_a_usage_is_counted_though_nobody_asks_for_it() -> None:
    chat = {"prompt_tokens": 0, "completion_tokens": 5, "total_tokens": 5}
    chat["completion_tokens_details"] = {"reasoning_tokens": 1}  # type: ignore[assignment]
    assert usages_of(hs.ChatStream, [IDS])[0] is None  # clients of Chat Completions ask for it
    assert usages_of(hs.ChatStream, [IDS])[1]["usage"] == chat
    assert usages_of(hs.ChatStream, [IDS], include_usage=True)[0] == chat
    found, whole = usages_of(hs.ResponsesStream, [IDS])
    assert found == whole["usage"]
    assert (found["output_tokens"], found["output_tokens_details"]) == (5, {"reasoning_tokens": 1})
    found, whole = usages_of(hs.MessagesStream, [IDS])
    assert (found["output_tokens"], whole["usage"]["output_tokens"]) == (5, 5)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 12}])
def test_of_text_without_counts_there_is_no_usage_and_no_error(usage: Any) -> None:
    """A parser counts bytes there. An error would come after the whole answer, and only to clients that ask."""
    text = "<|channel|>final<|message|>Hi<|return|>"
    assert usages_of(hs.ChatStream, [text], usage, include_usage=True)[0] is None
    assert "usage" not in usages_of(hs.ChatStream, [text], usage)[1]
    assert usages_of(hs.ResponsesStream, [text], usage)[1]["usage"] is None
    found, whole = usages_of(hs.MessagesStream, [text], usage)  # the API wants a number
    assert found["output_tokens"] == whole["usage"]["output_tokens"] == 0
    known = {**(usage or {}), "completion_tokens": 3}
    assert usages_of(hs.ChatStream, [text], known, include_usage=True)[0]["completion_tokens"] == 3
    assert usages_of(hs.ResponsesStream, [text], known)[0]["output_tokens"] == 3
    assert usages_of(hs.MessagesStream, [text], known)[0]["output_tokens"] == 3
