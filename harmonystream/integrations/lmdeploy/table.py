"""The names of LMDeploy that our plug-in uses. They are checked before it changes anything."""

from __future__ import annotations

from ..host_names import HostName

__all__ = ["NAMES"]

_SINCE = "0.18"
_PARSERS = "lmdeploy.serve.parsers"
_PROTOCOL = "lmdeploy.serve.openai.protocol"


def _plain(use: str, *paths: str) -> tuple[HostName, ...]:
    """Names of classes, attributes and fields."""
    return tuple(HostName(path, use, _SINCE) for path in paths)


def _function(path: str, use: str, *parameters: str) -> HostName:
    """A function that LMDeploy calls, and that we replace."""
    return HostName(path, use, _SINCE, parameters, replaced=True)


NAMES: dict[str, tuple[HostName, ...]] = {
    "parsers": (
        *_plain(
            "the registries of parsers",
            f"{_PARSERS}.response_parser:ResponseParserManager.register_module",
            f"{_PARSERS}.tool_parser:ToolParserManager.register_module",
            f"{_PARSERS}.reasoning_parser:ReasoningParserManager.register_module",
        ),
        *_plain(
            "the bases of parsers",
            *(f"{_PARSERS}.reasoning_parser:ReasoningParser", f"{_PARSERS}.tool_parser:ToolParser"),
        ),
        *_plain(
            "what a parser returns",
            *(f"{_PROTOCOL}:{name}" for name in ("DeltaFunctionCall", "DeltaMessage", "DeltaToolCall")),
            *(f"{_PROTOCOL}:{name}" for name in ("FunctionCall", "ToolCall")),
        ),
        _function("lmdeploy.serve.core.async_engine:AsyncEngine.preprocess", "the prompt"),
        *_plain(
            "the prompt, and where an output ends",
            *(f"lmdeploy.serve.core.async_engine:PreprocessedRequest.{name}" for name in ("inputs", "gen_config")),
            *(f"lmdeploy.messages:GenerationConfig.{name}" for name in ("max_new_tokens", "stop_token_ids")),
            "lmdeploy.messages:GenerationConfig.response_format",
            f"{_PROTOCOL}:ChatCompletionRequest.include_stop_str_in_output",
        ),
        *_plain(
            "grammars",
            f"{_PARSERS}.tool_parser:ToolParser.build_required_response_format",
            *(f"{_PROTOCOL}:ChatCompletionRequest.{name}" for name in ("response_format", "parallel_tool_calls")),
            *(f"{_PROTOCOL}:ResponseFormat.{name}" for name in ("type", "json_schema")),
            f"{_PROTOCOL}:JsonSchema.json_schema",
        ),
        *(
            name
            for owner in (
                f"{_PARSERS}.response_parser:BaseResponseParser",
                f"{_PARSERS}._openai_harmony:GptOssResponseParser",
            )
            for name in (
                _function(f"{owner}.__init__", "a request", "request"),
                _function(f"{owner}.stream_chunk", "a piece of an output", "delta_text", "delta_token_ids"),
                _function(f"{owner}.parse_complete", "a whole output", "text", "token_ids"),
                _function(f"{owner}.set_parsers", "the names of the command line"),
            )
        ),
    ),
}
"""Feature -> its names."""
