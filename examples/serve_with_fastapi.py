"""One fitted model behind FastAPI: 16 clients at once, and how long they wait.

A model is fitted once and shared by all requests: its methods do not change it. One row takes a tenth of a millisecond, so most
of what a client waits for is the web framework. At most `AT_ONCE` threads score rows, and a request that finds `WAITING` others
is refused (status 503), so that a burst makes nobody wait for long.

The clients talk to the application in this process; with a server it is `uvicorn serve_with_fastapi:app`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import numpy as np
import pandas as pd
from fastapi import FastAPI, HTTPException
from fastapi.concurrency import run_in_threadpool

import gramian as gm

CLIENTS, REQUESTS = 16, 20
AT_ONCE, WAITING = 4, 64

rng = np.random.default_rng(0)
n = 3000
payments = pd.DataFrame({
    "country": rng.choice(["de", "fr", "it"], n, p=[0.6, 0.3, 0.1]),
    "shop": rng.choice([f"shop {k}" for k in range(200)], n),
    "amount": np.exp(rng.normal(3, 1, n)),
})  # fmt: skip
model = gm.DensityEmbedding().fit(payments)

app = FastAPI()
places = asyncio.Semaphore(AT_ONCE)
waiting = 0


@app.post("/score")
async def score(row: dict[str, Any]) -> dict[str, float]:
    """Return how odd a payment is."""
    global waiting
    if waiting >= WAITING:
        raise HTTPException(503, "busy; try again")
    waiting += 1
    try:
        async with places:
            scores = await run_in_threadpool(model.anomaly_score, row)
            return {"anomaly_score": float(scores[0])}
    except gm.errors.GramianError as error:
        # One line that names the column and the value.
        raise HTTPException(422, str(error)) from None
    finally:
        waiting -= 1


async def client(http: httpx.AsyncClient, rows: list[dict[str, Any]]) -> list[float]:
    """Send rows one after the other, and return how long each took."""
    times = []
    for row in rows:
        start = time.perf_counter()
        answer = await http.post("/score", json=row)
        answer.raise_for_status()
        times.append(time.perf_counter() - start)
    return times


async def load() -> list[float]:
    """Return the latencies of all clients."""
    rows = payments.head(REQUESTS).to_dict("records")
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        wrong = await http.post("/score", json={**rows[0], "amount": "a lot"})
        print(f"a wrong row: {wrong.status_code}, {wrong.json()['detail']}")
        return [each for part in await asyncio.gather(*(client(http, rows) for _ in range(CLIENTS))) for each in part]


latencies = np.array(asyncio.run(load())) * 1e3
print(f"{len(latencies)} requests of {CLIENTS} clients at once")
print("latency in ms: " + ", ".join(f"{q}% {np.percentile(latencies, q):.1f}" for q in (50, 95, 99)))
