"""Directories of models without weights: a configuration, a tokenizer with the family's real tokens, and a template."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from families import SERVED, tokenizer
from rank_file import tokens
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

TEMPLATES = Path(__file__).resolve().parents[1] / "templates_chat"
CONFIG = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 32768,
    "torch_dtype": "float32",
}
_TOOLS = "{%- if tools %}{{- tools | tojson }}{% endif %}"
WRITTEN = {
    "llama3": "<|begin_of_text|>"
    + _TOOLS
    + """
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content + '<|eot_id|>' }}
{%- endfor %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}""",
    "pythonic": "<|begin_of_text|>"
    + _TOOLS
    + """
{%- for message in messages %}
    {{- '<|header_start|>' + message.role + '<|header_end|>\n\n' + message.content + '<|eot|>' }}
{%- endfor %}{{- '<|header_start|>assistant<|header_end|>\n\n' }}""",
    "mistral": "<s>[AVAILABLE_TOOLS]"
    + _TOOLS
    + """[/AVAILABLE_TOOLS]
{%- for message in messages %}{{- '[INST]' + message.content + '[/INST]' }}{% endfor %}""",
}
"""The templates of families that have none in `templates_chat`."""
STOPS = {
    "llama3": "<|eot_id|>",
    "llama4": "<|eot|>",
    "qwen3": "<|im_end|>",
    "qwen3_coder": "<|im_end|>",
    "kimi_k2": "<|im_end|>",
    "glm45": "<|user|>",
}


def write(directory: Path, family: str) -> Path:
    """The directory of a model of this family ("gpt_oss", or one of `families`), named so that its format is known."""
    directory = directory / {"gpt_oss": "gpt-oss-tiny"}.get(family, family.replace("_", "-"))
    directory.mkdir(parents=True)
    if family == "gpt_oss":
        return _gpt_oss(directory)
    row = SERVED[family]
    made = tokenizer(row.special, row.plain)
    made.save(str(directory / "tokenizer.json"))
    stop = STOPS.get(family, row.special[1])
    (directory / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "bos_token": row.special[0],
                "eos_token": stop,
                "model_max_length": 32768,
            }
        )
    )
    template = WRITTEN.get(row.row) or (TEMPLATES / f"{row.row}.jinja").read_text()
    (directory / "chat_template.jinja").write_text(template)
    config = {**CONFIG, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 4096}
    (directory / "config.json").write_text(json.dumps({**config, "eos_token_id": made.token_to_id(stop)}))
    return directory


def _gpt_oss(directory: Path) -> Path:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + at) for at, byte in enumerate(others)}
    ranks = list(tokens())
    made = Tokenizer(models.BPE({"".join(letters[byte] for byte in token): at for at, token in enumerate(ranks)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in _control()])
    made.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|return|>", "model_max_length": 32768})
    )
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 8}
    layers = {"layer_types": ["full_attention"] * 2, "vocab_size": 201088}
    config = {**CONFIG, **experts, **layers, "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss"}
    (directory / "config.json").write_text(json.dumps({**config, "eos_token_id": 200002}))
    (directory / "generation_config.json").write_text(json.dumps({"eos_token_id": [200002, 199999, 200012]}))
    (directory / "chat_template.jinja").write_text("{{ messages[0].content }}")  # vLLM renders gpt-oss without it
    # oss-harmony reads the ranks from a file if it cannot download them. TIKTOKEN_ENCODINGS_BASE is its directory.
    lines = [b"%s %d\n" % (base64.b64encode(token), at) for at, token in enumerate(ranks)]
    (directory / "o200k_base.tiktoken").write_bytes(b"".join(lines))
    return directory


def _control() -> list[str]:
    from harmonystream.vocab import o200k_harmony

    control = o200k_harmony().control
    return sorted(control, key=control.__getitem__)
