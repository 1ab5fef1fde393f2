"""The names of vLLM that our plug-ins use, by feature. They are checked before the feature is switched on."""

from __future__ import annotations

from ..host_names import HostName

__all__ = ["NAMES"]

_PARSER = "vllm.parser.abstract_parser:DelegatingParser"
_HARMONY = "vllm.parser.harmony:HarmonyParser"
_CHAT = "vllm.entrypoints.openai.chat_completion.serving:OpenAIServingChat"
_MESSAGES = "vllm.entrypoints.anthropic.serving:AnthropicServingMessages"
_RESPONSES = "vllm.entrypoints.openai.responses.serving:OpenAIServingResponses"
_CONTEXT = "vllm.entrypoints.openai.responses.context:SimpleContext"
_DERENDERER = "vllm.renderers.online_derenderer"
_PROTOCOL = "vllm.entrypoints.generate.base.protocol"
_CHUNKS = "vllm.entrypoints.openai.chat_completion.protocol"
_RESPONSE = "vllm.entrypoints.openai.responses.protocol"
_TOKENS = "vllm.entrypoints.scale_out.token_in_token_out.protocol"
_STATE = "vllm.v1.engine.output_processor:RequestState"
_SINCE = "0.33"


def _plain(use: str, *paths: str) -> tuple[HostName, ...]:
    """Names of classes, attributes and fields."""
    return tuple(HostName(path, use, _SINCE) for path in paths)


def _function(path: str, use: str, *parameters: str, replaced: bool = False) -> HostName:
    return HostName(path, use, _SINCE, parameters, replaced)


def _fields(use: str, owner: str, *names: str) -> tuple[HostName, ...]:
    return _plain(use, *(f"{owner}.{name}" for name in names))


_OUTPUTS = (
    *_fields("an output of the engine", "vllm.outputs:CompletionOutput", "index", "token_ids", "text", "logprobs"),
    *_fields("an output of the engine", "vllm.outputs:CompletionOutput", "finish_reason", "stop_reason"),
    *_fields("an output of the engine", "vllm.outputs:RequestOutput", "outputs", "prompt_token_ids"),
    *_fields("an output of the engine", "vllm.outputs:RequestOutput", "num_cached_tokens", "request_id", "finished"),
)
_SERVER = "what the server is asked to do"

NAMES: dict[str, tuple[HostName, ...]] = {
    "parsers": (
        *_plain(
            "the base of our parsers",
            "vllm.reasoning.abs_reasoning_parsers:ReasoningParser",
            "vllm.tool_parsers.abstract_tool_parser:ToolParser",
            "vllm.tool_parsers.structural_tag_registry:SUPPORTED_STRUCTURAL_TAG_MODELS",
            f"{_PARSER}._tool_parser",
            f"{_PARSER}._reasoning_parser",
        ),
        *_plain("what a parser returns", f"{_PROTOCOL}:DeltaFunctionCall", f"{_PROTOCOL}:DeltaMessage"),
        *_plain("what a parser returns", f"{_PROTOCOL}:DeltaToolCall", f"{_PROTOCOL}:FunctionCall"),
        _function(f"{_PARSER}.__init__", "makes the parsers of a request", "tokenizer", "tools"),
        _function(
            f"{_PARSER}.parse",
            "reads a whole output",
            *("model_output", "request", "enable_auto_tools", "model_output_token_ids"),
            replaced=True,
        ),
        _function(
            f"{_PARSER}.parse_delta",
            "reads a piece of an output",
            *("delta_text", "delta_token_ids", "request", "prompt_token_ids", "*", "finished"),
            replaced=True,
        ),
        _function(f"{_PARSER}.set_prompt_token_ids", "says the prompt", "prompt_token_ids", replaced=True),
        _function(f"{_PARSER}.count_reasoning_tokens", "counts for the usage", "token_ids", replaced=True),
        _function(f"{_PARSER}._initialize_history_tool_call_cnt", "ids of calls", "request"),
        _function(f"{_PARSER}._make_tool_call_id", "ids of calls", "function_name"),
        _function("vllm.renderers.chat_utils:make_tool_call_id", "ids of calls"),
        _function(
            "vllm.tool_parsers.structural_tag_registry:get_structural_tag_tools",
            "grammars",
            *("model", "tools", "tool_choice"),
        ),
        _function(
            "vllm.tool_parsers.structural_tag_registry:resolve_tool_strictness",
            "grammars",
            *("tools", "tool_choice", "strict_level"),
        ),
        *_plain("grammars", "vllm.tool_parsers.tool_strict_level:ToolStrictLevel"),
        *_plain("grammars", "vllm.envs:VLLM_ENFORCE_STRICT_TOOL_CALLING"),
        _function(
            "vllm.parser.metrics:record_tool_parser_invocation",
            "vLLM's metrics",
            *("*", "is_tool_called", "is_streaming", "request"),
        ),
    ),
    "forms of the answer": (
        _function(f"{_PARSER}.adjust_request", "the grammar", "request", replaced=True),
        *_plain(
            "the server's strictness",
            f"{_PARSER}.tool_strict_level",
            "vllm.tool_parsers.abstract_tool_parser:ToolParser.default_tool_strict_level",
        ),
        *_fields("the grammar", "vllm.sampling_params:StructuredOutputsParams", "json", "json_object"),
        *_fields("the grammar", "vllm.sampling_params:StructuredOutputsParams", "structural_tag"),
        *_fields("a request", f"{_CHUNKS}:ChatCompletionRequest", "structured_outputs", "response_format"),
        _function(f"{_CHUNKS}:ChatCompletionRequest.extract_structured_outputs", "the form"),
        _function(f"{_RESPONSE}:ResponsesRequest.extract_structured_outputs", "the form"),
        *_plain("a request", f"{_RESPONSE}:ResponsesRequest._parser_structured_outputs"),
    ),
    "harmony": (
        *_plain("vLLM looks for its parser of gpt-oss there", _HARMONY, "vllm.parser:HarmonyParser"),
        *_fields("Responses", _HARMONY, "_parser", "_num_processed_messages", "_num_counted_tokens"),
        *_fields("Responses", _HARMONY, "_num_reasoning_tokens", "_current_message_tokens", "_harmony_parser"),
        *_fields("Responses", "vllm.parser.harmony:Segment", "channel", "recipient", "delta", "completed_message"),
        *_plain("Responses", "vllm.parser.harmony:ChunkResult.segments"),
        _function(f"{_HARMONY}.process_chunk", "Responses", "token_ids"),
        _function(f"{_HARMONY}.flush", "Responses"),
        _function(f"{_HARMONY}._is_reasoning_token", "usage", "token_id", "channel", "recipient", replaced=True),
        _function("vllm.entrypoints.openai.parser.harmony_utils:get_encoding", "Responses"),
    ),
    "messages": (
        _function(f"{_MESSAGES}.messages_full_converter", "whole Messages", "generator"),
        *_plain("whole Messages", f"{_MESSAGES}.parser_cls"),
    ),
    "frames": (
        *_OUTPUTS,
        _function(
            f"{_CHAT}.chat_completion_stream_generator",
            "the stream of a request",
            *("request", "result_generator", "request_id", "model_name", "conversation", "tokenizer"),
            "request_metadata",
            replaced=True,
        ),
        _function(f"{_MESSAGES}.chat_completion_stream_generator", "the stream of a request", replaced=True),
        _function(f"{_CHAT}._raise_if_error", "errors of the engine", "finish_reason", "request_id"),
        _function(f"{_CHAT}.create_error_response", "errors of the engine", "message"),
        _function(
            f"{_CHAT}._create_chat_logprobs",
            "log probabilities",
            *("*", "token_ids", "top_logprobs", "tokenizer", "num_output_top_logprobs", "return_as_token_id"),
        ),
        *_fields(_SERVER, _CHAT, "enable_auto_tools", "parser_cls", "enable_force_include_usage", "enable_log_outputs"),
        *_fields(_SERVER, _CHAT, "request_logger", "enable_per_request_metrics", "enable_prompt_tokens_details"),
        *_fields(_SERVER, _CHAT, "model_config", "system_fingerprint"),
        *_fields(
            "a request",
            "vllm.entrypoints.openai.chat_completion.protocol:ChatCompletionRequest",
            *("include_reasoning", "tools", "tool_choice", "parallel_tool_calls", "n", "stop", "logprobs"),
            *("top_logprobs", "stream_options", "messages", "add_generation_prompt", "return_tokens_as_token_ids"),
        ),
        _function(
            "vllm.entrypoints.openai.chat_completion.message_assembly:keeps_tool_calls",
            "are calls shown?",
            *("request", "*", "enable_auto_tools", "parser_cls"),
        ),
        _function(
            "vllm.entrypoints.serve.utils.api_utils:should_include_usage",
            "usage",
            *("stream_options", "enable_force_include_usage"),
        ),
        _function("vllm.renderers.chat_utils:get_tool_call_id_type", "ids of calls", "model_config"),
        _function("vllm.entrypoints.anthropic.protocol:translate_error_type", "errors of Messages", "status_code"),
        *_plain(
            "usage",
            "vllm.entrypoints.serve.engine.protocol:UsageInfo",
            "vllm.entrypoints.serve.engine.protocol:CompletionTokenUsageInfo",
        ),
    ),
    "direct streams": (
        _function(
            f"{_STATE}.make_request_output",
            "hands on an output",
            *("new_token_ids", "pooling_output", "finish_reason", "stop_reason"),
            replaced=True,
        ),
        *_fields("a request", _STATE, "queue", "detokenizer", "logprobs_processor", "stream_interval", "output_kind"),
        *_fields("a request", _STATE, "streaming_input", "sampling_mask_chunks", "request_index", "prompt_token_ids"),
        *_fields("requests", "vllm.v1.engine.output_processor:OutputProcessor", "external_req_ids", "request_states"),
        *_plain("a request without text", "vllm.v1.engine.detokenizer:IncrementalDetokenizer"),
    ),
    "frames of Responses": (
        *_OUTPUTS,
        _function(
            f"{_RESPONSES}.responses_stream_generator",
            "the stream of a request",
            *("request", "sampling_params", "result_generator", "context", "model_name", "tokenizer"),
            replaced=True,
        ),
        _function(f"{_RESPONSES}._raise_if_error", "errors of the engine", "finish_reason", "request_id"),
        _function(f"{_RESPONSES}.create_error_response", "errors of the engine", "message"),
        _function(
            f"{_RESPONSES}._create_response_logprobs",
            "log probabilities",
            *("token_ids", "logprobs", "tokenizer", "top_logprobs"),
        ),
        *_fields(_SERVER, _RESPONSES, "enable_log_outputs", "request_logger", "enable_per_request_metrics"),
        *_fields("counts", _CONTEXT, "response_parser", "last_output", "num_output_tokens", "num_prompt_tokens"),
        *_fields("counts", _CONTEXT, "num_cached_tokens"),
        _function(
            f"{_RESPONSE}:ResponsesResponse.from_request",
            "fields that a response repeats",
            *("request", "sampling_params", "model_name", "created_time", "output", "status"),
        ),
    ),
    "derender": (
        _function(
            f"{_DERENDERER}:OnlineDerenderer._derender_chat_stream_parsed_async",
            "a chunk of a stream",
            *("parser_cls", "model", "generate_chunk", "state", "chat_request", "prompt_tokens", "prompt_token_ids"),
            replaced=True,
        ),
        _function(f"{_DERENDERER}:OnlineDerenderer._resolve_chat_template_kwargs", "makes the parser", "chat_request"),
        _function(
            f"{_DERENDERER}:OnlineDerenderer._drop_stop_token",
            "stop tokens",
            *("token_ids", "finish_reason", "stop_reason", "request"),
        ),
        _function(f"{_DERENDERER}:_logprob_context_tail", "log probabilities", "context_token_ids", "delta_token_ids"),
        _function(
            f"{_DERENDERER}:_resolve_logprobs",
            "log probabilities",
            *("logprobs", "tokenizer", "*", "initial_context_token_ids", "top_limit"),
        ),
        _function(f"{_DERENDERER}:_chat_top_logprobs_limit", "log probabilities", "chat_request"),
        _function("vllm.parser.utils:count_history_tool_calls", "ids of calls", "request"),
        *_plain("the route", "vllm.entrypoints.scale_out.derender.api_router:derender_chat_completion"),
        *_plain("the route", "vllm.entrypoints.serve.utils.api_utils:validate_json_request"),
        *_plain("a request", f"{_TOKENS}:DerenderChatStreamRequest.prompt_token_ids", f"{_TOKENS}:DerenderChatRequest"),
        *_fields(
            "a request",
            f"{_TOKENS}:DerenderStreamState",
            *("output_token_ids", "role_sent", "logprob_context_token_ids"),
        ),
        *_plain("errors", "vllm.entrypoints.serve.engine.protocol:ErrorResponse"),
        *_fields("a chunk", f"{_CHUNKS}:ChatCompletionStreamResponse", "id", "created", "model", "choices", "usage"),
        *_fields("a chunk", f"{_CHUNKS}:ChatCompletionResponseStreamChoice", "index", "delta", "logprobs", "token_ids"),
        *_fields("a chunk", f"{_CHUNKS}:ChatCompletionResponseStreamChoice", "finish_reason", "stop_reason"),
        _function(
            "vllm.entrypoints.openai.chat_completion.stream_processor:ChatStreamProcessor.__init__",
            "a chunk",
            *("request", "parser", "*", "enable_auto_tools", "parser_cls"),
        ),
        *_fields(_SERVER, f"{_DERENDERER}:OnlineDerenderer", "parser", "renderer", "model_config", "enable_auto_tools"),
    ),
}
"""Feature -> its names. `parsers` is needed by all others."""
