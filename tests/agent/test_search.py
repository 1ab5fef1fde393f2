"""Citations in an answer, and several queries in one argument."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import end_of, run
from scripted import Scripted

from harmonystream.agent import Citation, CitationReader, Sources, citations, sub_queries
from harmonystream.tools import Tool, Tools

PIECES = st.sampled_from(
    ["[citation:", "]", "[citation:7]", "1", "23", "[", "citation", "x", "。", "[citation:x]", ":"]
)
ANSWERS = st.lists(PIECES, max_size=12).map("".join)


@settings(max_examples=100)
@given(ANSWERS, st.lists(st.integers(0, 60), max_size=6))
def test_citations_do_not_depend_on_how_the_answer_is_cut(answer, cuts):
    edges = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    reader = CitationReader()
    made = [one for at, end in pairwise(edges) for one in reader.feed(answer[at:end])]
    made += reader.finish()
    found = [one for one in made if isinstance(one, Citation)]
    assert found == citations(answer)
    assert "".join(one if isinstance(one, str) else answer[one.start : one.stop] for one in made) == answer


def test_citations_of_a_whole_answer():
    answer = "始祖鸟推出了联名系列[citation:19][citation:21]。"
    assert [(one.number, answer[one.start : one.stop]) for one in citations(answer)] == [
        (19, "[citation:19]"),
        (21, "[citation:21]"),
    ]


def test_nothing_is_held_back_that_cannot_become_a_citation():
    reader = CitationReader()
    assert reader.feed("a[b") == ["a[b"]
    assert reader.feed("[citation:1") == []
    assert reader.feed("x") == ["[citation:1x"]
    assert reader.feed("[") == []
    assert reader.finish() == ["["]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("a||b", ["a", "b"]),
        (" a || b ||a|| ", ["a", "b"]),
        ("a|b", ["a|b"]),
        ("", []),
        ("||||", []),
        ("始祖鸟联名||松赞酒店", ["始祖鸟联名", "松赞酒店"]),
    ],
)
def test_sub_queries_are_separated_by_two_bars(text, queries):
    assert sub_queries(text) == queries


def test_a_search_agent_cites_pages_by_numbers_that_go_on_over_its_searches():
    sources = Sources()

    def search(questions: str) -> str:
        return sources.add({"title": one, "url": f"https://x/{one}", "content": "…"} for one in sub_queries(questions))

    calls = [
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
        for arguments in ('{"questions": "a||b"}', '{"questions": "c"}')
    ]
    engine = Scripted(["I look. ", calls[0]], [calls[1]], ["<｜search▁end｜>It is c[citation:2], not a[citation:0]."])
    schema = {"type": "object", "properties": {"questions": {"type": "string"}}}
    end = end_of(run(engine, Tools(Tool("search", "", schema, search)), format="deepseek_search"))
    results = [message["content"] for message in end.messages if message["role"] == "tool"]
    assert [text.count("begin]\n[webpage title]") for text in results] == [2, 1]
    assert results[1].startswith("[webpage 2 begin]\n[webpage title]c\n[webpage url]https://x/c\n")
    assert results[1].endswith("[webpage content begin]\n…\n[webpage content end]\n[webpage 2 end]")
    assert [page["title"] for page in sources.cited(end.text)] == ["c", "a"]


def test_a_citation_of_a_page_that_is_not_there_is_left_out():
    sources = Sources()
    sources.add([{"title": "a"}])
    assert sources.cited("x[citation:0][citation:1][citation:0]") == [{"title": "a"}]
