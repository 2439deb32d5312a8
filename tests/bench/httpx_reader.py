"""The floor: what it costs to read the same streams with a bare httpx client, and nothing else.

`python -m tests.bench.httpx_reader URL STREAMS RATE N` prints one JSON object: CPU seconds, tokens
and lags in milliseconds. Its default transport, `aiter_bytes`, split, `json.loads`.
"""

import asyncio
import json
import sys
import time

import httpx


async def read(client: httpx.AsyncClient, url: str, prompt: str) -> list[float]:
    """The lag of every token of one stream, in milliseconds."""
    lags, rest = [], b""
    body = {"model": "clock", "prompt": prompt, "stream": True}
    async with client.stream("POST", f"{url}/completions", json=body) as answer:
        async for part in answer.aiter_bytes():
            *events, rest = (rest + part).split(b"\n\n")
            for each in events:
                if each == b"data: [DONE]":
                    continue
                for choice in json.loads(each.removeprefix(b"data: "))["choices"]:
                    if choice.get("text"):
                        lags.append((time.monotonic() - float(choice["text"])) * 1000)
    return lags


async def main(url: str, streams: int, rate: float, n: int) -> None:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=60, trust_env=False) as client:
        began = time.process_time()
        prompt = f"rate={rate} n={n}"
        found = await asyncio.gather(*(read(client, url, prompt) for _ in range(streams)))
        cpu = time.process_time() - began
    lags = [lag for each in found for lag in each]
    firsts = [each[0] for each in found if each]
    print(json.dumps({"cpu": cpu, "tokens": len(lags), "lags": lags, "firsts": firsts}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
