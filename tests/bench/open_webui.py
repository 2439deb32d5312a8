"""Open WebUI on the same streams, the way its own page uses it: chats are saved, and what is
answered comes over its socket.

`open-webui` runs from an environment of its own (several GB), with a database of its own.
"""

import asyncio
import json
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from tests.bench.streams import Measured, cpu_seconds, measured, megabytes
from tests.server import free_port

READY_SECONDS = 240
PATIENCE = 60  # seconds beyond those of the streams in which chats may end
SETTINGS = {
    "WEBUI_AUTH": "False",
    "OFFLINE_MODE": "true",
    "HF_HUB_OFFLINE": "1",
    "ENABLE_OLLAMA_API": "False",
    "OPENAI_API_KEY": "x",
}


@contextmanager
def open_webui(program: str, url: str) -> Iterator[tuple[str, int]]:
    """(its base URL, its pid)"""
    port = free_port()
    quiet = subprocess.DEVNULL
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **SETTINGS, "OPENAI_API_BASE_URL": url, "DATA_DIR": folder}
        command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=quiet, stderr=quiet
        ) as process:
            try:
                yield f"http://127.0.0.1:{port}", process.pid
            finally:
                process.terminate()


class Page:
    """One browser with one socket: engine.io's and socket.io's frames as text."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.id = ""  # of the session, for the requests
        self.lags: list[float] = []  # milliseconds
        self.firsts: dict[str, float] = {}  # {chat: milliseconds}
        self.done: set[str] = set()  # chats

    async def enter(self, token: str) -> None:
        await self.socket.recv()  # engine.io's own greeting
        await self.socket.send("40" + json.dumps({"token": token}))
        while not self.id:
            said = str(await self.socket.recv())
            if said.startswith("40"):
                self.id = json.loads(said[2:])["sid"]

    async def listen(self, chats: int) -> None:
        while len(self.done) < chats:
            said = str(await self.socket.recv())
            if said == "2":  # a ping
                await self.socket.send("3")
            elif said.startswith("42"):
                self._take(json.loads(said[2:]))

    def _take(self, event: list[Any]) -> None:
        now = time.monotonic()
        message = event[1] if len(event) > 1 and isinstance(event[1], dict) else {}
        chat = str(message.get("chat_id"))
        said = message.get("data") or {}
        data = said.get("data") or {}
        if said.get("type") == "response:completion" and isinstance(data.get("delta"), str):
            lags = [(now - float(word)) * 1000 for word in data["delta"].split()]
            self.lags += lags
            if lags:
                self.firsts.setdefault(chat, lags[0])
        if said.get("type") == "chat:completion" and data.get("done"):
            self.done.add(chat)


class Chat:
    """A question and the place of its answer, saved as the page saves them."""

    def __init__(self, prompt: str) -> None:
        self.question, self.answer, self.id = str(uuid.uuid4()), str(uuid.uuid4()), ""
        now = int(time.time())
        self.asked = {
            "id": self.question, "parentId": None, "childrenIds": [self.answer], "role": "user",
            "content": prompt, "timestamp": now, "models": ["clock"],
        }  # fmt: skip
        self.answered = {
            "id": self.answer, "parentId": self.question, "childrenIds": [], "role": "assistant",
            "content": "", "timestamp": now, "model": "clock",
        }  # fmt: skip

    async def save(self, http: httpx.AsyncClient) -> None:
        messages = {self.question: self.asked, self.answer: self.answered}
        chat = {
            "title": "bench", "models": ["clock"], "tags": [],
            "timestamp": int(time.time() * 1000),
            "history": {"messages": messages, "currentId": self.answer},
            "messages": list(messages.values()),
        }  # fmt: skip
        said = await http.post("/api/v1/chats/new", json={"chat": chat})
        self.id = said.raise_for_status().json()["id"]

    async def ask(self, http: httpx.AsyncClient, session: str) -> None:
        body = {
            "stream": True, "model": "clock", "params": {}, "features": {}, "session_id": session,
            "messages": [{"role": "user", "content": self.asked["content"]}],
            "chat_id": self.id, "id": self.answer, "parent_id": self.question,
            "user_message": self.asked, "background_tasks": {},
        }  # fmt: skip
        (await http.post("/api/chat/completions", json=body)).raise_for_status()


async def until_ready(base: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    async with httpx.AsyncClient(trust_env=False) as http:
        while time.monotonic() < deadline:
            try:
                if (await http.get(f"{base}/health")).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.5)
    raise AssertionError(f"{base} did not get ready in {READY_SECONDS} s.")


async def _use(base: str, pid: int, streams: int, rate: float, n: int) -> Measured:
    async with httpx.AsyncClient(
        base_url=base, trust_env=False, timeout=120, limits=httpx.Limits(max_connections=None)
    ) as http:
        who = {"email": "admin@localhost", "password": "admin"}
        token = (await http.post("/api/v1/auths/signin", json=who)).raise_for_status().json()
        http.headers["Authorization"] = f"Bearer {token['token']}"
        path = "/ws/socket.io/?EIO=4&transport=websocket"
        async with connect(
            base.replace("http", "ws", 1) + path, max_size=None, proxy=None
        ) as socket:
            page = Page(socket)
            await page.enter(token["token"])
            chats = [Chat(f"rate={rate} n={n}") for _ in range(streams)]
            for chat in chats:  # one after the other: its SQLite refuses many at once
                await chat.save(http)
            before = cpu_seconds(pid)
            listening = asyncio.create_task(page.listen(streams))
            asked = await asyncio.gather(
                *(chat.ask(http, page.id) for chat in chats), return_exceptions=True
            )
            await asyncio.wait([listening], timeout=n / rate + PATIENCE)
            listening.cancel()
            used = cpu_seconds(pid) - before
    wrong = streams - len(page.done) + sum(isinstance(each, Exception) for each in asked)
    firsts = list(page.firsts.values())
    return measured(streams, used, page.lags, firsts, megabytes(pid), wrong)


def use(base: str, pid: int, streams: int, rate: float, n: int) -> Measured:
    """New chats, all asked at once; `wrong` are those that did not end."""
    return asyncio.run(_use(base, pid, streams, rate, n))
