"""Numbers that a model writes and no client can hold: what is streamed, told and answered is JSON that can be sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_frames import as_bytes, as_dicts, payloads_of
from wire_server import APIS, clients_of, of, routed, stream_over

import harmonystream as hs

LARGEST = 1.7976931348623157e308
NUMBERS: dict[str, Any] = {
    "1e999": LARGEST,
    "-1E+999": -LARGEST,
    f"{'9' * 400}.5": LARGEST,
    "1e-400": 0.0,
    "9" * 400: int("9" * 400),
    f"-{'9' * 400}": -int("9" * 400),
}
FORMS = {
    "harmony": "<|channel|>commentary to=functions.f<|message|>%s<|call|>",
    "hermes": '<tool_call>\n{"name": "f", "arguments": %s}\n</tool_call>',
    "glm": "<tool_call>f<arg_key>a</arg_key><arg_value>%s</arg_value></tool_call>",
}


def text_of(format: str, number: str) -> str:
    return FORMS[format] % (number if format == "glm" else f'{{"a": {number}, "b": [-1, {number}]}}')


def arguments_of(found: Any) -> Any:
    """Those of the one call in a client's or a server's answer: text, or an object in Messages."""
    if "choices" in found:
        return found["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    return found["output"][0]["arguments"] if "output" in found else found["content"][0]["input"]


def strict(text: str) -> Any:
    """As a reader of JSON that knows no other numbers."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


@pytest.mark.parametrize("number", NUMBERS, ids=[number[:9] for number in NUMBERS])
@pytest.mark.parametrize("format", FORMS)
@pytest.mark.parametrize("api", APIS)
def test_numbers_can_be_read_and_sent_again(api: str, format: str, number: str) -> None:
    text = text_of(format, number)
    value = {"a": NUMBERS[number]} | ({} if format == "glm" else {"b": [-1, NUMBERS[number]]})
    for pieces in ([text], list(text)):
        emitter, twin = (stream_over(hs.Parser(format, tools=["f"]), api) for _ in range(2))
        data = b"".join(as_bytes(emitter, pieces, "stop", APIS[api].USAGE))
        dicts = as_dicts(twin, pieces, "stop", APIS[api].USAGE)
        payloads = [one for one in payloads_of(data) if one != "[DONE]"]
        assert payloads == json.loads(json.dumps(dicts, allow_nan=False)) == dicts
        assert emitter.response() == twin.response()
        answered = arguments_of(strict(json.dumps(emitter.response(), allow_nan=False)))
        if api == "messages":
            said = "".join(one["delta"].get("partial_json", "") for one in payloads if "delta" in one)
            assert strict(said) == answered == value
            json.dumps(strict(said), allow_nan=False)
        else:  # text, which clients pass on as it is
            strict(answered)
            assert answered == (f'{{"a": {number}}}' if format == "glm" else f'{{"a": {number}, "b": [-1, {number}]}}')


@pytest.mark.parametrize("api", APIS)
def test_the_official_clients_can_send_what_they_read(api: str) -> None:
    def answer(api: str, body: Any) -> Any:
        text = text_of("hermes", list(NUMBERS)[int(body["model"])])
        return of(*text)(), stream_over(hs.Parser("hermes", tools=["f"]), api)

    with clients_of(routed(answer)) as clients:
        for index, (number, value) in enumerate(NUMBERS.items()):
            read = arguments_of(clients.assembled(api, str(index)))
            assert arguments_of(clients.at_once(api, str(index))) == read
            assert read == (
                {"a": value, "b": [-1, value]} if api == "messages" else f'{{"a": {number}, "b": [-1, {number}]}}'
            )
            strict(json.dumps(read, allow_nan=False))
