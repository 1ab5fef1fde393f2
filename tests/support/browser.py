"""A real headless Chromium, driven as its own developer tools drive it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Page:
    """A tab. errors: what its scripts have raised."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._last, self._session = socket, 0, ""
        self.errors: list[str] = []

    async def open(self) -> None:
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        found = await self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        await self.call("Page.enable")
        await self.call("Runtime.enable")

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        session = {"sessionId": self._session} if self._session else {}
        await self._socket.send_json({"id": self._last, "method": method, "params": params, **session})
        while True:
            said = await self._socket.receive_json(timeout=30)
            if said.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(said["params"]["exceptionDetails"]))
            if said.get("id") == self._last:
                assert "error" not in said, said
                return dict(said["result"])

    async def go(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        await self.until(
            f"document.readyState == 'complete' && location.href.startsWith({json.dumps(url.partition('#')[0])})"
        )

    async def value(self, script: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, script: str) -> Any:
        """The first value that is true. Until then there may be nothing that the script reads."""
        careful = f"(() => {{ try {{ return {script} }} catch {{ return null }} }})()"
        for _ in range(300):
            if found := await self.value(careful):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"{script}: {found}")

    async def press(self, key: str, code: int) -> None:
        """code: Windows' one of the key."""
        text = {"Enter": "\r", " ": " "}.get(key)
        also = {"text": text} if text else {}
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **also)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)


@asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[Page]:
    """A tab of a Chromium with a fresh profile in the folder."""
    assert CHROMIUM
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--hide-scrollbars")
    profile = f"--user-data-dir={folder}/profile"
    process = await asyncio.create_subprocess_exec(CHROMIUM, *options, profile, stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr
        address = ""
        async for line in process.stderr:
            if found := re.search(r"DevTools listening on (ws://\S+)", line.decode(errors="replace")):
                address = found[1]
                break
        async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=1 << 28) as socket:
            page = Page(socket)
            await page.open()
            yield page
    finally:
        process.terminate()
        await process.wait()
