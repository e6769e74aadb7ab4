"""Health: ends with 0 if the service of this container can serve; it needs no curl."""

import http.client
import os
import sys


def main() -> int:
    """Ask the service itself, on loopback."""
    port = int(os.environ.get("SCREENER_PORT", "8000"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status != http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return 1


if __name__ == "__main__":
    sys.exit(main())
