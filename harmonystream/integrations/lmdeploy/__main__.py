"""LMDeploy's command line with our parsers: `python -m harmonystream.integrations.lmdeploy serve api_server ...`."""

from . import register

if __name__ == "__main__":
    register()
    from lmdeploy.cli.entrypoint import run

    run()
