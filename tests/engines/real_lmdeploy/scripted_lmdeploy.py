"""LMDeploy's own application in this process, with a script in place of the engine.

Its routes, requests, templates, grammars, sessions and detokenizer are LMDeploy's. What is not: the engine that is
asked for ids.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import model_dirs
from families import SERVED
from fastapi import FastAPI
from lmdeploy.messages import EngineOutput, PytorchEngineConfig, ResponseType
from lmdeploy.serve.anthropic.router import create_anthropic_router
from lmdeploy.serve.core.async_engine import AsyncEngine
from lmdeploy.serve.openai.api_server import ServerContext, set_parsers
from lmdeploy.serve.openai.endpoints.router import create_openai_router
from lmdeploy.serve.openai.responses.serving import create_responses_router

import harmonystream as hs
from harmonystream.integrations.lmdeploy import register


class Script:
    """What LMDeploy asks of an engine, and of an instance of one."""

    def __init__(self, config: Any) -> None:
        self.engine_config = config
        self.ids: list[int] = []
        self.at_once, self.finish = 1, "stop"
        self.asked: list[int] = []
        self.config: Any = None

    def create_instance(self) -> Script:
        return self

    async def async_cancel(self, session: int) -> None: ...

    async def async_stream_infer(
        self, session: int, *, input_ids: list[int], gen_config: Any, **_: Any
    ) -> AsyncIterator[Any]:
        self.asked, self.config = list(input_ids), gen_config
        if self.finish == "length":
            gen_config.max_new_tokens = len(self.ids)
        for at in range(0, len(self.ids), self.at_once):
            yield EngineOutput(ResponseType.SUCCESS, self.ids[at : at + self.at_once])
        last = self.ids[-1:] if self.finish == "stop" else []
        yield EngineOutput(ResponseType.INTERNAL_ENGINE_ERROR if self.finish == "error" else ResponseType.FINISH, last)


class ScriptedEngine(AsyncEngine):  # type: ignore[misc]
    def _build_pytorch(self, model_path: str, backend_config: Any = None, **_: Any) -> Script:
        return Script(backend_config)


STOCK = {  # LMDeploy's own parsers of calls and of reasoning; gpt-oss has its own by its architecture
    "qwen3": ("qwen3", "default"),
    "qwen3_coder": ("qwen3coder", "default"),
    "kimi_k2": ("kimi_k2", "default"),
    "glm45": ("glm47", "default"),
    "gpt_oss": (None, None),
}


class Server:
    """One model. kind: "ours"; "stock": LMDeploy's parsers, which a process has until it has made one of ours.
    parsers: the name of both of our parsers.
    """

    def __init__(self, directory: Path, family: str, kind: str = "ours", *, parsers: str | None = None) -> None:
        self.family = family
        config = PytorchEngineConfig(session_len=32768, max_batch_size=8)
        engine = ScriptedEngine(
            str(model_dirs.write(directory, family)), "tiny", backend="pytorch", backend_config=config
        )
        self.engine = engine
        self.script: Script = engine.engine
        context = ServerContext()
        context.async_engine = engine
        ours = "harmonystream" if family in ("qwen3", "gpt_oss") else f"harmonystream_{self.format}"
        ours = parsers or ours
        tools, reasoning = STOCK[family] if kind == "stock" else (ours, ours)
        if kind == "ours":
            register()
        set_parsers(context, reasoning, tools)
        self._parser_class = context.response_parser_cls
        self.app = FastAPI()
        for router in (create_openai_router, create_anthropic_router, create_responses_router):
            self.app.include_router(router(context))

    @property
    def format(self) -> str:
        return "harmony" if self.family == "gpt_oss" else SERVED[self.family].row

    @property
    def vocab(self) -> hs.Vocab:
        """Ours, of a server with our parsers."""
        found: hs.Vocab = self._parser_class.model.vocab
        return found

    @property
    def stops(self) -> list[int]:
        """The ids at which LMDeploy stops the model."""
        found: list[int] = self.engine._determine_gen_config([0]).stop_token_ids
        return found

    def play(self, ids: list[int], *, finish: str = "stop", at_once: int = 1) -> None:
        """What the next requests are answered with: the ids up to the first at which LMDeploy stops the model. If it is
        to stop and there is none, the first of them is appended."""
        stops = self.stops
        end = next((at for at, tid in enumerate(ids, 1) if tid in stops), None)
        self.script.ids = ids[:end] + [stops[0]] * (finish == "stop" and end is None)
        self.script.finish, self.script.at_once = finish, at_once
