"""The names of SGLang that our plug-in uses, by feature. They are checked before the feature is switched on."""

from __future__ import annotations

from ..host_names import HostName

__all__ = ["NAMES"]

_CHAT = "sglang.srt.entrypoints.openai.serving_chat:OpenAIServingChat"
_RESPONSES = "sglang.srt.entrypoints.openai.serving_responses:OpenAIServingResponses"
_PROTOCOL = "sglang.srt.entrypoints.openai.protocol"
_SINCE = "0.5.23"


def _plain(use: str, *paths: str) -> tuple[HostName, ...]:
    """Names of classes, attributes and fields."""
    return tuple(HostName(path, use, _SINCE) for path in paths)


def _function(path: str, use: str, *parameters: str, replaced: bool = False) -> HostName:
    return HostName(path, use, _SINCE, parameters, replaced)


NAMES: dict[str, tuple[HostName, ...]] = {
    "parsers": (
        *_plain(
            "the registries of parsers",
            "sglang.srt.function_call.function_call_parser:FunctionCallParser.ToolCallParserEnum",
            "sglang.srt.parser.reasoning_parser:ReasoningParser.DetectorMap",
        ),
        *_plain(
            "the bases and results of parsers",
            "sglang.srt.function_call.base_format_detector:BaseFormatDetector",
            "sglang.srt.function_call.core_types:StreamingParseResult",
            "sglang.srt.function_call.core_types:ToolCallItem",
            "sglang.srt.parser.reasoning_parser:BaseReasoningFormatDetector",
            "sglang.srt.parser.reasoning_parser:StreamingParseResult",
            f"{_PROTOCOL}:FunctionResponse",
            f"{_PROTOCOL}:ToolCall",
        ),
        _function("sglang.srt.plugins.hook_registry:HookRegistry.register", "hooks", "target", "hook", "hook_type"),
        *_plain("hooks", "sglang.srt.plugins.hook_registry:HookType"),
        _function(f"{_CHAT}._encoding_output", "the adapter of a server's outputs", replaced=True),
        _function(f"{_CHAT}._process_messages", "the prompt", "request", replaced=True),
        _function(f"{_RESPONSES}._make_request", "the prompt", "request", replaced=True),
        _function(f"{_RESPONSES}._response_tools_to_chat_tools", "tools", "request"),
        _function(f"{_CHAT}._effective_tools", "tools", "request"),
        _function(f"{_CHAT}._tool_call_parsing_active", "tools", "request"),
        _function(f"{_CHAT}._process_tool_call_id", "ids of calls", "call_item", "history_tool_calls_cnt"),
        _function(f"{_CHAT}._get_history_tool_calls_cnt", "ids of calls", "request"),
        _function(
            "sglang.srt.function_call.function_call_parser:FunctionCallParser.__init__",
            "grammars",
            *("tools", "tool_call_parser", "*", "tokenizer"),
        ),
        _function("sglang.srt.function_call.function_call_parser:FunctionCallParser.structural_tag_tools", "grammars"),
        _function(
            "sglang.srt.sampling.sampling_params:set_request_reasoning_in_grammar",
            "grammars",
            *("sampling_params", "enabled"),
        ),
        *_plain(
            "grammars",
            "sglang.srt.function_call.function_call_parser:FunctionCallParser.tool_strict_level",
            *(f"{_PROTOCOL}:ChatCompletionRequest.{name}" for name in ("response_format", "custom_params")),
            *(f"{_PROTOCOL}:MessageProcessingResult.{name}" for name in ("tool_call_constraint", "require_reasoning")),
            f"{_PROTOCOL}:ResponsesRequest.text",
        ),
        _function(f"{_PROTOCOL}:ResponsesRequest._json_schema_from_text_format", "grammars", "text"),
        _function(f"{_PROTOCOL}:ResponsesRequest.effective_tool_choice", "grammars"),
        *_plain(
            "what the server is asked to do",
            *(f"{_CHAT}.tool_call_parser", f"{_CHAT}.reasoning_parser", f"{_CHAT}.tokenizer_manager"),
        ),
        _function(
            "sglang.srt.entrypoints.openai.chat_encoding_adapters:select_new_output_ids",
            "new ids",
            *("*", "output_ids", "num_consumed_tokens", "completion_tokens", "finish_reason_type", "incremental"),
        ),
        _function("sglang.srt.runtime_context:get_serving", "what the server is asked to do"),
    ),
    "frames": (
        _function(
            f"{_CHAT}._handle_streaming_request",
            "the stream of a request",
            *("adapted_request", "request", "raw_request"),
            replaced=True,
        ),
        _function(f"{_CHAT}._reported_prompt_tokens", "usage", "meta_info"),
        _function(
            f"{_CHAT}._process_streaming_logprobs",
            "log probabilities",
            *("content", "n_prev_token", "total_output_logprobs"),
        ),
        _function(f"{_CHAT}.create_error_response", "errors", "message"),
        _function(
            "sglang.srt.entrypoints.openai.usage_processor:UsageProcessor.calculate_streaming_usage",
            "usage",
            *("prompt_tokens", "reasoning_tokens", "completion_tokens", "*", "cached_tokens", "n_choices"),
            *("enable_cache_report", "image_tokens", "audio_tokens", "video_tokens"),
        ),
        _function(
            "sglang.srt.entrypoints.openai.utils:should_include_usage",
            "usage",
            *("stream_options", "stream_response_default_include_usage"),
        ),
    ),
}
"""Feature -> its names. `parsers` is needed by the other."""
