"""The worst cases of each tag format: what could take quadratic time, or hold input."""

from __future__ import annotations

from collections.abc import Iterator

from bench.cases.blocks import Repeated, Writer

SPACES = " " * 1000
SHORT = '{"content": "a"}'
MANY = 10_000


def cases(format: str) -> Iterator[Repeated]:
    writer = Writer(format)
    yield from in_text("content", "", writer)
    yield from in_text("reasoning", writer.think, writer)
    if writer.row.call:
        yield from before_a_call(writer)
        yield from many_calls(writer)
        yield from raw(writer)
    if writer.row.pair:
        yield from values(writer)
        yield from pairs(writer)
    if writer.row.wrapped:
        yield from wrapped(writer)


def plain(where: str, before: str, after: str, noise: bool = False) -> Iterator[Repeated]:
    """What may stand anywhere. `noise`: a `<` does not belong here, and after 1,024 bytes of it text begins."""
    yield Repeated(f"{where}: all `<`", before, "<", after, capped=noise)
    yield Repeated(f"{where}: spaces", before, " ", after, capped=True)
    yield Repeated(f"{where}: newlines", before, "\n", after, capped=True)


def in_text(where: str, before: str, writer: Writer) -> Iterator[Repeated]:
    yield from plain(where, before, "")
    yield Repeated(f"{where}: the beginning of reasoning's closer", before, writer.think_end[:-1])
    yield Repeated(f"{where}: reasoning's opener", before, writer.think)
    yield Repeated(f"{where}: reasoning's opener and closer", before, f"{writer.think}a{writer.think_end}\n")
    yield Repeated(
        f"{where}: a stop that does not count", before, f"{(*writer.row.stops, '<|x|>')[0]} a", only_text=True
    )
    if writer.row.call:
        yield Repeated(f"{where}: the beginning of an opener", before, writer.outer[:-1])
        yield Repeated(f"{where}: openers", before, writer.outer, capped=True)
        yield Repeated(f"{where}: openers and a word", before, f"{writer.outer}a b", capped=True)
        yield Repeated(f"{where}: openers and 1,000 spaces", before, writer.outer + SPACES, capped=True)
        yield Repeated(f"{where}: openers and closers", before, writer.outer + writer.outer_end, capped=True)
        yield Repeated(f"{where}: closers", before, writer.outer_end)


def before_a_call(writer: Writer) -> Iterator[Repeated]:
    opener = writer.outer if writer.row.section else ""
    yield Repeated("header: a call's opener, no name", opener, writer.opener, capped=True)
    yield Repeated("header: a name that is too long", "", f"{opener}{writer.opener}{'a' * 300} ", capped=True)
    yield Repeated("header: half, then text", "", f"{opener}{writer.head} {writer.opener}b c", capped=True)


def many_calls(writer: Writer) -> Iterator[Repeated]:
    body = f"{writer.pair('content')}a{writer.value_end}" if writer.row.pair else SHORT
    one = f"{writer.head}{body}{writer.closer}"
    yield Repeated("10,000 calls, in one section", writer.section, one, writer.section_end, units=MANY)
    yield Repeated("10,000 calls, in a section each", "", f"{writer.section}{one}{writer.section_end}\n", units=MANY)
    yield Repeated("10,000 calls without arguments", writer.section, writer.head + writer.closer, units=MANY)
    yield Repeated("10,000 calls that do not close", writer.section, writer.head + body, units=MANY)
    if writer.row.section:
        yield Repeated("section: spaces", writer.section + one, " ", writer.section_end, capped=True)
        yield Repeated("section: newlines", writer.section + one, "\n", writer.section_end, capped=True)
        yield Repeated("section: closers of a call", writer.section + one, writer.closer, writer.section_end)


def in_json(where: str, before: str, after: str, writer: Writer) -> Iterator[Repeated]:
    """Arguments that are JSON: `before` ends where their object begins."""
    string = before + '{"content": "'
    yield from plain(f"{where}, string", string, f'"}}{after}')
    yield Repeated(f"{where}, string: the beginning of a closer", string, writer.closer[:-1], f'"}}{after}')
    yield Repeated(f"{where}, string: closers", string, f"{writer.closer}a", f'"}}{after}', only_text=True)
    yield Repeated(
        f"{where}, string: closers and 1,000 spaces", string, writer.closer + SPACES, f'"}}{after}', None, True, True
    )
    yield Repeated(f"{where}, string: openers", string, writer.outer, f'"}}{after}', only_text=True)
    yield Repeated(f"{where}, string: quotes and escapes", string, '\\"\\\\\\n', f'"}}{after}')
    yield Repeated(f"{where}, string: characters as escapes", string, "\\ud83d\\ude00", f'"}}{after}')
    yield from plain(where, before + "{", f"}}{after}", noise=True)
    nested = before + '{"a":'
    yield Repeated(f"{where}: arrays, nested", nested, "[", f"}}{after}", mirror="]")
    yield Repeated(f"{where}: arrays that do not close", nested, "[", after)
    yield Repeated(f"{where}: objects, nested", nested, '{"a":[', f"}}{after}", mirror="]}    ")
    yield Repeated(f"{where}: 10,000 keys", before + "{", '"key_{}": 1, ', f'"k": 1}}{after}', units=MANY)


def raw(writer: Writer) -> Iterator[Repeated]:
    before, after = writer.section + writer.head, writer.closer + writer.section_end
    yield from in_json("raw", before, after, writer)
    yield from plain("raw, before the JSON", before, SHORT + after, noise=True)
    yield from plain("raw, after the JSON", before + SHORT, after, noise=True)
    yield Repeated("raw: not JSON", before + "{", "a b ", after)
    if not writer.row.pair:
        yield Repeated("raw: fences", before, "```json\n", after, capped=True)
        yield Repeated("raw: backquotes after the JSON", before + f"```json\n{SHORT}", "``` ", after, capped=True)


def values(writer: Writer) -> Iterator[Repeated]:
    before = f"{writer.section}{writer.head}{writer.pair('content')}a"
    after = writer.value_end + writer.closer + writer.section_end
    yield from plain("value", before, after)
    yield Repeated("value: the beginning of its closer", before, writer.value_end[:-1], after)
    yield Repeated("value: the beginning of the call's closer", before, writer.closer[:-1], after)
    yield Repeated("value: closers that do not count", before, f"{writer.value_end}a", after)
    yield Repeated("value: closers and 1,000 spaces", before, f"{writer.value_end}{SPACES}a", after, capped=True)
    yield Repeated("value: misspelt closers", before, f"{writer.value_end[:-1]}abc>d", after)
    yield Repeated("value: closers of the call", before, f"{writer.closer}a", after)
    yield Repeated(
        "value: closers of call and section", before, writer.closer + writer.section_end + "a", after, capped=True
    )
    yield Repeated("value: openers", before, writer.outer, after)
    yield Repeated("value: keys' openers, no key", before, f"\n{writer.key}\n", after)
    yield Repeated("value: keys' openers, keys too long", before, f"\n{writer.key}{'a' * 300}\n", after, capped=True)
    yield Repeated("value: a stop that does not count", before, f"{writer.row.stops[0]} a", after, only_text=True)
    yield Repeated("value: quotes and escapes", before, '"\\\n', after)
    yield Repeated("value: control characters", before, "\x01", after)
    held = f"{writer.section}{writer.head}{writer.pair('o')}"
    yield from plain("held value", held, after)
    yield Repeated("held value: the beginning of its closer", held, writer.value_end[:-1], after)
    yield Repeated("held value: arrays, nested", held + '{"a":', "[", f"}}{after}", mirror="]")
    yield Repeated("held value: arrays that do not close", held, "[", after)
    yield Repeated("held value: numbers", held + '{"a":[', "1,", f"1]}}{after}")
    yield Repeated("held value: quotes and escapes", held + '{"a":"', '\\"\\\\\\n', f'"}}{after}')
    yield Repeated("held value: quotes, not JSON", held, '"', after)
    yield Repeated(
        "value of two types: spaces", f"{writer.section}{writer.head}{writer.pair('n')}", " ", after, capped=True
    )


def pairs(writer: Writer) -> Iterator[Repeated]:
    before, after = writer.section + writer.head, writer.closer + writer.section_end
    pair = f"{writer.pair('content')}a{writer.value_end}"
    yield Repeated("10,000 keys", before, f"{pair}\n".replace("content", "key_{}", 1), after, units=MANY)
    yield Repeated(
        "10,000 keys whose values do not close", before, f"\n{pair[: -len(writer.value_end)]}\n", after, units=MANY
    )
    yield Repeated("10,000 keys, noise between", before, f"noise {pair}", after, units=MANY)
    yield from plain("between pairs", before + pair, pair + after, noise=True)
    yield Repeated("between pairs: closers of values", before + pair, writer.value_end, after)
    yield Repeated("between pairs: keys' openers", before + pair, writer.key, after, capped=True)
    yield Repeated("between pairs: half keys' openers", before + pair, writer.key[:-1], after, capped=True)


def wrapped(writer: Writer) -> Iterator[Repeated]:
    name, close = '{"name": "write_file", "arguments": ', f"}}{writer.outer_end}"
    yield from in_json("wrapped", writer.outer + name, close, writer)
    decoded = f'{writer.outer}{name}"{{\\"content\\": \\"'
    yield Repeated("wrapped, a string of JSON: quotes", decoded, '\\\\\\"', f'\\"}}"{close}')
    yield Repeated("wrapped, a string of JSON: characters as escapes", decoded, "\\u00e9", f'\\"}}"{close}')
    late = f'{writer.outer}{{"arguments": '
    yield from in_json("wrapped, name last", late, f', "name": "write_file"{close}', writer)
    yield Repeated("wrapped: no name", late + '{"content": "', "a", f'"}}{close}')
    yield Repeated(
        "wrapped: 10,000 members before", writer.outer + "{", '"key_{}": 1, ', name[1:] + SHORT + close, units=MANY
    )
    yield Repeated("wrapped: 10,000 members after", writer.outer + name + SHORT, ', "key_{}": 1', close, units=MANY)
    yield from plain("wrapped, before the object", writer.outer, name + SHORT + close, noise=True)
    yield from plain("wrapped, after the object", f"{writer.outer}{name}{SHORT}}}", writer.outer_end, noise=True)
    one = f"{name}{SHORT}}}"
    yield Repeated(
        "10,000 wrapped calls in an array", writer.outer + "[", one + ",\n", f"{one}]{writer.outer_end}", units=MANY
    )
    yield Repeated("10,000 wrapped calls", "", f"{writer.outer}\n{one}\n{writer.outer_end}\n", units=MANY)
    yield Repeated("wrapped: openers in strings, no name", "", f'{writer.outer}{{"k":"\\"', '"}', capped=True)
    yield Repeated("wrapped: objects without a name", "", f'{writer.outer}{{"k": 1}}{writer.outer_end}', capped=True)
