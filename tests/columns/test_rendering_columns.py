"""render_many() beside render(): the same ids, whatever holds the conversations, and masks that fit them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import model_dirs
import numpy
import pyarrow
import pytest
from families import FAMILIES
from families import vocab as family_vocab
from family_chats import TOOLS, random_chat

import harmonystream as hs
from harmonystream.columns import render_chunks, render_many

WORDS = (
    "Hello",
    "rain & 'sun'",
    "成都",
    "a\nb",
    " " * 9000,
    "<|end|>",
    "<|im_end|>",
    "<|reserved_200019|>",
    "\ud800",
    "🐼",
)
DAY = "2026-11-22"
ASKED: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Rain?"},
    {
        "role": "assistant",
        "reasoning_content": "I look.",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "now", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "12:00"},
    {"role": "assistant", "content": "No.", "weight": 0},
    {"role": "user", "content": "Thanks!"},
    {"role": "assistant", "content": "Bye."},
]


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Options for each way to write a prompt that has ids."""
    folder = tmp_path_factory.mktemp("models")
    made = {family: Path(model_dirs.write(folder, family)) for family in ("qwen3",)}
    vocab = hs.vocab.from_tokenizers(made["qwen3"])
    return {
        "harmony": {"format": "harmony", "date": DAY},
        "template": {"template": made["qwen3"], "model": "Qwen3-8B"},
        "family": {"model": "Qwen3-8B", "vocab": vocab},
    }


@pytest.mark.parametrize("way", ["harmony", "template", "family"])
@pytest.mark.parametrize("training", [True, False])
def test_ids_and_texts_are_those_of_render(ways, way, training):
    options = {**ways[way], "tools": TOOLS, "training": training}
    chats = [random_chat(seed, WORDS) for seed in range(60)]
    made = pyarrow.array(render_many(chats, fields=("ids", "text", "error"), threads=2, **options)).to_pylist()
    for chat, row in zip(chats, made, strict=True):
        prompt = hs.render(chat, **options)
        assert row["ids"] == prompt.ids, chat
        assert (
            row["text"].encode() == prompt.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        )
        assert row["error"] is None


def as_structs(chats):
    """Those that one column of structs can hold: a field has one type in all rows, such as a text or a list."""
    kept = []
    for chat in chats:
        try:
            pyarrow.array([*kept, chat])
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            continue
        kept.append(chat)
    return kept


@pytest.mark.parametrize("way", ["harmony", "template"])
def test_every_way_to_hold_conversations_gives_the_same_ids(ways, way):
    options = {**ways[way], "tools": TOOLS}
    chats = as_structs(random_chat(seed, ("Hi", "now")) for seed in range(120))
    structs = pyarrow.array(chats)
    assert len(chats) > 20
    expected = [hs.render(chat, training=True, **options).ids for chat in chats]
    with_tools = [{"messages": chat, "tools": TOOLS} for chat in chats]
    texts = [json.dumps(chat) for chat in chats]
    columns = {
        "lists": chats,
        "iterator": iter(chats),
        "JSON": texts,
        "rows": with_tools,
        "JSON rows": [json.dumps(row) for row in with_tools],
        "strings": pyarrow.array(texts),
        "structs": pyarrow.chunked_array([structs[:7], structs[7:]]),
        "table": pyarrow.table({"messages": texts, "tools": [json.dumps(TOOLS)] * len(chats)}),
    }
    for name, column in columns.items():
        made = pyarrow.array(render_many(column, fields=("ids",), **options))
        assert made.field("ids").to_pylist() == expected, name


def test_one_text_after_another_is_encoded_as_by_itself(ways):
    texts = ["", *WORDS, "a " * 5000, "x", " " * 8192, "b" + " " * 8191, "", "<|reserved_200019|>" * 2]
    for vocab in (
        hs.vocab.o200k_harmony(),
        ways["family"]["vocab"],
        hs.vocab.from_bytes([b"a"], {}, encode=lambda text: [0] * len(text)),
    ):
        for control in (False, True):
            alone = [vocab.encode(text, control=control) for text in texts]
            assert [list(ids) for ids in vocab.encode_many(texts, control=control)] == alone
    with pytest.raises(hs.errors.VocabError, match="cannot encode text"):
        hs.vocab.from_bytes([b"a"], {}).encode_many(["a"])


def test_labels_are_those_of_label(ways):
    chats = [random_chat(seed, ("Hi", "now")) for seed in range(60)]
    for way in ("harmony", "template"):
        plan = ways[way]
        made = pyarrow.array(render_many(chats, fields=("ids", "labels"), **plan)).to_pylist()
        prompt = hs.render(chats[0], **plan)
        for row in made:
            assert bytes(row["labels"]) == hs.label(row["ids"], prompt.format, vocab=prompt.vocab, conversation=True)


def text_where(row: dict[str, Any], vocab: hs.Vocab, wanted: Any) -> str:
    return b"".join(vocab.token_bytes(tid) for tid, own in zip(row["ids"], wanted) if own).decode()


def test_masks_by_message_in_harmony(ways):
    vocab = hs.vocab.o200k_harmony()
    fields = ("ids", "mask", "messages")
    (row,) = pyarrow.array(render_many([ASKED], fields=fields, **ways["harmony"])).to_pylist()
    owned = [text_where(row, vocab, (m == i for m in row["messages"])) for i in range(len(ASKED))]
    assert owned[1] == "<|start|>user<|message|>Rain?<|end|>"
    assert owned[2] == "<|start|>assistant<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}<|call|>"
    assert owned[3].endswith("<|message|>12:00<|end|>")
    assert owned[4] == "<|start|>assistant<|channel|>final<|message|>No.<|end|>"
    assert "Be brief." in owned[0]
    assert text_where(row, vocab, row["mask"]) == owned[2] + owned[6]
    (row,) = pyarrow.array(render_many([ASKED], fields=fields, roles={"user"}, **ways["harmony"])).to_pylist()
    assert text_where(row, vocab, row["mask"]) == owned[1] + owned[5]
    (row,) = pyarrow.array(
        render_many([ASKED], fields=fields, regions={hs.Region.CONTENT}, **ways["harmony"])
    ).to_pylist()
    assert text_where(row, vocab, row["mask"]) == "Bye."


@pytest.mark.parametrize("way", ["template", "family"])
def test_masks_by_message_in_formats_with_tags(ways, way):
    options = {**ways[way], "tools": TOOLS}
    (row,) = pyarrow.array(render_many([ASKED], fields=("ids", "mask", "messages", "error"), **options)).to_pylist()
    vocab = hs.render(ASKED, **options).vocab
    owned = [text_where(row, vocab, (m == i for m in row["messages"])) for i in range(len(ASKED))]
    assert '"now"' in owned[2]
    assert "No." in owned[4]
    assert "Bye." in owned[6]
    assert [owned[i] for i in (0, 1, 3, 5)] == [""] * 4
    assert text_where(row, vocab, row["mask"]) == owned[2] + owned[6]
    assert row["error"] is None


def test_two_messages_in_one_turn_are_refused(ways):
    """The template joins what the assistant writes: the row says so, and learns nothing that should not be learned."""
    template = hs.prompts.Template(
        "{% for m in messages %}"
        "{% if loop.first or m.role != loop.previtem.role %}<|im_start|>{{ m.role }}\n{% endif %}"
        "{{ m.content }}{% if loop.last or m.role != loop.nextitem.role %}<|im_end|>\n{% endif %}{% endfor %}"
    )
    options = {
        "template": template,
        "format": "hermes",
        "vocab": ways["family"]["vocab"],
        "fields": ("ids", "mask", "error"),
    }
    talk = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "assistant", "content": "c"},
    ]
    picky = [*talk[:2], {**talk[2], "weight": 0}]
    joined, apart = pyarrow.array(render_many([talk, picky], **options)).to_pylist()
    for row in (joined, apart):
        assert row["error"] == (
            "it is not known which tokens belong to which message: message 2, which follows another message of the "
            "assistant, may have no turn of its own. Leave the row out, or end it before that message"
        )
        assert row["ids"]
        assert row["mask"] is None


def _call(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": '{"a": 1}'}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": name, "type": "function", "function": function}]}


AGENT: list[dict[str, Any]] = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "Weather?"},
    _call("first"),
    {"role": "tool", "tool_call_id": "first", "content": "Sunny"},
    _call("second"),
    {"role": "tool", "tool_call_id": "second", "content": "Rainy"},
    {"role": "assistant", "content": "It rains."},
    {"role": "user", "content": "Ok"},
    {"role": "assistant", "content": "Bye."},
]
BUILT_IN = {
    "deepseek-v3.1": "deepseek_v31",
    "deepseek-v3.2": "deepseek_v32",
    "deepseek-v4": "deepseek_v4",
    "qwen3-8b": "qwen3",
    "kimi-k2": "kimi_k2",
    "kimi-k2-thinking": "kimi_k2",
    "glm-4.5": "glm45",
    "seed-oss-36b": "seed_oss",
}


def check_agent(options: dict[str, Any], vocab: hs.Vocab, talk: list[dict[str, Any]] = AGENT) -> None:
    """Each message of the assistant has the tokens from its turn's beginning to its stop, and the mask has all."""
    fields = ("ids", "mask", "messages", "error")
    (row,) = pyarrow.array(render_many([talk], vocab=vocab, fields=fields, **options)).to_pylist()
    assert row["error"] is None
    owned = [text_where(row, vocab, (m == i for m in row["messages"])) for i in range(len(talk))]
    assert text_where(row, vocab, row["mask"]) == "".join(owned)
    for message, text in zip(talk, owned, strict=True):
        if message["role"] != "assistant":
            assert text == ""
            continue
        mine = message["content"] or message["tool_calls"][0]["function"]["name"]
        assert mine in text
        others = ("S", "Weather?", "Sunny", "Rainy", "Ok", "first", "second", "It rains.", "Bye.")
        assert not [other for other in others[1:] if other in text and other != mine]
        if message["content"]:  # after it nothing but a stop, and before it nothing but what opens and closes thoughts
            before, after = text.split(mine)
            assert len(after) < 24
            assert re.sub(r"</?think>|<｜search▁(begin|end)｜>", "", before).strip() == ""


@pytest.mark.parametrize("model", BUILT_IN)
def test_masks_of_an_agents_conversation_with_each_built_in_prompt(model):
    family = FAMILIES[BUILT_IN[model]]
    check_agent({"model": model}, family_vocab(family.special, family.plain))


def test_masks_of_the_search_agent():
    family = FAMILIES["deepseek_search"]
    check_agent({"format": "deepseek_search", "date": DAY}, family_vocab(family.special, family.plain))


def test_messages_of_the_assistant_one_after_another_have_a_turn_each():
    family = FAMILIES["deepseek_v31"]
    talk = [*AGENT, {"role": "assistant", "content": "Really."}]
    check_agent({"model": "deepseek-v3.1"}, family_vocab(family.special, family.plain), talk)


RESULTS = (
    ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),  # V3.1
    ("<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>", "<｜tool▁output▁end｜><｜tool▁outputs▁end｜>"),  # V3 and R1
)


@pytest.mark.parametrize("around", RESULTS)
def test_an_answer_after_a_result_has_a_turn_in_a_template_that_marks_none(around):
    family = FAMILIES["deepseek_v31"]
    template = hs.prompts.Template(
        "{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
        f"{{% elif m.role == 'tool' %}}{around[0]}{{{{ m.content }}}}{around[1]}"
        "{% elif m.role == 'assistant' %}"
        "{% if loop.previtem.role == 'user' %}<｜Assistant｜>{% endif %}{{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{{ c.function.name }}"
        "<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>{% endfor %}"
        "<｜end▁of▁sentence｜>{% endif %}{% endfor %}"
    )
    options = {"template": template, "format": "deepseek"}
    check_agent(options, family_vocab(family.special, family.plain))


@pytest.mark.parametrize("weight", [0.5, 2, -1, "0", [], False, True, 0, 1, 1.0, None])
def test_a_weight_is_0_or_1(ways, weight):
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "weight": weight}]
    (row,) = pyarrow.array(render_many([talk], fields=("mask", "error"), **ways["harmony"])).to_pylist()
    if weight in (0, 1, None):
        assert (row["error"], any(row["mask"])) == (None, weight != 0)
    else:
        assert row["error"] == f"message 1: weight is 0 or 1, not {weight!r}"


def test_record_batches_are_read_as_their_table_is(ways):
    talks = [[{"role": "user", "content": f"a{number}"}] for number in range(700)]
    table = pyarrow.table({"messages": talks, "other": list(range(700))})
    batches = [*table.to_batches(max_chunksize=300)]
    of_table, of_batches, of_one = (
        pyarrow.array(render_many(given, **ways["harmony"])) for given in (table, iter(batches), batches[:1])
    )
    assert of_table == of_batches
    assert of_table[:300] == of_one


def test_a_row_that_cannot_be_rendered_says_why_and_harms_no_other(ways):
    rows = [
        [{"role": "user", "content": "a"}],
        None,
        "{",
        [{"role": "wizard", "content": "a"}],
        {"tools": []},
        7,
        [{"role": "user", "content": "b"}],
    ]
    made = pyarrow.array(
        render_many(rows, fields=("ids", "labels", "mask", "messages", "text", "error"), **ways["harmony"])
    )
    found = made.to_pylist()
    assert [row["ids"] is None for row in found] == [False, True, True, True, True, True, False]
    assert found[6]["ids"] == hs.render(rows[6], training=True, **ways["harmony"]).ids
    assert [row["error"] and row["error"].split(":")[0] for row in found] == [
        None,
        "the row is null",
        "the row is not JSON",
        "message 0",
        "the row has no messages, but tools",
        "messages are a str or a list of messages, not 7",
        None,
    ]
    assert all(row["mask"] is None and row["text"] is None for row in found[1:6])


def test_a_row_that_is_not_json_says_where_in_the_row(ways):
    """The place is in the row: its lines are not those of the file."""
    made = pyarrow.array(render_many(io.StringIO('{"messages": [\n'), **ways["harmony"]))
    assert made.to_pylist()[0]["error"] == "the row is not JSON: Expecting value at character 15"


def test_mistakes_of_the_caller_are_refused(ways):
    talk = [[{"role": "user", "content": "a"}]]
    for mistake, options, kind in [
        ("fields are some of ids", {"fields": ("id",), "format": "harmony"}, ValueError),
        ("roles are some of", {"roles": ("robot",), "format": "harmony"}, ValueError),
        ("only Harmony labels", {"roles": ("user",), "fields": ("mask",), **ways["template"]}, ValueError),
        ('list "mask" in fields=', {"roles": ("user",), "format": "harmony"}, ValueError),
        ('list "mask" in fields=', {"regions": {hs.Region.CONTENT}, "format": "harmony"}, ValueError),
        ("pass model=, format= or template=", {}, hs.errors.PromptError),
        (
            "no option colour: beside the named options, a Harmony prompt takes",
            {"format": "harmony", "colour": 1},
            hs.errors.PromptError,
        ),
        ("threads is 0 or more", {"format": "harmony", "threads": -1}, ValueError),
        ("pass vocab=, such as the path of its tokenizer.json", {"model": "Qwen3-8B"}, ValueError),
    ]:
        with pytest.raises(kind, match=mistake):
            render_many(talk, **options)
    for one in ("hello", {"messages": talk[0]}, 5):
        with pytest.raises(TypeError, match="conversations are a list"):
            render_many(one, format="harmony")


def test_nothing_gives_an_empty_column(ways):
    made = pyarrow.array(render_many([], fields=("ids", "mask", "text", "error"), **ways["harmony"]))
    assert len(made) == 0
    assert made.type.field("ids").type == pyarrow.large_list(pyarrow.int32())


def test_chunks_are_made_as_they_are_asked_for_and_memory_stays_bounded():
    read = 0

    def rows() -> Any:
        nonlocal read
        for i in range(100_000):
            read += 1
            yield [{"role": "user", "content": f"number {i}"}]

    chunks = iter(render_chunks(rows(), format="harmony", threads=2, date=None))
    first = pyarrow.array(next(chunks))
    assert first.field("ids")[1].as_py() == hs.render("number 1", format="harmony", date=None, training=True).ids
    assert read <= 4 * len(first)


def test_chunks_are_a_stream_for_arrow_and_report_progress():
    talk = [[{"role": "user", "content": f"number {i}"}] for i in range(700)]
    streamed, done, unknown = [], [], []
    chunks = render_chunks(talk, format="harmony", date=None, progress=lambda *at: streamed.append(at))
    stream = pyarrow.RecordBatchReader.from_stream(chunks)
    whole = pyarrow.array(render_many(talk, format="harmony", date=None, progress=lambda *at: done.append(at)))
    render_many(iter(talk), format="harmony", date=None, progress=lambda *at: unknown.append(at))
    assert stream.read_all().column("ids").combine_chunks() == whole.field("ids")
    assert streamed == done == sorted(done)
    assert done[-1] == (700, 700)
    assert unknown == [(rows, None) for rows, _ in done]


def test_an_open_file_of_json_lines_is_conversations(tmp_path):
    talk = [[{"role": "user", "content": f"number {i}"}] for i in range(300)]
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(json.dumps({"messages": each}) + "\n" for each in talk))  # with blank lines
    with path.open() as file, path.open("rb") as binary:
        of_text, of_bytes = (render_many(each, format="harmony", date=None) for each in (file, binary))
    expected = pyarrow.array(render_many(talk, format="harmony", date=None))
    assert pyarrow.array(of_text) == pyarrow.array(of_bytes) == expected


def test_what_is_made_goes_into_label_many(ways):
    made = render_many([ASKED] * 3, fields=("ids", "labels"), **ways["harmony"])
    ids, labels = (pyarrow.array(made).field(name) for name in ("ids", "labels"))
    assert pyarrow.array(hs.columns.label_many(ids, conversation=True)).to_pylist() == labels.to_pylist()
    assert numpy.asarray(ids.values).dtype == numpy.int32
