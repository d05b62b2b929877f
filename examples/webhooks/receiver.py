"""Receives Darkroom's webhooks and prints each event once. See README.md."""

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
TOLERANCE_SECONDS = 5 * 60
BODY_BYTES_MAX = 1024 * 1024
# In production: a unique column in your database.
seen = set()


def verify(body: bytes, headers) -> dict:
    """Returns the event. Raises ValueError for a forged or an old delivery."""
    delivery_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        raise ValueError("the timestamp is too old or too new")
    signed = delivery_id.encode() + b"." + timestamp.encode() + b"." + body
    expected = hmac.new(SECRET, signed, hashlib.sha256).digest()
    # While a secret is replaced there are two signatures. One must be right.
    for signature in headers.get("webhook-signature", "").split(" "):
        version, _, encoded = signature.partition(",")
        if version != "v1":
            continue
        try:
            given = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            continue
        if hmac.compare_digest(given, expected):
            return json.loads(body)
    raise ValueError("no signature is right")


def handle(event: dict) -> None:
    """Handles one event. Answer first, and do long work afterwards."""
    print(event["type"], event["data"].get("task_id", ""), flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        try:
            if length > BODY_BYTES_MAX:
                raise ValueError("the body is too large")
            event = verify(self.rfile.read(length), self.headers)
        except ValueError as error:
            print(f"refused: {error}", flush=True)
            self.answer(400)
            return
        delivery_id = self.headers["webhook-id"]
        if delivery_id not in seen:
            seen.add(delivery_id)
            handle(event)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_arguments) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver)
print("listening on", server.server_port, flush=True)
server.serve_forever()
