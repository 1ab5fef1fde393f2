"""axe-core finds nothing on the inspector's page, at three widths, light and dark: `make accessible`.

Without Chromium or axe-core, which npm has, the test is skipped.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from browser import CHROMIUM, browsing
from gateways import ANSWER, CALL, TOOLS, gateway, script_of

AXE = Path(__file__).resolve().parents[2] / ".venv-axe" / "node_modules" / "axe-core" / "axe.min.js"
FOUND = """axe.run().then(found => found.violations.flatMap(
    one => one.nodes.map(node => [one.id, node.html.slice(0, 200)])))"""
BROKEN = "<|channel|>analysis<|message|>Cut<|start|>assistant<|channel|>final<|message|>Here<|return|>"


@pytest.mark.skipif(CHROMIUM is None or not AXE.is_file(), reason="chromium or axe-core is not installed")
@pytest.mark.parametrize("text", [ANSWER, CALL, BROKEN], ids=["answer", "call", "deviation"])
def test_axe_finds_nothing(text, tmp_path):
    async def look(url):
        found = {}
        async with browsing(tmp_path) as page:
            await page.go(f"{url}/inspect")
            await page.until("document.querySelectorAll('.t').length > 5")
            await page.value(AXE.read_text("utf-8"))
            for width in (400, 800, 1200):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                await page.call("Emulation.setDeviceMetricsOverride", **size)
                for scheme in ("light", "dark"):
                    scheme_of = [{"name": "prefers-color-scheme", "value": scheme}]
                    await page.call("Emulation.setEmulatedMedia", features=scheme_of)
                    found[width, scheme] = await page.value(FOUND)
            await page.value("document.body.insertAdjacentHTML('beforeend', '<img src=x>')")
            assert [id for id, _ in await page.value(FOUND) if id == "image-alt"] == ["image-alt"]  # it does look
        return found

    with gateway(script_of(text), app_options={"inspect": True}) as made:
        for _ in range(2):
            assert made.post("chat", stream=True, tools=TOOLS["chat"]).status_code == 200
        found = asyncio.run(look(made.url))
    assert {at: said for at, said in found.items() if said} == {}
    assert len(found) == 6
