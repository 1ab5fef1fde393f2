"""Finds the format that a model writes by the model's name, in a table of families that is read in order."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from ..errors import FormatError

__all__ = ["format_for", "models_of"]

# (The beginning of a name, its format, the usual name.) A specific family comes before a general one, and replaces its
# words. Names here are lower case, with "-" for every separator except "." between digits.
_FAMILIES = (
    (r"gpt-?oss(-safeguard)?", "harmony", "gpt-oss"),
    # R1 taught other models to reason, but not to call tools. Ollama uses R1's name for these, too, and only the size
    # differs.
    (r"deepseek-r1-distill(-qwen|-llama)?", "think", "DeepSeek-R1-Distill"),
    (r"deepseek-r1-(1\.5|7|8|14|32|70)b", "think", ""),
    (r"deepseek-r1-0528-qwen3", "deepseek", ""),
    (r"deepseek-r1(?![.\d])(-zero|-0528)?", "deepseek", "DeepSeek-R1"),
    (r"(deepseek-(tng-)?)?r1t2?-chimera|deepseek-(tng-)?r1t2?", "deepseek", ""),
    (r"deepseek-(chat-)?v3(\.1)?(-0324|-terminus|-base)?(?![.\d])", "deepseek", "V3, V3.1"),
    (r"deepseek-(chat-)?v3\.2-exp", "deepseek", "V3.2-Exp"),  # DSML came with V3.2 itself
    (r"deepseek-(chat-)?v(3\.2|4(\.1)?)(-speciale)?(?![.\d])", "dsml", "DeepSeek-V3.2, V4, V4.1"),
    (r"qwen-?3-?coder", "qwen3_coder", "Qwen3-Coder"),
    (r"qwen-?3\.[5-9]", "qwen3_coder", "Qwen3.5 and up"),
    (r"qwen-?3(-?(next|omni|vl))?(?![.\d])", "hermes", "Qwen3"),
    (r"qwen-?2\.5-?coder", "xlam", "Qwen2.5-Coder"),
    (r"qwen-?2\.5(-?(omni|vl))?", "hermes", "Qwen2.5"),
    (r"qwq", "hermes", "QwQ"),
    (
        r"(deep|nous-)?hermes-?[2-4](\.\d)?(-pro|-theta)?(-(meta-)?llama-?[23](\.\d)?|-mistral|-mixtral|-qwen3)?",
        "hermes",
        "Hermes 2 to 4",
    ),
    (r"smollm-?3", "hermes", "SmolLM3"),
    (r"trinity-(nano|mini|large)", "hermes", "Trinity"),
    (r"granite-?4", "granite4", "Granite 4"),
    (r"exaone-?4", "exaone4", "EXAONE 4"),
    (r"k-exaone", "exaone4", "K-EXAONE"),
    (r"(ling|ring)-?(2|(mini|flash|1t)-2|1t)", "ling2", "Ling 2, Ring 2"),
    (r"reka-(flash|edge)", "reka", "Reka Flash, Edge"),
    (r"ernie-?4\.5", "ernie45", "ERNIE 4.5"),
    (r"longcat-flash", "longcat", "LongCat-Flash"),
    (r"jamba(-reasoning)?", "jamba", "Jamba"),
    (r"hunyuan-a13b|hunyuan-(0\.5|1\.8|4|7)b", "hunyuan_a13b", "Hunyuan-A13B"),
    (r"hy-?3|hunyuan-?3", "hy_v3", "Hy3"),
    (r"hy-?4|hunyuan-?4", "hy_v4", "Hy4"),
    (r"apriel-?1\.[56]", "apriel", "Apriel 1.5, 1.6"),
    (r"nemotron-nano(-(9b|12b))?-v2", "nemotron_v2", "Nemotron Nano 2"),
    (r"llama-?3[.-][13]-nemotron-(nano|super|ultra)(?!-vl)(-\d+b)?(-v1([.-]\d)?)?", "nemotron_v2", "Llama Nemotron"),
    (r"internlm-?[23](\.5)?|intern-?s1", "internlm", "InternLM 2, 3, Intern-S1"),
    (r"nemotron-?3-(nano|super|ultra)", "qwen3_coder", "Nemotron 3"),
    (r"nanbeige-?4(\.\d)?", "qwen3_coder", "Nanbeige4"),
    (r"step(fun)?-?3\.[57]", "qwen3_coder", "Step-3.5"),
    (r"mimo", "mimo", "MiMo"),
    (r"kimi-?k2", "kimi_k2", "Kimi-K2, K2.5"),
    (r"kimi-linear", "kimi_k2", "Kimi-Linear"),
    (r"kimi-?k3", "kimi_k3", "Kimi-K3"),
    (r"glm-?(4\.[5-9]|5(?!\d))v?", "glm", "GLM-4.5 to 5"),
    (r"glm-z1(-rumination)?", "think", "GLM-Z1"),
    (r"ling-?3", "glm", "Ling-3"),
    (r"seed-?oss", "seed_oss", "Seed-OSS"),
    (
        r"magistral|devstral|ministral-3|mistral-(small|medium|large|nemo)|pixtral|voxtral",
        "mistral",
        "Mistral, Ministral, Devstral, Magistral",
    ),
    (r"(ministral|mistral)-(8b|7b)-instruct-(v0\.3|2410)|mixtral(-8x(7|22)b)?", "mistral", ""),
    (r"hammer-?2(\.\d)?|(llama-)?xlam-?2?", "xlam", "xLAM 2"),
    (r"(meta-)?llama-?3\.[123]", "llama3", "Llama 3.1 to 3.3"),
    (r"(llama-3-)?firefunction-?v2", "phi4_mini", "FireFunction v2"),
    (r"phi-?4-(mini|multimodal)(?!-(flash-)?reasoning)", "phi4_mini", "Phi-4-mini"),
    (r"granite-20b-functioncalling|granite-20b-fc", "granite_20b", "Granite-20B-FunctionCalling"),
    (r"granite-?3(\.\d)?", "granite3", "Granite 3"),
    (r"gigachat-?3(\.1)?(?!\.\d)", "gigachat3", "GigaChat 3"),
    (r"(c4ai-)?command-(a|r7b)(-(reasoning|vision))?", "cohere", "Command A, R7B"),
    (r"apertus", "apertus", "Apertus"),
    (r"llama-?4(-(scout|maverick))?", "pythonic", "Llama 4"),
    (r"toolace(-?2(\.\d)?)?", "pythonic", "ToolACE"),
    (r"olmo-?3(\.\d)?", "olmo3", "OLMo 3"),
    (r"lfm-?2(\.5)?(-(vl|tool))?", "lfm2", "LFM2, LFM2.5"),
    (r"gemma-?4n?", "gemma4", "Gemma 4"),
    (r"function-?gemma", "functiongemma", "FunctionGemma"),
    (r"step-?3(?!\.\d)", "step3", "Step-3"),
    (r"plamo-?3", "plamo3", "PLaMo 3"),
    (r"laguna", "poolside_v1", "Laguna"),
    (r"k2-?horizon(-mova)?", "k2_horizon", "K2-Horizon"),
    (r"iquest-?q1", "iquest_q1", "IQuest-Q1"),
    (r"spark-?x?2\.5", "glm", "Spark-X2.5"),
    (r"minimax-?m2(\.\d)?", "minimax_m2", "MiniMax-M2"),
    (r"minimax-?m3(\.\d)?", "minimax_m3", "MiniMax-M3"),
    (r"dots\.?-?(llm)?-?[12]", "dots", "dots.llm"),
    (r"minicpm-?5", "minicpm5", "MiniCPM5"),
    (r"functionary(-(small|medium))?-v?3\.1", "functionary", "Functionary 3.1"),
    (r"gigachat-?3\.5", "gigachat35", "GigaChat 3.5"),
    (r"kimi-vl", "kimi_vl", "Kimi-VL"),
    (r"minimax-?m1", "minimax_m1", "MiniMax-M1"),
    (r"phi-?4(-mini)?(-flash)?-reasoning", "think", "Phi-4-reasoning"),
)

# Models whose calls no row can read -> why.
_UNREAD = (
    (
        r"functionary(-(small|medium))?-v?(2\.\d|3\.2)",
        "each part of its output begins with the name of who reads it, 'all' or a tool, in a line, and the prompt "
        "ends where the first name begins; in a row a call has an opener",
    ),
    (
        r"(c4ai-)?command-r(-plus)?(?!7b)",
        "its calls are a Markdown fence after 'Action:', and the fence's end, which any answer may have, closes them",
    ),
)

# Families that no built-in format reads. If a name also has one of these, it does not determine a format.
_OTHERS = (
    r"aya|cohere|command-r|ernie|exaone|falcon|gemma|hunyuan|intern(lm|vl)|jamba|lfm|llama|longcat"
    r"|minicpm|ministral|mistral|mixtral|olmo|phi|smollm|yi"
)
_OTHER_TASKS = r"asr|embed|embedding|guard|prm|reranker|reward|rm|tts"

# Parts of a path that do not name a model. Then the parent directory does.
_NAMELESS = (
    r"|[0-9a-f]{12,64}|snapshots|blobs|refs|checkpoint[-_]?\d+|(epoch|step(?!3\Z)|v)?[-_]?\d+|main|best|final|latest|merged|hf|gguf|onnx"
    r"|(adapter_|ggml-|pytorch_)?model([-_.].*)?|weights|(i?q|bf|fp?)\d\w*(\.gguf)?|[^.]*\.json"
)


# A size, as it follows the name of a family: "-8b", "-0.6b", "-270m".
_SIZE = r"-?\d+(\.\d+)?[bm](?![a-z0-9])"


class _Patterns(NamedTuple):
    families: list[tuple[re.Pattern[str], str]]
    foreign: re.Pattern[str]
    maker: re.Pattern[str]
    size: re.Pattern[str]
    nameless: re.Pattern[str]
    unread: list[tuple[re.Pattern[str], str]]


@cache
def _patterns() -> _Patterns:
    """The tables above, compiled on first use, because importing the package must be fast."""
    before, after = r"(?<![a-z0-9.])(?:", r")(?![a-z])"
    return _Patterns(
        families=[(re.compile(before + pattern + after), name) for pattern, name, _ in _FAMILIES],
        foreign=re.compile(f"{before}({_OTHERS})[0-9.]*|{_OTHER_TASKS}{after}"),
        maker=re.compile(f"{before}({_OTHERS})(?!-?[0-9]){after}"),
        size=re.compile(_SIZE),
        nameless=re.compile(_NAMELESS),
        unread=[(re.compile(before + pattern + after), why) for pattern, why in _UNREAD],
    )


def format_for(model_name: str) -> str:
    """The name of the format that a model writes: `Parser(format_for("Qwen/Qwen3-8B"), vocab)`.

    model_name: a model's id ("deepseek-ai/DeepSeek-V3.1"), an id of Ollama or a provider ("qwen3-coder:30b"), the name
    of a quantised or fine-tuned copy, or the path of a directory or file. The last part of a path that names something
    counts. Case and separators do not matter.

    Raises `FormatError` if no family fits the name, or if several fit that differ. In this case, pass the format
    yourself. The search agent of DeepSeek-V3.1 ("deepseek_search") is a mode of the model, so no name has this format.
    """
    if not isinstance(model_name, str):
        raise TypeError(f"model_name is a str such as 'Qwen/Qwen3-8B', not {type(model_name).__name__}")
    return _known_format(model_name) if len(model_name) <= _MAX_KNOWN else _format_of_name(model_name)


_MAX_KNOWN = 256
"""Up to this many characters, a name's format is cached, because every request of a server names its model."""


class _Found(NamedTuple):
    """A family in a name: its range, and its format."""

    start: int
    stop: int
    format: str


def _format_of_name(model_name: str) -> str:
    name = rest = _spelt_alike(_last_part(model_name))
    found: list[_Found] = []
    for pattern, format in _patterns().families:
        found += [_Found(match.start(), match.end(), format) for match in pattern.finditer(rest)]
        rest = pattern.sub(lambda match: "+" * len(match[0]), rest)
    found.sort()
    if found:  # a family without a version, before the model's name, is the name of the maker: "meta-llama-Llama-3.1"
        rest = _patterns().maker.sub("", rest[: found[0].start]) + rest[found[0].start :]
    kinds = {family.format for family in found}
    if (len(kinds) == 1 or _names_a_base(name, found)) and not _patterns().foreign.search(rest):
        return found[0].format
    raise FormatError(_refusal(model_name, sorted(kinds)))


def _names_a_base(name: str, found: list[_Found]) -> bool:
    """Do two families name a model and its base? The size then follows the second one: "ToolACE-2-Llama-3.1-8B"."""
    if len(found) != 2:
        return False
    model, base = found
    size = _patterns().size
    return size.match(name, base.stop) is not None and size.search(name, model.stop, base.start) is None


_known_format = lru_cache(maxsize=64)(_format_of_name)


def models_of(format_name: str) -> str:
    """The models that write this format, for people to read: "Qwen3, Qwen2.5, QwQ". Empty unless the format is built
    in.
    """
    if format_name == "deepseek_search":
        return "the search agent of DeepSeek-V3.1"
    return ", ".join(label for _, name, label in _FAMILIES if name == format_name and label)


def _last_part(name: str) -> str:
    parts = re.split(r"[/\\]|--", name.strip().lower())
    return next((part for part in reversed(parts) if not _patterns().nameless.fullmatch(part)), "")


def _spelt_alike(name: str) -> str:
    """A name in the table's spelling: "deepseek-v3p1", as some providers write it, becomes "deepseek-v3.1"."""
    pointed = re.sub(r"(?<=\d)p(?=\d)", ".", name)
    return re.sub(r"[^a-z0-9.]+|(?<!\d)\.|\.(?!\d)", "-", pointed)


def _refusal(model_name: str, kinds: list[str]) -> str:
    if len(kinds) > 1:
        problem = f"the name {model_name!r} fits models of different formats ({', '.join(kinds)})"
    elif kinds:
        problem = f"the name {model_name!r} fits the format {kinds[0]!r}, and names another kind of model as well"
    else:
        problem = f"no format is known for the model {model_name!r}"
    name = _spelt_alike(_last_part(model_name))
    reasons = [why for pattern, why in _patterns().unread if pattern.search(name)]
    problem += f": {reasons[0]}" if reasons and not kinds else ""
    return (
        f"{problem}. Pass the format yourself with format=: one of the names that `harmonystream formats` lists, or a "
        "file with a format of your own (docs/own-format.md)"
    )
