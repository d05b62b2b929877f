"""Receives webhooks, and keeps the image of each task that succeeded.

    DARKROOM_WEBHOOK_SECRET=whsec_… PORT=4000 python receiver.py images

A delivery may come twice: its image is then there. One that cannot be kept is answered with 503, and comes again.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

from darkroom_client import Darkroom, DarkroomError, TaskRecord

BODY_BYTES_MAX = 1_048_576
KEEP_MS = 10_000
darkroom = Darkroom()
folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)


def keep(task: TaskRecord) -> None:
    path = folder / f"{task['task_id']}.png"
    if not path.exists():
        darkroom.images.of(task).save(path, timeout_ms=KEEP_MS)
        print(path, flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        if length > BODY_BYTES_MAX:
            return self.answer(413)
        try:
            event = darkroom.webhooks.unwrap(self.rfile.read(length), dict(self.headers))
        except DarkroomError as error:
            print(f"refused: {error}", flush=True)
            return self.answer(400)
        try:
            if event["type"] == "task.succeeded":
                keep(cast(TaskRecord, event["data"]))
        except (DarkroomError, OSError) as error:
            print(f"not kept: {error}", flush=True)
            return self.answer(503)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the lines above say what matters."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
print("listening on", server.server_port, flush=True)
server.serve_forever()
