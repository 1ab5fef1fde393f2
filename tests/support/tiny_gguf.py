"""Model files for llama.cpp: a vocabulary and random weights, 17 MB for gpt-oss's. What they say has no sense."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy

import harmonystream as hs

WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 1024


def _printable() -> list[str]:
    """GPT-2's letter for each byte: files of byte-level vocabularies spell tokens with these."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(rest)) for byte in range(256)]


def write_model(path: Path) -> None:
    """Write a file with gpt-oss's vocabulary. The control tokens end a generation where Harmony's do."""
    vocab = hs.vocab.o200k_harmony()
    letters = _printable()
    tokens, kinds = [], []
    for token in range(len(vocab)):
        data = vocab.token_bytes(token) if token in vocab else f"<|unused_{token}|>".encode()
        control = token not in vocab or vocab.is_control(token)
        tokens.append(data.decode() if control else "".join(letters[byte] for byte in data))
        kinds.append(gguf.TokenType.CONTROL if control else gguf.TokenType.NORMAL)
    _write(path, tokens, kinds, pre="gpt-4o", bos=199_998, eos=200_002)


def write_model_of(folder: Path, path: Path, stop: str) -> None:
    """Write a file with the tokenizer and template of a model's folder. stop: the token that ends an answer."""
    made = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    added = {one["id"]: one for one in made["added_tokens"]}
    plain = {token: text for text, token in made["model"]["vocab"].items()}
    count = max(*plain, *added) + 1
    tokens = [added[at]["content"] if at in added else plain.get(at, f"<unused_{at}>") for at in range(count)]
    user, control = gguf.TokenType.USER_DEFINED, gguf.TokenType.CONTROL
    kinds = [
        gguf.TokenType.NORMAL if at not in added else control if added[at]["special"] else user for at in range(count)
    ]
    merges = [one if isinstance(one, str) else " ".join(one) for one in made["model"]["merges"]]
    template = (folder / "chat_template.jinja").read_text("utf-8")
    end = tokens.index(stop)
    _write(path, tokens, kinds, pre="qwen2", bos=end, eos=end, merges=merges, template=template)


def _write(
    path: Path,
    tokens: list[str],
    kinds: list[gguf.TokenType],
    *,
    pre: str,
    bos: int,
    eos: int,
    merges: Sequence[str] = ("a b",),
    template: str | None = None,
) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(list(merges))
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(eos)
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)
    _add_tensors(writer, len(tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tensors(writer: gguf.GGUFWriter, words: int) -> None:
    random = numpy.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) / WIDTH).astype(numpy.float32))

    writer.add_tensor("token_embd.weight", random.standard_normal((words, WIDTH)).astype(numpy.float16))
    for name in ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        writer.add_tensor(name, numpy.ones(WIDTH, numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{name}.weight", WIDTH, WIDTH)
    add("blk.0.ffn_gate.weight", INNER, WIDTH)
    add("blk.0.ffn_up.weight", INNER, WIDTH)
    add("blk.0.ffn_down.weight", WIDTH, INNER)
