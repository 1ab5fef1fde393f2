"""Names of parsers in vLLM, SGLang and Ollama that are neither a row's nor a model's, and names that no row
can read.
"""

ALIASES = {
    "apertus2509": "apertus",
    "cohere_command3": "cohere",
    "cohere_command4": "cohere",
    "cogito": "deepseek",
    "deepseek3": "deepseek",
    "deepseek_v3": "deepseek",
    "deepseek_v31": "deepseek",
    "deepseekv3": "deepseek",
    "deepseekv31": "deepseek",
    "deepseek-r1": "deepseek",
    "deepseek-v3": "deepseek",
    "deepseek_r1": "deepseek",
    "deepseek_v32": "dsml",
    "deepseek_v4": "dsml",
    "deepseek_v41": "dsml",
    "deepseekv32": "dsml",
    "deepseekv4": "dsml",
    "deepseekv41": "dsml",
    "deepseek-v4": "dsml",
    "deepseek-v41": "dsml",
    "glm45": "glm",
    "glm47": "glm",
    "glm-ocr": "glm",
    "ling3": "glm",
    "spark25": "glm",
    "gpt-oss": "harmony",
    "openai": "harmony",
    "openai_gptoss": "harmony",
    "granite": "granite3",
    "granite-20b-fc": "granite_20b",
    "granite_thinking_parser": "granite3",
    "holo2": "hermes",
    "qwen": "hermes",
    "qwen25": "hermes",
    "qwen3": "hermes",
    "qwen3-thinking": "hermes",
    "qwen3_json": "hermes",
    "trinity": "hermes",
    "hunyuan": "hy_v3",
    "interns1": "internlm",
    "kimi": "kimi_vl",
    "llama3_json": "llama3",
    "llama4_json": "llama3",
    "llama4_pythonic": "pythonic",
    "minimax": "minimax_m2",
    "ministral": "mistral",
    "minimax-m2": "minimax_m2",
    "minimax-m3": "minimax_m3",
    "minimax-append-think": "minimax_m2",
    "minimax_m2_append_think": "minimax_m2",
    "minicpmv": "qwen3_coder",
    "nanbeige": "qwen3_coder",
    "nemotron_3": "qwen3_coder",
    "nemotron_v3": "qwen3_coder",
    "ornith": "qwen3_coder",
    "phi4_mini_json": "phi4_mini",
    "poolside-v1": "poolside_v1",
    "qwen3_xml": "qwen3_coder",
    "step3p5": "qwen3_coder",
    "step5": "qwen3_coder",
}

_HEADERS = (
    "its messages have Harmony's headers, which name any tool as the recipient, and only in a message to a tool its "
    "tags are a call; no format here has both"
)
_TEMPLATE = "its grammar is a file of the model's: Format.from_response_template makes a row of it"

UNREAD = {
    "beam": "its messages have Harmony's headers, the recipient is the call's name, and one marker closes a message "
    "and begins the next header; its arguments are tags, which Harmony does not have",
    "muse": _HEADERS,
    "muse_glimmer": _HEADERS,
    "glimmer": _HEADERS,
    "musespark1x": _HEADERS,
    "inkling": "one marker ends its thoughts, its text and its calls, and a function's name may come before the marker "
    "of its call; in a row each marker is for one thing",
    "hf": _TEMPLATE,
    "response_template": _TEMPLATE,
    "passthrough": "it reads nothing: the text is the answer",
}
"""Names of parsers in vLLM, SGLang and Ollama that are not a row -> why."""
