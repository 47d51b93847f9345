import base64
import hashlib
import hmac
import time


def verify(secret: str, headers, body: bytes) -> bool:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = headers.get("X-Service-Signature", "")
    return hmac.compare_digest(given.encode(), f"sha256={digest}".encode())


def verify_standard(secret: str, headers, body: bytes) -> bool:
    event_id = headers.get("webhook-id", "")
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > 300:
        return False
    key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
    message = f"{event_id}.{sent_at}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(signature, expected) for signature in given)
