"""`specchat serve` as a process, and a client of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai

from tests.tui.shell.program import Started, started

FEW = ("--threads", "1", "--ctx", "512", "--port", "0", "--mode", "ars")


@contextmanager
def serving(*arguments: object, **options) -> Iterator[tuple[Started, str]]:
    with started("serve", *FEW, *arguments, **options) as process:
        yield process, process.stdout.readline().strip()


def complete(url: str, model: str, key: str = "none") -> Any:
    client = openai.OpenAI(base_url=url, api_key=key, max_retries=0)
    hello: Any = [{"role": "user", "content": "Hello"}]
    return client.chat.completions.create(model=model, messages=hello, max_tokens=5)


def head(size: int) -> str:
    fields = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {size}"
    return f"POST /v1/chat/completions HTTP/1.1\r\n{fields}\r\n\r\n"
