"""LMDeploy's server with our parsers: `python examples/lmdeploy_server.py Qwen/Qwen3-8B`."""

import sys

from harmonystream.integrations.lmdeploy import register


def main(model: str) -> None:
    register()  # before LMDeploy makes its server
    from lmdeploy.serve.openai import api_server

    name = "harmonystream"  # the format by the model's name
    api_server.serve(model, backend="pytorch", tool_call_parser=name, reasoning_parser=name)


if __name__ == "__main__":
    main(sys.argv[1])
