"""Uploads a recording, waits for it, verifies its webhook and reads typed events, with the generated client alone.

Usage: program.py BASE_URL AUDIO_FILE, with the variables API_KEY and API_SECRET.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import queue
import sys
import threading
import time
from typing import Dict, Tuple

from voice_notes import ApiError, VoiceNotes, WebhookBody

SECRET = "a-secret-of-at-least-16-characters"
WAIT_SECONDS = 120

received: "queue.Queue[Tuple[Dict[str, str], bytes]]" = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.put(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def is_signed(headers: Dict[str, str], body: bytes) -> bool:
    """https://www.standardwebhooks.com"""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(SECRET.encode(), content, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(given, f"v1,{digest}") for given in headers["webhook-signature"].split())


def main(base_url: str, path: str) -> None:
    client = VoiceNotes(base_url, os.environ["API_KEY"], os.environ["API_SECRET"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client.webhooks_create(
        body={"url": f"http://127.0.0.1:{server.server_port}/", "events": ["recording.transcribed"], "secret": SECRET}
    )

    with open(path, "rb") as file:
        recording = client.recordings_upload(file.read(), "note.wav", language="english", custom_tags='{"ticket":"T-1"}')
    deadline = time.monotonic() + WAIT_SECONDS
    status = "processing"
    while status == "processing" and time.monotonic() < deadline:
        time.sleep(0.2)
        status = client.recordings_get(recording["id"])["status"]
    text = client.transcriptions_get(recording["id"])["text"]

    headers, body = received.get(timeout=WAIT_SECONDS)
    event: WebhookBody = json.loads(body)
    seconds = event["recording"]["duration"] if event["event"] == "recording.transcribed" else None

    kinds = []
    for stored in client.event_feed_list(after="0")["events"]:
        content = stored["body"]
        if content["event"] == "recording.accepted" or content["event"] == "recording.transcribed":
            kinds.append(f"{content['event']} {content['recording']['status']}")

    try:
        client.recordings_get("no-id")
        refusal = 0
    except ApiError as error:
        refusal = error.status

    print(json.dumps({
        "id": recording["id"],
        "status": status,
        "text": text,
        "signed": is_signed(headers, body),
        "forged": is_signed(headers, body + b" "),
        "event": event["event"],
        "seconds": seconds,
        "kinds": kinds,
        "refusal": refusal,
        "types": [kind["name"] for kind in client.event_types_list()["event_types"]],
    }))
    server.shutdown()


main(*sys.argv[1:])
