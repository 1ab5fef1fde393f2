"""`Completions` beside vLLM's and SGLang's own models: they read its requests, and it reads their chunks.

The models are those of the wheels in a directory (`make check-engines` downloads them). No engine runs: what its
modules import and cannot have is replaced by placeholders (without_torch.py).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests" / "support")]

from prompts import IDS, TEXT  # noqa: E402
from upstream import DONE, Upstream, serving  # noqa: E402
from without_torch import Placeholders  # noqa: E402

from harmonystream.engines import Completions, Finished, Sampling  # noqa: E402

ANSWER = [200005, 17196, 200008, 12194, 200002]
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
ALL = Sampling(
    **{"max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "seed": 7},
    **{"presence_penalty": 0.25, "frequency_penalty": 0.5, "repetition_penalty": 1.5},
)
SAMPLINGS = (Sampling(), ALL, replace(ALL, stop=("\n", "END")))


def requests(server: str) -> Iterator[dict[str, Any]]:
    """Every kind of request that is made of this server."""
    for prompt, sampling in product((IDS, TEXT, replace(TEXT, stop_ids=IDS.stop_ids)), SAMPLINGS):
        yield Completions("http://localhost", "m", server=server)._request(prompt, sampling)


def check_request(body: dict[str, Any], model: Any) -> None:
    """The model knows every field and keeps its value."""
    if unknown := body.keys() - model.model_fields.keys():
        raise AssertionError(f"{model.__module__} does not know {sorted(unknown)}")
    read = model.model_validate(body)
    for name, sent in body.items():
        value = getattr(read, name)
        if name == "stream_options":
            value = {key: getattr(value, key) for key in sent}
        assert value == sent, (name, sent, value)


def check_vllm_sampling(body: dict[str, Any], model: Any) -> None:
    """What vLLM's sampler is told is what was asked for."""
    told = model.model_validate(body).to_sampling_params(body["max_tokens"], {})
    names = ("top_p", "top_k", "min_p", "seed", "stop_token_ids", "stop", "skip_special_tokens", "max_tokens")
    for name in (*names, "temperature", "presence_penalty", "frequency_penalty", "repetition_penalty"):
        if name in body:
            assert getattr(told, name) == body[name], (name, body[name], getattr(told, name))


def chunks(module: Any, stop: dict[str, Any]) -> list[dict[str, Any]]:
    """A stream of the engine's own models: ids, the end, the usage."""

    def chunk(choices: list[Any], usage: Any = None) -> dict[str, Any]:
        made = module.CompletionStreamResponse(id="cmpl-1", model="m", choices=choices, usage=usage)
        return made.model_dump(mode="json")  # type: ignore[no-any-return]

    choice = module.CompletionResponseStreamChoice
    first = choice(index=0, text="", token_ids=ANSWER[:2], prompt_token_ids=IDS.ids)
    last = choice(index=0, text="", token_ids=ANSWER[2:], finish_reason="stop", **stop)
    return [chunk([first]), chunk([last]), chunk([], module.UsageInfo(**USAGE))]


async def read(script: list[Any], server: str) -> list[Any]:
    async with serving(Upstream([*script, DONE])) as url:
        return [item async for item in Completions(url, "m", server=server).generate(IDS, Sampling())]


def check(module: Any, server: str, stop: dict[str, Any]) -> int:
    """The number of requests that were read."""
    model = module.CompletionRequest
    bodies = list(requests(server))
    for body in bodies:
        check_request(body, model)
        if server == "vllm":
            check_vllm_sampling(body, model)
    *items, end = asyncio.run(read(chunks(module, stop), server))
    assert [tid for ids in items for tid in ids] == ANSWER, items
    assert isinstance(end, Finished) and end.reason == "stop" and end.stop is None, end
    assert {key: (end.usage or {})[key] for key in USAGE} == USAGE, end
    return len(bodies)


def unpack(wheels: Path, name: str, into: Path) -> str:
    """The Python files of a wheel, on the path; its version."""
    (wheel,) = wheels.glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into, [file for file in archive.namelist() if file.endswith(".py")])
    sys.path.insert(0, str(into))
    return wheel.name.split("-")[1]


def main(wheels: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, own in (("vllm", ()), ("sglang", ("sglang.srt.utils.hf_transformers_patches",))):
            version = unpack(wheels, name, Path(folder, name))
            with Placeholders(name, own):
                if name == "vllm":
                    import vllm.entrypoints.openai.completion.protocol as module
                else:
                    import sglang.srt.entrypoints.openai.protocol as module
                stop = {"stop_reason": 200002} if name == "vllm" else {"matched_stop": 200002}
                count = check(module, name, stop)
            print(f"{name} {version}: its models read {count} requests, and Completions read its chunks")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
