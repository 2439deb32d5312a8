"""A backend for measuring: every token is the time at which it was sent.

`python -m tests.bench.clock` prints its base URL. Rate and number of tokens come from the prompt,
as in `rate=50 n=200`, and with `wait=0.5` how many seconds pass before the first; the text of a
token is `time.monotonic()` in seconds and a blank, so that a reader on the same machine can
subtract. It knows completions and chat, streamed, and the list of models.
"""

import asyncio
import json
import re
import time

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n"


def event(choices: list[dict[str, object]], **more: object) -> bytes:
    """One event in one chunk of HTTP."""
    fields = {"id": "clock", "object": "text_completion", "created": 1, "model": "clock"}
    data = b"data: " + json.dumps({**fields, "choices": choices, **more}).encode() + b"\n\n"
    return chunk(data)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def choice(text: str, finish: str | None, chat: bool) -> dict[str, object]:
    said: dict[str, object] = {"delta": {"content": text}} if chat else {"text": text}
    return {"index": 0, **said, "logprobs": None, "finish_reason": finish}


async def stream(
    writer: asyncio.StreamWriter, rate: float, n: int, wait: float, chat: bool
) -> None:
    writer.write(HEAD % b"text/event-stream" + b"transfer-encoding: chunked\r\n\r\n")
    await asyncio.sleep(wait)
    began = time.monotonic()
    for index in range(n):
        if writer.is_closing():  # the run was stopped
            return
        early = began + index / rate - time.monotonic()
        if early > 0:
            await asyncio.sleep(early)
        text = f"{time.monotonic():.6f} "
        writer.write(event([choice(text, None, chat)]))
    usage = {"prompt_tokens": 2, "completion_tokens": n, "total_tokens": n + 2}
    writer.write(event([choice("", "stop", chat)]))
    writer.write(event([], usage=usage) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    await writer.drain()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            asked_for = head.partition(b"\r\n")[0]
            if b"/completions" in asked_for:
                asked = dict(re.findall(r"\b(rate|n|wait)=([\d.]+)", body.decode()))
                rate, n = float(asked.get("rate", 50)), int(asked.get("n", 200))
                chat = b"/chat/" in asked_for
                await stream(writer, rate, n, float(asked.get("wait", 0)), chat)
            else:
                known = json.dumps({"object": "list", "data": [{"id": "clock", "object": "model"}]})
                sized = b"content-length: %d\r\n\r\n%s" % (len(known), known.encode())
                writer.write(HEAD % b"application/json" + sized)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=2048)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
