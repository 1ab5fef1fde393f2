"""SGLang's own application in this process, with a script in place of the engine.

Its routes, serving classes, templates and parsers are SGLang's. What is not: the tokenizer manager, which gives each
request to the engine. Ours plays the ids of a script, and decodes them as SGLang's detokenizer does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from http import HTTPStatus
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import model_dirs
from families import SERVED
from fastapi import HTTPException

import harmonystream as hs

os.environ["SGLANG_PLUGINS"] = "harmonystream,harmonystream_frames"  # each server says which it wants


class _Absent(ModuleType):
    """torchvision, of which SGLang's modules for pictures import some names. Its wheel on PyPI needs CUDA."""

    __path__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _without_torchvision() -> None:
    import transformers.utils.import_utils  # it looks for torchvision, and must not find this one

    for name in ("", ".transforms", ".transforms.functional", ".transforms.v2", ".transforms.v2.functional"):
        module = _Absent(f"torchvision{name}")
        module.__spec__ = ModuleSpec(module.__name__, None, is_package=True)
        sys.modules[module.__name__] = module
        above, _, last = module.__name__.rpartition(".")
        if above:
            setattr(sys.modules[above], last, module)
    del transformers


_without_torchvision()

from sglang.srt.plugins import load_plugins  # noqa: E402

load_plugins()

from sglang.srt.entrypoints import http_server  # noqa: E402
from sglang.srt.entrypoints.anthropic.serving import AnthropicServing  # noqa: E402
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest  # noqa: E402, F401
from sglang.srt.entrypoints.openai.serving_chat import OpenAIServingChat  # noqa: E402
from sglang.srt.entrypoints.openai.serving_responses import OpenAIServingResponses  # noqa: E402
from sglang.srt.managers import detokenizer_manager  # noqa: E402
from sglang.srt.managers.tokenizer_manager import TokenizerManager, _slice_streaming_output_meta_info  # noqa: E402
from sglang.srt.parser.template_manager import TemplateManager  # noqa: E402
from sglang.srt.runtime_context import get_context, publish  # noqa: E402
from sglang.srt.server_args import prepare_server_args  # noqa: E402
from sglang.srt.utils.hf_transformers_utils import get_config, get_tokenizer  # noqa: E402

STOCK = {  # SGLang's own parsers of calls and of reasoning; None: the format has no reasoning
    "llama3": ("llama3", None),
    "llama4": ("pythonic", None),
    "mistral": ("mistral", None),
    "qwen3": ("qwen25", "qwen3"),
    "qwen3_coder": ("qwen3_coder", "qwen3"),
    "kimi_k2": ("kimi_k2", "kimi_k2"),
    "glm45": ("glm45", "glm45"),
    "deepseek_v31": ("deepseekv31", "deepseek-v3"),
    "gpt_oss": ("gpt-oss", "gpt-oss"),
}


class ScriptedManager:
    """What the serving classes ask of SGLang's TokenizerManager."""

    request_logger = SimpleNamespace(log_requests=False, log_requests_level=0)

    def __init__(self, directory: Path) -> None:
        self.model_path, self.served_model_name = str(directory), "tiny"
        self.tokenizer = get_tokenizer(str(directory))
        self._special = {tid for tid, token in self.tokenizer.added_tokens_decoder.items() if token.special}
        self.processor = None
        config = get_config(str(directory), trust_remote_code=False)
        self.model_config = SimpleNamespace(
            hf_config=config, is_multimodal=False, context_len=32768, get_default_sampling_params=dict
        )
        self.server_args = get_context()._server_args
        self.ids: list[int] = []
        self.at_once, self.finish, self.stop = 1, "stop", None
        self.asked: Any = None

    def config_value(self, name: str) -> Any:
        return get_context().config_leaf(name)

    def create_abort_task(self, request: Any) -> None: ...

    async def generate_request(self, request: Any, raw: Any = None) -> AsyncIterator[Any]:
        self.asked = request
        params = request.sampling_params
        choices = params.get("n") or 1
        size = self.at_once if request.stream else max(1, len(self.ids))
        ends = [*range(size, len(self.ids), size), len(self.ids)]
        whole = [self._outputs(request, params, index, ends) for index in range(choices)]
        if not request.stream and self.finish == "error":
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "no room")
        if not request.stream:
            last = [outputs[-1] for outputs in whole]
            yield last if choices > 1 else last[0]
            return
        for step in zip(*whole):
            for output in step:
                yield output

    def _outputs(self, request: Any, params: dict[str, Any], index: int, ends: list[int]) -> list[dict[str, Any]]:
        """Cumulative, as SGLang's are: up to the step in which a stop string has been spelled.

        A stream has the beginning of a stop string that an output before the last one has had.
        """
        stop = params.get("stop") or []
        stops = [stop] if isinstance(stop, str) else list(stop)
        hides = params.get("skip_special_tokens", True)
        made: list[dict[str, Any]] = []
        for end in ends:
            ids = self.ids[:end]
            finish = None
            if end == len(self.ids):
                stopped = self.finish == "stop" and ids and ids[-1] in self._special
                finish = {"type": self.finish, "matched": ids[-1] if stopped else None}
                if self.finish == "error":
                    finish = {"type": "abort", "status_code": HTTPStatus.SERVICE_UNAVAILABLE, "message": "no room"}
            text = self._decoded(ids, finish, hides)
            if matched := next((each for each in stops if each in text), None):
                finish = {"type": "stop", "matched": matched}
                sent = made[-1]["text"] if made else ""
                text = sent + self._trimmed(text, finish)[len(sent) :]
            about = {"id": "chatcmpl-1", "finish_reason": finish, "prompt_tokens": len(request.input_ids)}
            about |= {"completion_tokens": end, "cached_tokens": 0, "weight_version": "default"}
            if request.return_logprob:
                about |= self._logprobs(end, request.top_logprobs_num)
            made.append({"text": text, "output_ids": ids, "index": index, "meta_info": about})
            if finish is not None:
                break
        return _pieces(made) if request.stream and self.config_value("incremental_streaming_output") else made

    def _logprobs(self, end: int, top: int) -> dict[str, Any]:
        """As SGLang's manager returns them: of all ids, in lists that grow while the output does."""
        likely = [[(tid + at) % self.tokenizer.vocab_size for at in range(top)] for tid in self.ids]
        said = [-0.5 - at / 100 for at in range(len(self.ids))]
        texts = TokenizerManager.detokenize_logprob_tokens(self, said, self.ids, True)
        values = [[-0.5 - at for at in range(top)]] * len(self.ids)
        tops = TokenizerManager.detokenize_top_logprobs_tokens(self, values, likely, True)
        made = {"output_token_logprobs": texts, "output_token_logprobs_length": end}
        return made | {"output_top_logprobs": tops} if top else made

    detokenize_logprob_tokens = TokenizerManager.detokenize_logprob_tokens

    def _decoded(self, ids: list[int], finish: dict[str, Any] | None, hides: bool) -> str:
        text: str = self.tokenizer.decode(self._trimmed(ids, finish), skip_special_tokens=hides)
        return text if finish else text.rstrip("\ufffd")  # half a character waits for the rest

    def _trimmed(self, output: Any, finish: dict[str, Any] | None) -> Any:
        """By SGLang's own detokenizer."""
        name = self.config_value("tool_call_parser")
        closers = detokenizer_manager.tool_close_token_ids(name, self.tokenizer)
        manager = SimpleNamespace(is_tool_call_parser_gpt_oss=name == "gpt-oss", tool_close_token_ids=closers)
        return detokenizer_manager.DetokenizerManager.trim_matched_stop(manager, output, finish, False)


def _pieces(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each output adds to the one before it, as SGLang returns with --incremental-streaming-output."""
    made, ids, characters = [], 0, 0
    for output in outputs:
        about, count = dict(output["meta_info"]), len(output["output_ids"])
        for name in ("output_token_logprobs", "output_top_logprobs"):  # as long as they are when SGLang makes the piece
            if name in about:
                about[name] = about[name][:count]
        _slice_streaming_output_meta_info(about, ids)
        text, new = output["text"], output["output_ids"][ids:]
        made.append({**output, "text": text[characters:], "output_ids": new, "meta_info": about})
        ids, characters = count, len(text)
    return made


class Server:
    """One model.

    kind: "stock"; "ours": our parsers; "frames": our frames, too; "pieces": our frames, with outputs that are not
    cumulative. parsers: the name of both of our parsers.
    """

    def __init__(self, directory: Path, family: str, kind: str = "ours", *, parsers: str | None = None) -> None:
        self.family = family
        os.environ["SGLANG_PLUGINS"] = "harmonystream" + ",harmonystream_frames" * (kind in ("frames", "pieces"))
        model = model_dirs.write(directory, family)
        ours = "harmonystream" if family in ("qwen3", "gpt_oss") else f"harmonystream_{self.format}"
        ours = parsers or ours
        tools, reasoning = STOCK[family] if kind == "stock" else (ours, ours)
        given = ["--model-path", str(model), "--device", "cpu", "--tool-call-parser", tools]
        given += ["--reasoning-parser", reasoning] if reasoning else []
        given += ["--incremental-streaming-output"] * (kind == "pieces")
        publish(prepare_server_args(given), role="tokenizer")
        self.manager = ScriptedManager(model)
        templates = TemplateManager()
        templates.initialize_templates(self.manager, str(model))
        self.app = http_server.app
        self.app.state.openai_serving_chat = OpenAIServingChat(self.manager, templates)
        self.app.state.openai_serving_responses = OpenAIServingResponses(self.manager, templates)
        self.app.state.anthropic_serving = AnthropicServing(self.app.state.openai_serving_chat)

    @property
    def format(self) -> str:
        return "harmony" if self.family == "gpt_oss" else SERVED[self.family].row

    @property
    def vocab(self) -> hs.Vocab:
        return self.app.state.openai_serving_chat._harmonystream._model.vocab

    def play(self, ids: list[int], *, finish: str = "stop", at_once: int = 1) -> None:
        """What the next requests are answered with."""
        self.manager.ids, self.manager.finish, self.manager.at_once = ids, finish, at_once
