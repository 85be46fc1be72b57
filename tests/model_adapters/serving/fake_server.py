"""A server on loopback that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(text: str = "42", prompt_tokens: int = 7, output_tokens: int = 3) -> dict:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": output_tokens}
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}


class FakeServer:
    """`reply(number, body)` gives (status, JSON) or None to break the connection; a float waits so long first."""

    def __init__(self, reply: Callable[[int, dict], object]) -> None:
        self.reply = reply
        self.bodies: list[dict] = []
        self.most_open = 0
        self._open = 0
        self._lock = threading.Lock()

    @contextmanager
    def entered(self, body: dict) -> Iterator[int]:
        with self._lock:
            self.bodies.append(body)
            number = len(self.bodies) - 1
            self._open += 1
            self.most_open = max(self.most_open, self._open)
        try:
            yield number
        finally:
            with self._lock:
                self._open -= 1


@contextmanager
def running(reply: Callable[[int, dict], object]) -> Iterator[tuple[str, FakeServer]]:
    fake = FakeServer(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, {"data": [{"id": "nano"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with fake.entered(body) as number:
                result = fake.reply(number, body)
                if isinstance(result, float):
                    time.sleep(result)
                    result = (200, answer())
                if result is None:
                    self.close_connection = True
                    return
                status, content = result
                if body.get("stream") and status == 200:
                    self._stream(content)
                else:
                    self._send(status, content)

        def _stream(self, content: dict) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for letter in content["choices"][0]["message"]["content"]:
                self._event({"choices": [{"delta": {"content": letter}}]})
            if not content.get("breaks"):
                self._event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
                self._event({"choices": [], "usage": content["usage"]})
            self.close_connection = True

        def _event(self, event: dict) -> None:
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")

        def _send(self, status: int, content: dict) -> None:
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", fake
    finally:
        server.shutdown()
        server.server_close()
