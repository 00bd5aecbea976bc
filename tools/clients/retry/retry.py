import random
import time
import uuid

import httpx


class RetryingTransport(httpx.HTTPTransport):
    """Sends a request up to 8 times, until the response is final.

    A POST gets an Idempotency-Key, the same for each attempt, so that it creates only once.
    """

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            request.headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        for attempt in range(1, 9):
            seconds = 2**attempt / 10
            try:
                response = super().handle_request(request)
                # Fails if the connection closes before the end of the body.
                response.read()
                retry_after = response.headers.get("Retry-After", "")
                status = response.status_code
                is_final = not retry_after and status not in (408, 429, 500, 503)
                if is_final or attempt == 8:
                    break
                seconds = max(seconds, int(retry_after) if retry_after.isdecimal() else 0)
            except httpx.TransportError:
                if attempt == 8:
                    raise
            time.sleep(seconds * random.uniform(1, 1.5))
        return response
