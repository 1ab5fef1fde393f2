"""Rows made of response templates: those that transformers documents, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.formats.files import LARGEST_CONFIG, format_in, format_of_model, read_format

CALL = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
THINKING = {"open": "<think>", "close_pattern": r"</think>\s*"}
CONTENT = {"close_pattern": r"<\|im_end\|>\s*"}
PARAMETER = r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>"
TOOLS = [{"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}}]
OBJECTS = {
    "open": "<tool_call>",
    "close": "</tool_call>",
    "repeats": True,
    "content": "json",
    "transform": {"type": "function", "function": "{content}"},
}
TAGS = {
    "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
    "close": "</tool_call>",
    "repeats": True,
    "content": "xml-inline",
    "content_args": {"tag_pattern": PARAMETER, "value_parser": {"name": "json", "args": {"allow_non_json": True}}},
    "transform": CALL,
}
KEYS = TAGS | {
    "open_pattern": r"<tool_call>(?P<name>\S+)\n?",
    "content_args": {"tag_pattern": r"<arg_key>(?P<key>[^<]+)</arg_key>\s*\n<arg_value>(?P<value>.*?)</arg_value>"},
}
ARRAY = {
    "open": "<|START_ACTION|>",
    "close": "<|END_ACTION|>",
    "content": "json",
    "transform_each": True,
    "transform": {
        "type": "function",
        "id": "{tool_call_id}",
        "function": {"name": "{tool_name}", "arguments": "{parameters}"},
    },
}
BRACE = {
    "open_pattern": r'\{"name":\s*"(?P<name>[^"]+)",\s*"parameters":\s*',
    "close_pattern": r"\}<\|eot_id\|>\s*",
    "repeats": True,
    "content": "json",
    "transform": CALL,
}
NAMED = {"open_pattern": r"\[TOOL_CALLS\](?P<name>\w+)\[ARGS\]", "content": "json", "repeats": True, "transform": CALL}

GEMMA = {
    "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
    "close": "<tool_call|>",
    "repeats": True,
    "content": "json",
    "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
    "transform": CALL,
}
WITH_ID = NAMED | {
    "open_pattern": r"\[TOOL_CALLS\](?P<name>\w+)\[CALL_ID\](?P<id>\w+)\[ARGS\]",
    "transform": CALL | {"id": "{id}"},
}


def template(calls: Any = None, **more: Any) -> dict[str, Any]:
    fields = {"thinking": THINKING, "content": CONTENT} | ({} if calls is None else {"tool_calls": calls})
    return {"defaults": {"role": "assistant"}, "start_anchor": "<|im_start|>assistant\n", "fields": fields} | more


@pytest.mark.parametrize(
    ("calls", "output"),
    [
        (OBJECTS, '<tool_call>{"name": "f", "arguments": {"s": "x", "n": 3}}</tool_call>'),
        (
            TAGS,
            "<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n<parameter=n>3</parameter></function></tool_call>",
        ),
        (TAGS, "<tool_call><function=f><parameter=s>x</parameter><parameter=n>3</parameter></tool_call>"),
        (
            KEYS,
            "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>x</arg_value>\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n"
            "</tool_call>",
        ),
        (ARRAY, '<|START_ACTION|>[{"tool_name": "f", "parameters": {"s": "x", "n": 3}}]<|END_ACTION|>'),
        (BRACE, '{"name": "f", "parameters": {"s": "x", "n": 3}}<|eot_id|>'),
        (NAMED, '[TOOL_CALLS]f[ARGS]{"s": "x", "n": 3}'),
        (WITH_ID, '[TOOL_CALLS]f[CALL_ID]a1[ARGS]{"s": "x", "n": 3}'),
        (GEMMA, '<|tool_call>call:f{s:<|"|>x<|"|>,n:3}<tool_call|>'),
        (GEMMA | {"content_args": {"unquoted_keys": True}}, '<|tool_call>call:f{s:"x",n:3}<tool_call|>'),
        (
            GEMMA
            | {"open_pattern": r"<f>(?P<name>\w+)", "close": "</f>", "content_args": {"string_delims": [["~", "~"]]}},
            '<f>f{"s": ~x~, ~n~: 3}</f>',
        ),
        (
            OBJECTS | {"transform": {"function": {"name": "{content.tool}", "arguments": "{content.with}"}}},
            '<tool_call>{"tool": "f", "with": {"s": "x", "n": 3}}</tool_call>',
        ),
        (
            TAGS | {"close": "</function>\n</tool_call>"},
            "<tool_call><function=f><parameter=s>x</parameter><parameter=n>3</parameter></function></tool_call>",
        ),
    ],
)
def test_the_row_reads_what_the_template_describes(calls, output):
    row = hs.Format.from_response_template(template(calls))
    done = hs.parse("<think>Hm.</think>\n" + output, row, tools=TOOLS)
    assert (done.reasoning, done.content) == ("Hm.", "")
    assert [(call.name, json.loads(call.arguments)) for call in done.tool_calls] == [("f", {"s": "x", "n": 3})]
    assert done.finish_reason == "tool_calls"
    done = hs.parse("<think>Hm.</think>\n\nHi.<|im_end|>", row)
    assert (done.reasoning, done.content, done.finish_reason) == ("Hm.", "Hi.", "stop")


def test_a_row_that_is_built_in_can_be_written_as_a_template():
    row = hs.Format.from_response_template(template(TAGS | {"content_args": {"tag_pattern": PARAMETER}}), "qwen3_coder")
    assert row == format_of("qwen3_coder")._replace(
        section=("<tool_call>", "</tool_call>"), wrapped=False, stops=("<|im_end|>",)
    )
    row = hs.Format.from_response_template(template(ARRAY), "mine")
    assert row.members == {"tool_call_id": "id", "tool_name": "name", "parameters": "arguments"}
    done = hs.parse('<|START_ACTION|>[{"tool_call_id": "7", "tool_name": "f", "parameters": {}}]<|END_ACTION|>', row)
    assert done.tool_calls[0].id == "7"


def test_what_a_template_says_of_ids_and_quotes():
    row = hs.Format.from_response_template(template(WITH_ID))
    assert (row.call, row.call_id) == (("[TOOL_CALLS]", "[ARGS]", ""), "[CALL_ID]")
    assert hs.parse("[TOOL_CALLS]f[CALL_ID]a1[ARGS]{}", row).tool_calls[0].id == "a1"
    row = hs.Format.from_response_template(template(GEMMA), "gemma4")
    assert (
        row[2:]
        == format_of("gemma4")._replace(
            **{name: getattr(row, name) for name in ("think", "think_label", "control", "stops", "turns", "after_call")}
        )[2:]
    )


def test_a_prompt_that_opens_the_thoughts():
    """The opener is in the anchor, and the pattern matches before anything that ends in the closer."""
    thinking = THINKING | {"open_pattern": r"(?=[\s\S]*?</think>)"}
    del thinking["open"]
    fields = {"reasoning_content": thinking, "content": {"close_pattern": "<｜end｜>|$"}}
    row = hs.Format.from_response_template(template(start_anchor="<｜Assistant｜><think>\n", fields=fields))
    assert (row.think, row.stops, row.turns) == (("<think>", "</think>"), ("<｜end｜>",), ("<｜Assistant｜>",))
    parser = hs.Parser(row, prompt="<｜User｜>Hi<｜Assistant｜><think>\n")
    assert parser.region is hs.Region.REASONING
    with pytest.raises(hs.errors.FormatError, match=r"^thinking has no open, and the start anchor has none either$"):
        hs.Format.from_response_template(template(fields=fields))


def test_markers_around_the_answer_are_dropped():
    fields = {"content": {"open": ["<|START_TEXT|>", "<|START_RESPONSE|>"], "close": "<|END_RESPONSE|>"}}
    row = hs.Format.from_response_template(template(start_anchor="Assistant: ", fields=fields))
    assert (row.drop, row.stops, row.turns) == ((*fields["content"]["open"], "<|END_RESPONSE|>"), (), ("Assistant:",))
    assert hs.parse("<|START_RESPONSE|>Hi.<|END_RESPONSE|>", row).content == "Hi."


def fields(**more: Any) -> dict[str, Any]:
    return template(fields=more)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "a response template is an object, not list"),
        ({"x-regex": "a"}, "that is a response_schema, which transformers has replaced by response_template"),
        (template(more=1), "unknown key 'more' of a response template; known: defaults, fields, start_anchor, "),
        (template(version=2), "version 2 of response templates is not known, only 1"),
        (template(defaults={"role": "assistant", "x": 1}), "defaults other than the role 'assistant' have no place"),
        (template(fields={}), "a response template needs 'fields', an object with at least one field"),
        (
            fields(citations={}),
            "the field 'citations' has no place in a Format, which has thinking, reasoning_content, ",
        ),
        (fields(content=1), "content is an object, not 1"),
        (fields(content={"opens": 1}), "content: unknown key 'opens'"),
        (fields(content={"content_args": 1}), "content: content_args is an object, not 1"),
        (fields(content={"content": "int"}), "content: a Format passes text on as it is, without 'content' of another"),
        (fields(content={"close": ""}), "content: close is a string or a list of at most 32 strings, not ''"),
        (fields(content={"close": ["a"] * 33}), "content: close is a string or a list of at most 32 strings"),
        (fields(content={"close": "a", "close_pattern": "a"}), "content has both close and close_pattern"),
        (fields(content={"close_pattern": 1}), "content: close_pattern is a string, not 1"),
        (fields(content={"close_pattern": "[ab]"}), "content.close_pattern: '[ab]' is not a fixed text, so no Format"),
        (fields(content={"close_pattern": r"<a>\s*<b>"}), "content.close: <a>(SPACE)<b> is not a marker: it has more"),
        (fields(thinking=THINKING, reasoning=THINKING), "a Format has one kind of reasoning, not thinking, reasoning"),
        (fields(thinking={"open": "<a>"}), "thinking has no close, so no answer could follow it"),
        (fields(thinking={"close": "<a>"}), "thinking has no open, and the start anchor has none either"),
        (
            fields(thinking={"open": "<|channel|>x<|message|>", "close": "<|end|>"}),
            "thinking is in a header such as Ha",
        ),
        (template({}), "tool_calls needs a transform into {'type': 'function', 'function': …}"),
        (
            template({"transform": {"function": 1}}),
            "tool_calls: 'function' is '{content}', or name and arguments, not 1",
        ),
        (template({"transform": {"function": "{content}", "x": 1}}), "tool_calls: the transform's 'x' has no place"),
        (
            template({"transform": {"function": {"name": "f", "arguments": 1}}}),
            "tool_calls: 'f' is not a placeholder such",
        ),
        (template({"transform": CALL}), "tool_calls has no open, so no Format can distinguish a call from the answer"),
        (
            template(OBJECTS | {"content": "kv-lines"}),
            "tool_calls: no Format reads the content 'kv-lines' as arguments",
        ),
        (
            template(OBJECTS | {"content_args": {"unquoted_keys": True}}),
            "tool_calls: no Format has unquoted_keys in objects",
        ),
        (
            template(GEMMA | {"content_args": {"string_delims": [["<a>", "<b>"]]}}),
            "tool_calls: string_delims are pairs of two equal texts",
        ),
        (template(GEMMA | {"content_args": {"string_delims": 5}}), "tool_calls: string_delims are pairs of two equal"),
        (
            template(GEMMA | {"open_pattern": r"<a>(?P<name>\w+)<b>"}),
            "tool_calls: '<a>(name)<b>' is not a marker and the name",
        ),
        (
            template(WITH_ID | {"open_pattern": r"<a>(?P<id>\w+)<b>(?P<name>\w+)<c>"}),
            "tool_calls: of an opener, only the groups of name and id can be read, in this order",
        ),
        (
            template(WITH_ID | {"open_pattern": r"<a>(?P<name>\w+)(?P<id>\w+)<c>"}),
            "tool_calls: between name and id is not a marker",
        ),
        (template(OBJECTS | {"transform": CALL}), "tool_calls: name, content are not members of one object"),
        (
            template(NAMED | {"transform": CALL | {"id": "{name}"}}),
            "tool_calls: of an opener, only the groups of name and id",
        ),
        (
            template(NAMED | {"open_pattern": "a b(?P<name>.*)(?P<x>.*)"}),
            "tool_calls: of an opener, only the groups of name",
        ),
        (
            template(BRACE | {"close": "<eot>", "close_pattern": None}),
            "tool_calls: the opener begins an object, so the ",
        ),
        (
            template(TAGS | {"open_pattern": r"<a>\s*<b>\s*<c>(?P<name>.*)"}),
            "tool_calls: before the name come one marker",
        ),
        (
            template(TAGS | {"open_pattern": r"<a>\s*b(?P<name>.*)"}),
            "tool_calls: the template does not say what closes",
        ),
        (
            template({k: v for k, v in TAGS.items() if k != "close"}),
            "tool_calls has two markers before the name and no c",
        ),
        (template(TAGS | {"content_args": {}}), "tool_calls: xml-inline needs a tag_pattern"),
        (
            template(TAGS | {"content_args": {"tag_pattern": "<(?P<key>.*)>"}}),
            "tool_calls: a Format's pair is opener, k",
        ),
        (
            template(TAGS | {"content_args": {"tag_pattern": PARAMETER, "merge_duplicates": True}}),
            "tool_calls: merge_duplicates has no place in a Format, which passes each key on",
        ),
        (
            template(TAGS | {"content_args": {"tag_pattern": PARAMETER, "value_parser": {"name": "int"}}}),
            "tool_calls: a Format reads values as text or JSON, not by {'name': 'int'}",
        ),
    ],
)
def test_what_no_row_can_express_is_refused_and_named(given, message):
    with pytest.raises(hs.errors.FormatError) as raised:
        hs.Format.from_response_template(given)
    assert str(raised.value).startswith(message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text(alphabet=r"<a>\s*(?P<name>.)}{", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([OBJECTS, TAGS, KEYS, ARRAY, BRACE, NAMED]), st.data())
def test_a_template_of_any_shape_is_taken_or_refused(calls, data):
    """One part of a good template is replaced by anything; nothing but FormatError is raised."""
    whole = json.loads(json.dumps(template(calls)))
    part: Any = whole
    while True:
        key = data.draw(st.sampled_from(sorted(part)))
        if not isinstance(part[key], dict) or data.draw(st.booleans()):
            break
        part = part[key]
    part[key] = data.draw(JSON)
    try:
        row = hs.Format.from_response_template(whole)
        hs.Parser(row)
    except hs.errors.FormatError:
        return
    assert hs.Format.from_dict(row.to_dict()) == row


def folder(path: Path, config: Any) -> Path:
    path.mkdir()
    (path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return path


def test_a_model_s_folder(tmp_path: Path):
    mine = folder(tmp_path / "mine", {"added_tokens_decoder": {"0": "x" * 100_000}, "response_template": template()})
    row = hs.Format.from_response_template(template())
    assert format_in(mine) == format_of_model(str(mine), mine) == read_format(mine / "tokenizer_config.json") == row
    # The name says more than the template.
    named = folder(tmp_path / "Qwen3-8B", {"response_template": template()})
    assert format_of_model(str(named), named) == "hermes"


def test_a_folder_that_does_not_help(tmp_path: Path):
    silent = folder(tmp_path / "silent", {})
    assert format_in(silent) is format_in(tmp_path) is None
    with pytest.raises(hs.errors.FormatError, match=r"tokenizer_config\.json has no response_template$"):
        read_format(silent / "tokenizer_config.json")
    for none in (silent, None, tmp_path / "missing"):
        with pytest.raises(hs.errors.FormatError, match=r"^no format is known for the model 'mine'"):
            format_of_model("mine", none)
    wrong = folder(tmp_path / "wrong", {"response_template": {"fields": {"citations": {}}}})
    with pytest.raises(
        hs.errors.FormatError, match=r"model 'mine'.*Its response_template is of no help: .*'citations'"
    ):
        format_of_model("mine", wrong)
    with (wrong / "tokenizer_config.json").open("w") as file:
        file.truncate(LARGEST_CONFIG + 1)
    with pytest.raises(hs.errors.FormatError, match="larger than a format can be"):
        format_in(wrong)
