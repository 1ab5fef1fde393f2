"""The spellings of token ids, at every cut; what is refused, and where it was."""

from __future__ import annotations

import json
import os

import pytest

from harmonystream.cli.read import IdReader, InputError, is_ids, pieces

IDS = [200005, 17196, 200008, 0, 4294967295]

SPELLINGS = {
    "one number per line": "200005\n17196\n200008\n0\n4294967295\n",
    "no newline at the end": "200005 17196 200008 0 4294967295",
    "commas": "200005,17196 , 200008,0,\n4294967295,",
    "one list": "[200005, 17196, 200008,\n 0, 4294967295]",
    "a list per line": "[200005, 17196]\n[]\n[200008]\n\n[0,4294967295]\n",
    "objects": '{"ids": [200005, 17196]}\n{"token_ids": 200008}\r\n{"t":"}{\\"","ids": [0]}\n{"n":{},"ids":4294967295}',
    "a list of objects": '[{"ids": [200005, 17196]}, {"ids": []}, 200008, {"ids": [0, 4294967295]}]',
    "everything mixed": '200005 [17196]\t{"ids":200008}0[4294967295]',
    "a byte order mark": "\ufeff200005 17196 200008 0 4294967295",
}


def read(parts: list[bytes]) -> list[int]:
    reader = IdReader()
    return [tid for part in parts for tid in reader.feed(part)] + reader.finish()


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_every_spelling_is_read_at_every_cut(text):
    data = text.encode()
    assert read([data]) == IDS
    assert read([data[i : i + 1] for i in range(len(data))]) == IDS
    for cut in range(len(data) + 1):
        assert read([data[:cut], data[cut:]]) == IDS


def test_an_id_is_handed_on_as_soon_as_it_is_whole():
    reader = IdReader()
    assert [reader.feed(bytes([byte])) for byte in b"[12, 3]"] == [[], [], [], [12], [], [], [3]]
    assert [reader.feed(part) for part in (b'\n{"ids": [4,', b" 5]", b"}")] == [[], [], [4, 5]]
    assert reader.finish() == []


def test_nothing_is_read_from_nothing():
    assert read([]) == []
    assert read([b" \n ", b"\n"]) == []


def test_a_huge_list_is_read_in_pieces():
    ids = list(range(300_000))
    data = json.dumps(ids).encode()
    reader = IdReader()
    counts, got = [], []
    for at in range(0, len(data), 65536):
        got += reader.feed(data[at : at + 65536])
        counts.append(len(got))
    assert got + reader.finish() == ids
    assert counts == sorted(set(counts))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3 x", "line 2: 'x' is not a token id"),
        ("1\n-2\n", "line 2: '-2' is not a token id"),
        ("1.5", "line 1: '1.5' is not a token id"),
        ("[1, null]", "line 1: 'null' is not a token id"),
        ('["1"]', "line 1: '\"1\"' is not a token id"),
        ("4294967296", "line 1: '4294967296' is not a token id"),
        ("1\n\n" + "9" * 100, "line 3: '9999999999999999999999999999999999999999…' is not a token id"),
        ("\n[[1, 2], [3]]", "line 2: a list inside a list: one stream's ids are flat"),
        ("1]", "line 1: a ] without its ["),
        ("[1,\n2", "line 2: the input ends inside a list"),
        ('1\n{"ids": [1]', "line 2: the input ends inside an object"),
        ('{"ids": [1] 2}', "line 1: an object that is not JSON: Expecting ',' delimiter"),
        ('1\n{"id": 1}', 'line 2: an object without "ids" or "token_ids"'),
        ('{"ids": "12"}', "line 1: '\"12\"' is not a token id"),
        ('{"ids": [true]}', "line 1: 'true' is not a token id"),
        ('{"ids": [[1]]}', "line 1: '[1]' is not a token id"),
        ('{"a": 1}' * 2, 'line 1: an object without "ids"'),
        ("1 \x1b[2J", "line 1: '\\x1b' is not a token id"),
    ],
)
def test_what_is_no_id_is_refused_with_its_line(text, message):
    with pytest.raises(InputError) as caught:
        read([text.encode()])
    assert str(caught.value).startswith(message)
    with pytest.raises(InputError) as caught:
        read([bytes([byte]) for byte in text.encode()])
    assert str(caught.value).startswith(message.partition(":")[0])


@pytest.mark.parametrize(
    ("start", "verdict"),
    [
        ("", None),
        (" \n", None),
        ("\ufeff", None),
        ("\ufeff 1", True),
        (" 12", True),
        ("[", True),
        ("\n{", True),
        ("<", False),
        (" to=functions.f", False),
        ("analysis", False),
        ("明", False),
        ("-1", False),
    ],
)
def test_the_first_character_decides_between_ids_and_text(start, verdict):
    assert is_ids(start.encode()) is verdict


def test_pieces_arrive_before_the_end():
    read_end, write_end = os.pipe()
    arriving = pieces(read_end)
    os.write(write_end, b"a")
    assert next(arriving) == b"a"
    os.write(write_end, b"bc")
    assert next(arriving) == b"bc"
    os.close(write_end)
    assert list(arriving) == []
    os.close(read_end)
