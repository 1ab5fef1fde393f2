"""The outputs that are compared, the classes of differences, and the page: all without the rivals."""

from __future__ import annotations

import json
from random import Random

import pytest

from bench import publish
from bench.outcomes import page
from bench.outcomes.classes import CLASSES
from bench.outcomes.counts import RENDERED, Counted
from bench.outcomes.families import FAMILIES
from bench.outcomes.outcome import Call, Outcome, difference, expected
from bench.outcomes.outputs import CHANGES, DAMAGES, outputs
from bench.outcomes.with_harmonystream import pieces_of, read

OUTPUTS = 400  # of each family, of which half are as rendered


@pytest.mark.parametrize("name", FAMILIES)
def test_every_rendered_output_is_read_as_its_meaning_however_it_is_cut(name):
    wrong = []
    for at, output in enumerate(outputs(FAMILIES[name], name, OUTPUTS, seed=7)):
        if not output.mutation:
            said = read(name, output, pieces_of(Random(at), output.text))
            if found := difference(expected(output.meaning), said):
                wrong.append((found, output.text, said))
    assert wrong == []


@pytest.mark.parametrize("name", ["hermes", "glm45", "gemma4", "pythonic"])
def test_a_seed_gives_the_same_outputs_and_every_mutation(name):
    made = list(outputs(FAMILIES[name], name, 1000))
    assert made == list(outputs(FAMILIES[name], name, 1000))
    assert made[1::2] != list(outputs(FAMILIES[name], name, 1000, seed=2))[1::2]
    can = {*DAMAGES, *CHANGES, ""} - ({"call in reasoning", "reasoning left open"} if name == "pythonic" else set())
    can -= {"text after the calls", "marker in prose", "closer missing"} if name == "pythonic" else set()
    assert can - {output.mutation for output in made} <= {
        "marker doubled",
        "whitespace at a marker",
        "marker in a string",
    }
    assert {output.mutation for output in made} <= {*DAMAGES, *CHANGES, ""}
    rendered = {output.text for output in made if not output.mutation}
    assert len(rendered) > 400


RIGHT = Outcome("Think.", "Say.", (Call("f", '{"s": "a b", "n": 1}'),))
DIFFERENCES = [
    ("", RIGHT._replace(reasoning="Think.\n", content="\n\nSay.")),
    ("", RIGHT._replace(calls=(Call("f", '{"n": 1.0, "s": "a b"}'),))),
    ("it raises", Outcome(error="ValueError: no")),
    ("a call is lost", RIGHT._replace(calls=())),
    ("a call is added", RIGHT._replace(calls=RIGHT.calls * 2)),
    ("another name", RIGHT._replace(calls=(Call("g", RIGHT.calls[0].arguments),))),
    ("arguments are no JSON", RIGHT._replace(calls=(Call("f", '{"s": "a b"'),))),
    ("arguments are not an object", RIGHT._replace(calls=(Call("f", '"a b"'),))),
    ("an argument is lost", RIGHT._replace(calls=(Call("f", '{"s": "a b"}'),))),
    ("an argument is added", RIGHT._replace(calls=(Call("f", '{"s": "a b", "n": 1, "m": 2}'),))),
    ("another type", RIGHT._replace(calls=(Call("f", '{"s": "a b", "n": "1"}'),))),
    ("another type", RIGHT._replace(calls=(Call("f", '{"s": "a b", "n": true}'),))),
    ("another value", RIGHT._replace(calls=(Call("f", '{"s": "a b", "n": 2}'),))),
    ("another string", RIGHT._replace(calls=(Call("f", '{"s": "a", "n": 1}'),))),
    ("whitespace in a string", RIGHT._replace(calls=(Call("f", '{"s": "a b\\n", "n": 1}'),))),
    ("reasoning and content are confused", RIGHT._replace(reasoning="", content="Think.Say.")),
    ("text is lost", RIGHT._replace(content="")),
    ("markup or other text is shown", RIGHT._replace(content="Say.</x>")),
]


@pytest.mark.parametrize(("named", "theirs"), DIFFERENCES)
def test_a_difference_has_a_class(named, theirs):
    assert difference(RIGHT, theirs) == named
    assert named in CLASSES or named == ""


def test_calls_that_are_cut_or_empty_have_classes_of_their_own():
    cut = Outcome(calls=(Call("f", '{"s": "a', complete=False),))
    assert difference(cut, cut) == ""
    assert difference(cut, Outcome()) == "a cut call is lost"
    assert difference(cut, Outcome(calls=(Call("f", '{"s": "a"}'),))) == "a cut call is closed"
    assert (
        difference(Outcome(calls=(Call("f", "{}"),)), Outcome(calls=(Call("f", ""),)))
        == "no arguments are an empty text"
    )


def test_what_is_counted():
    rendered, damaged = next(outputs(FAMILIES["hermes"], "hermes", 1)), None
    for output in outputs(FAMILIES["hermes"], "hermes", 200):
        if output.mutation and output.meaning is None:
            damaged = output
    right = expected(rendered.meaning)
    counted = Counted()
    counted.add(rendered, right, {"vLLM": [right, Outcome(error="ValueError: no")]})
    counted.add(damaged, right, {"vLLM": [Outcome(error="ValueError: no"), right]})
    data = counted.data()
    assert data["same"][RENDERED] == {"ours": 1, "outputs": 1, "vLLM streamed": 1}
    assert data["same"][damaged.mutation] == {"ours": 1, "outputs": 1, "vLLM whole": 1}
    assert data["rendered"] == {"vLLM whole": {"it raises": 1}}
    assert data["mutated"] == {"vLLM streamed": {"it raises": 1}}
    assert data["ours differs"] == {}


def test_the_page_has_the_tables_of_the_data():
    data = json.loads(page.DATA.read_text(encoding="utf-8"))
    assert set(data["families"]) == set(FAMILIES)
    assert publish.block(page.PAGE.read_text(encoding="utf-8"), publish.PAGE_BLOCK)[1] == page.tables(data)
    found = {name for kind in ("rendered", "mutated") for name in page.summed(data, kind)}
    assert found <= set(CLASSES)
    assert all(
        family["same"][RENDERED]["ours"] == family["same"][RENDERED]["outputs"] for family in data["families"].values()
    )
