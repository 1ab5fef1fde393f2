"""The dialect of chat templates, beside jinja2 set up by hand; its sandbox; its bounds."""

from __future__ import annotations

import datetime
import json
import time
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

import harmonystream as hs
from harmonystream.prompt import bounds, jinja
from harmonystream.prompt.template import Template

TEMPLATES = sorted((Path(__file__).parents[1] / "templates_chat").glob("*.jinja"))
CALLS = [
    {
        "id": "functions.f:0",
        "type": "function",
        "function": {"name": "f", "arguments": {"city": "Zürich & <b>", "n": 1.5}},
    },
    {"id": "functions.g:1", "type": "function", "function": {"name": "g", "arguments": {}}},
]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "On it.", "reasoning_content": "Old.", "thinking": "Old.", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "functions.f:0", "name": "f", "content": '{"t": 12}'},
    {"role": "tool", "tool_call_id": "functions.g:1", "name": "g", "content": "ok"},
    {"role": "assistant", "content": "Cold."},
    {"role": "user", "content": "And now?"},
]
TOOLS = [{"type": "function", "function": {"name": "f", "description": "d é", "parameters": {"type": "object"}}}]


def by_hand(source: str, **variables: Any) -> str:
    """What the field's convention makes of a template, with nothing of ours."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def to_json(
        value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
    ):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    environment.filters["tojson"] = to_json
    return environment.from_string(source).render(bos_token="<bos>", **variables)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["", "tools"])
@pytest.mark.parametrize("size", [2, 3, 5, 6, 7])
def test_a_template_gives_what_jinja_gives(path, tools, size):
    source, chat = path.read_text("utf-8"), json.loads(json.dumps(CHAT[:size]))
    if "arguments +" in source:  # these want text
        for call in [call for message in chat for call in message.get("tool_calls", ())]:
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
    want = by_hand(source, messages=chat, tools=tools, add_generation_prompt=True)
    made = Template(source, tokens={"bos_token": "<bos>"}).render(
        CHAT[:size], tools=tools if "tools" in source else None
    )
    assert made == (
        want if "tools" in source else by_hand(source, messages=chat, tools=None, add_generation_prompt=True)
    )


TOO_LONG = "more than 64000000 characters"
DOUBLED = "{% set a = 'x' * 1000000 %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40


def run(source: str, **variables: Any) -> str:
    return jinja.run(jinja.compiled(source, "t"), "t", variables, today=datetime.date(2026, 11, 22))


def test_what_chat_templates_add_to_jinja():
    assert run("{{ {'é': '<&>'} | tojson }}{{ 'é' | tojson(ensure_ascii=True) }}") == '{"é": "<&>"}"\\u00e9"'
    assert run("{{ strftime_now('%d %B') }}") == "22 November"
    assert run("{% generation %}{{ 'x' }}{% endgeneration %}") == "x"
    assert run("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}") == "1"
    assert run("{{ ('{\"a\": 1}' | from_json).a }}{{ dict(a=1) }}") == "1{'a': 1}"
    assert run("{% set found = [] %}{{ found.append(1) or found }}{{ 'a' ~ 1 ~ none }}") == "[1]a1None"
    assert run("{% set n = namespace(a=1) %}{% set n.a = 2 %}{{ n.a }}") == "2"


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("{{ 'a-b'.replace('-', '+') }}{{ 'aa' | replace('a', 'b', 1) }}{{ 'aa'.replace('a', 'b', 1) }}", "a+bbaba"),
        ("{{ ', '.join(['a', 'b']) }}{{ [1, 'x'] | join('|') }}{{ [{'a': 1}] | join(attribute='a') }}", "a, b1|x1"),
        (
            "{{ 'a b  c'.split() }}{{ 'a,b'.split(',', 1)[1] }}{{ 'a,b,c'.rsplit(',', 1) }}",
            "['a', 'b', 'c']b['a,b', 'c']",
        ),
        ("{{ 'a\\nb\\n'.splitlines(True) | length }}{{ 'a\\tb'.expandtabs(2) }}", "2a b"),
        ("{{ '{} {a:>3} {b[0]!r}'.format(1, a='x', b=[2]) }}{{ '{a}'.format_map({'a': 1}) }}", "1   x 21"),
        ("{{ '%s %03d' % ('a', 7) }}{{ '%s-%s' | format(1, 2) }}{{ '%(a)s' % {'a': 1} }}", "a 0071-21"),
        ("{{ 'a\\nb' | indent(2) }}{{ 'a\\nb' | indent('> ', true) }}", "a\n  b> a\n> b"),
        ("{{ [1, 2] | sum }}{{ [{'n': 1.5}, {'n': 2}] | sum(attribute='n', start=1) }}", "34.5"),
        (
            "{{ {'a': [1, {'b': None}]} | tojson(indent=1, separators=(',', ':')) }}",
            '{\n "a":[\n  1,\n  {\n   "b":null\n  }\n ]\n}',
        ),
        ("{{ 3 * 'ab' }}{{ [1] * 2 + [3] }}{{ 2 ** 10 }}{{ 'ab' * -1 }}{{ 2 ** -1 }}", "ababab[1, 1, 3]10240.5"),
        ("{{ [1, 2, 3] | select('odd') | map('string') | list }}{{ 'é'.encode().decode() }}", "['1', '3']é"),
        (
            "{{ 'a b' | wordwrap(1) }}{{ 'x' | center(3) }}{{ '<b>x</b>' | striptags }}{{ 'a'.translate({97: 'c'}) }}",
            "a\nb x xc",
        ),
    ],
)
def test_bounds_change_nothing_that_is_small(source, want):
    assert run(source) == want == by_hand(source)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("{{ raise_exception('No system!') }}", "fails at line 1: No system!"),
        ("\n{{ undefined.field }}", "fails at line 2: 'undefined' is undefined"),
        ("{% if %}", "is wrong at line 1"),
        ("{{ ''.__class__.__mro__ }}", "fails at line 1: access to attribute '__class__'"),
        ("{{ cycler.__init__.__globals__ }}", "fails at line 1"),
        ("{% set n = namespace() %}{% set n._x = 1 %}", "may not store '_x'"),
        ("{{ dict.__class__.__mro__ }}", "fails at line 1"),
        ("{{ messages.clear() }}", "fails at line 1"),
        ("{{ 'x' * 10**9 }}", "a number above"),
        ("{{ 'x' | center(10**9) }}", "a number above"),
        ("{{ 'x'.ljust(9999999) }}", "a number above"),
        ("{{ '%999999999d' % 1 }}", "a number above"),
        ("{{ '%999999999d' | format(1) }}", "a number above"),
        ("{% set a = 'x' * 1000000 %}" + "{% set a = a ~ a %}" * 40, "more than 64000000 characters"),
        ("{% set a = 'x' * 1000000 %}" + "{% set a = a + a %}" * 40, "more than 64000000 characters"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "fails at line 1"),
        ("{{ range(999999999) | list }}", "a number above"),
        ("{{ messages | tojson(indent=100000000) }}", "indent must be a whole number from 0 to 32"),
        ("{{ messages | tojson(indent='  ') }}", "indent must be a whole number from 0 to 32"),
        ("{{ messages | tojson(separators=(',' * 1000, ':')) }}", "separators must have at most 32 characters"),
        ("{% set a = ['x' * 1000000] * 1000 %}{{ a | tojson }}", TOO_LONG),
        ("{% set a = ['x' * 1000000] * 1000 %}{{ a }}", TOO_LONG),
        ("{% set a = ['x' * 1000000] * 1000 %}{{ a | string | length }}", TOO_LONG),
        ("{% set a = ['x' * 1000000] * 1000 %}{{ 'y' ~ a }}", TOO_LONG),
        ("{% set a = ['x' * 1000000] * 1000 %}{{ a | join }}", TOO_LONG),
        ("{% set a = ['x' * 1000000] * 1000 %}{{ ''.join(a) }}", TOO_LONG),
        ("{{ ('x' * 10000).join('y' * 10000) }}", TOO_LONG),
        ("{{ ('y' * 10000) | join('x' * 10000) }}", TOO_LONG),
        ("{{ ('a' * 300).replace('a', 'b' * 1000000) | length }}", TOO_LONG),
        ("{{ ('a' * 300)['replace']('a', 'b' * 1000000) | length }}", TOO_LONG),
        ("{{ (('a' * 300) | attr('replace'))('a', 'b' * 1000000) | length }}", TOO_LONG),
        ("{{ ('a' * 1000000).replace('', 'b' * 1000000) }}", TOO_LONG),
        ("{{ ('a' * 300) | replace('a', 'b' * 1000000) | length }}", TOO_LONG),
        ("{{ ('a' * 300) | replace(new='b' * 1000000, old='a') | length }}", TOO_LONG),
        ("{{ ('a' * 300).translate({97: 'b' * 1000000}) | length }}", TOO_LONG),
        ("{{ ('\\t' * 300).expandtabs(1000000) | length }}", TOO_LONG),
        ("{{ 'x'.rjust(9999999) ~ 'x'.center(9999999) }}", "a number above"),
        ("{{ '1'.zfill(9999999) }}", "a number above"),
        ("{{ '{:>999999999}'.format(1) }}", "a number above"),
        ("{{ '{:>{w}}'.format(1, w='999999999') }}", "a number above"),
        ("{{ ('{0:999999}' * 300).format(1) | length }}", TOO_LONG),
        ("{{ ('{a}' * 300).format_map({'a': 'x' * 1000000}) | length }}", TOO_LONG),
        ("{{ ('%999999d' * 300) % ((1,) * 300) }}", TOO_LONG),
        ("{{ ('%(a)s' * 300) % {'a': 'x' * 1000000} }}", TOO_LONG),
        ("{{ ('%(a)s' * 300) | format(a='x' * 1000000) }}", TOO_LONG),
        ("{{ ('x\\n' * 100000) | indent(100000) }}", TOO_LONG),
        ("{{ ('x\\n' * 100000) | indent('y' * 100000) }}", TOO_LONG),
        ("{{ ('x ' * 10000) | wordwrap(1, wrapstring='y' * 10000) }}", TOO_LONG),
        ("{{ ('x ' * 100000) | wordwrap(1) }}", "it gives wordwrap more than 100000 characters"),
        ("{{ ('<!--' * 100000) | striptags }}", "it gives striptags more than 100000 characters"),
        ("{{ 1000000 * ('x' * 1000) }}", TOO_LONG),
        ("{{ ([1] * 1000000) * 2 }}", "a list of more than 1000000 items"),
        ("{{ ([1] * 1000000) + [1] }}", "a list of more than 1000000 items"),
        ("{{ ([[1] * 1000000] * 2) | sum(start=[]) }}", "a list of more than 1000000 items"),
        ("{{ ('x ' * 1000000 ~ 'x x').split() | length }}", "a list of more than 1000000 items"),
        ("{{ ('x\\n' * 1000000 ~ '\\n').splitlines() | length }}", "a list of more than 1000000 items"),
        ("{{ ('x' * 1000000 ~ 'x') | list | length }}", "a list of more than 1000000 items"),
        ("{% set a = 99999 %}" + "{% set a = a * a %}" * 40, "a number of more than 4096 bits"),
        ("{{ 999999 ** 999999 }}", "a number of more than 4096 bits"),
        (DOUBLED, TOO_LONG),
        ("{{ strftime_now('%c' * 1000) }}", "format must have at most 1000 characters"),
        ("{{ 'x'.encode().ljust(10) }}", "access to attribute 'ljust' of 'bytes'"),
    ],
)
def test_a_template_cannot_do_what_it_likes(source, error):
    with pytest.raises(hs.errors.PromptError, match=error):
        run(source, messages=[1])


def test_a_template_has_so_long(monkeypatch):
    monkeypatch.setattr(bounds, "MAX_SECONDS", 0.05)
    with pytest.raises(hs.errors.PromptError, match="it takes longer than"):
        run("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}")


def test_asking_a_template_what_it_wants_counts_too(monkeypatch):
    """It is rendered some twenty times then; an endless one would take the limit each time."""
    monkeypatch.setattr(bounds, "MAX_SECONDS", 0.2)
    template = hs.prompts.Template("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}")
    for _ in range(2):  # nothing was found out, and nothing is kept
        begun = time.monotonic()
        with pytest.raises(hs.errors.PromptError, match="it takes longer than"):
            template.render("Hi")
        assert time.monotonic() - begun < 3  # twenty times the limit are 4


def test_jinja_before_its_last_escape_was_closed_is_refused(monkeypatch):
    jinja._environment.cache_clear()
    monkeypatch.setattr(jinja2, "__version__", "3.1.5")
    with pytest.raises(ImportError, match="known ways out of its sandbox"):
        jinja.compiled("x", "t")
    jinja._environment.cache_clear()


def test_a_template_may_take_from_a_list():
    """Kimi-K2's templates take the results from the end of the messages."""
    assert run("{% set l = [1, 2, 3] %}{{ l.pop() }}{{ l.pop(0) }}{{ l }}") == "31[2]"
