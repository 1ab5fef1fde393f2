"""What harmonystream costs, beside other parsers in the same run.

The commands, and the pages that have their figures:

- `python -m bench` (docs/benchmarks.md): the rows are in `cases`, and those beside openai-harmony in `cases.ratios`.
- `bench.rivals` (docs/benchmarks-rivals.md): parsers of vLLM and SGLang. Each side is a module `rivals.with_*`.
- `bench.outcomes` (docs/outcomes.md): which outputs they read differently. No times.
- `bench.server` (docs/servers.md): whole servers with Starlette.
- `bench.gateway`, `gateway_rivals`, `gateway_store`, `gateway_gaps` (docs/gateway.md): `harmonystream serve`.
- `bench.gateway_soak`, `gateway_several` (docs/gateway.md): what must stay true while processes are killed.
- `bench.render`, `columns`, `agent`, `vllm_plugins` (docs/prompts.md, loss-masks.md, agent.md, vllm.md).

What they share: `streams` and `families` are what parsers read, `clock` takes times, `worker` runs functions in another
process, `wire` runs engines, servers and clients, `report` prints tables, and `publish` writes them into pages.
"""

import sys
from pathlib import Path

# Helpers of the tests that benches use, too.
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
