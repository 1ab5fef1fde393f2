"""A tokenizer for the rivals: a small byte-level BPE, with a family's markers as added tokens."""

from __future__ import annotations

import codecs
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from bench.families import byte_letters
from bench.worker import ROOT, in_a_line

from .families import FAMILIES
from .outputs import markers_of

# Tags that parsers look for in the vocabulary when they are made.
COMMON = """\
<think> </think> <tool_call> </tool_call> <|im_start|> <|im_end|> <｜Assistant｜> ｜DSML｜ [TOOL_CALLS] [ARGS] [CALL_ID]
[THINK] [/THINK] <|tool_call|> <|python_tag|> <function_call> <|START_RESPONSE|> <|END_RESPONSE|> <|START_TEXT|>
<|END_TEXT|> <tool_calls> </tool_calls> <|channel> <channel|> <|turn> <turn|> <|"|> <escape> <|open|> <|close|>
<|sep|> <response> </response> <answer> </answer> <tool_sep> <arg_key> </arg_key> <arg_value> </arg_value>
<|tool_call_argument_begin|> <|START_THINKING|> <|END_THINKING|> <|end_of_msg|> <|START_ACTION|> <|END_ACTION|>
<｜tool▁sep｜> <｜end▁of▁sentence｜> <|action_start|> <|plugin|> <seed:think> </seed:think> <|inner_prefix|>
<|inner_suffix|> <ifm|think> </ifm|think> <assistant> </assistant> <user> <system> <|assistant|> <|user|> <seed:bos>
<0x0A> <ifm|think_fast> </ifm|think_fast> <ifm|think_faster> </ifm|think_faster> <|tool_response>
]<]minimax[>[ <mm:think> </mm:think>
"""


@cache
def base() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False)
    lines = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8").splitlines()
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer.to_str()


def is_a_token(mark: str) -> bool:
    """Is the tag one token of its model, rather than the beginning of one or a plain word?"""
    return '"' not in mark.strip('<|">') and "=" not in mark and mark[-1:] in ">]" and not mark.startswith("]<]")


@cache
def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of a family."""
    made = Tokenizer.from_str(base())
    marks = [
        mark for mark in markers_of(FAMILIES[name]) if is_a_token(mark) and "DSML" not in mark and "GCML" not in mark
    ]
    marks = list(dict.fromkeys([*marks, *COMMON.split()]))
    made.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in marks])
    return made


def deltas(name: str, text: str) -> list[tuple[str, list[int]]]:
    """The text token by token, as a server's detokenizer gives it: a character comes with its last byte."""
    made = tokenizer(name)
    encoding = made.encode(text, add_special_tokens=False)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    added = made.get_added_tokens_decoder()
    letters = {letter: byte for byte, letter in byte_letters().items()}
    found, waiting = [], []
    for tid, token in zip(encoding.ids, encoding.tokens, strict=True):
        data = token.encode() if tid in added else bytes(letters[letter] for letter in token)
        waiting.append(tid)
        if piece := decoder.decode(data):
            found.append((piece, waiting))
            waiting = []
    return found


PATIENCE = 0.5  # seconds of processor time for one output


@contextmanager
def patience() -> Iterator[None]:
    """Raises `TimeoutError` in a parser that does not end."""

    def end(*_: object) -> None:
        raise TimeoutError(f"no end after {PATIENCE} seconds")

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def guarded(make: Callable[[], Any], way: Callable[[Any], tuple[Any, ...]]) -> list[Any]:
    """How a parser reads an output: the reasoning, the content, the calls, and the text of its error, or "".

    make: makes the parser. way: has it read, for which it has PATIENCE.
    """
    try:
        parser = make()
        with patience():
            return [*way(parser), ""]
    except Exception as error:
        return ["", "", [], in_a_line(error)]
