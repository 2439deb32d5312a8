"""Prints the nginx site of an install: deploy/nginx.conf with its words filled in.

    python3 deploy/site.py --public-url https://play.example.org --ports 8001 8002 \
        --certificate /etc/ssl/play.pem --key /etc/ssl/play.key

With an https address and no certificate, TLS ends at another proxy before this one, and nginx
listens for plain HTTP.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

TEMPLATE = Path(__file__).with_name("nginx.conf")
TLS = """listen {port} ssl http2;{also}
    server_name {host};
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:playground:1m;
    ssl_session_timeout 1h;"""
PLAIN = """listen {port};{also}
    server_name {host};"""
REDIRECT = """
server {{
    listen 80;{also}
    server_name {host};
    return 301 https://$host{port}$request_uri;
}}
"""


def also(port: int, how: str = "") -> str:
    """The same port by IPv6, where the machine has it: Debian's own site takes what is left."""
    there = Path("/proc/net/if_inet6").exists()
    return f"\n    listen [::]:{port}{how};" if there else ""


def words(url: SplitResult, servers: list[str], certificate: str, key: str) -> dict[str, str]:
    tls = bool(certificate)
    host = f"[{url.hostname}]" if ":" in str(url.hostname) else url.hostname
    port = (url.port or 443) if tls else (url.port or 80) if url.scheme == "http" else 80
    listen = TLS if tls else PLAIN
    return {
        "SERVERS": "\n    ".join(f"server {each} max_fails=1 fail_timeout=2s;" for each in servers),
        "LISTEN": listen.format(
            port=port,
            also=also(port, " ssl http2" if tls else ""),
            host=host,
            certificate=certificate,
            key=key,
        ),
        "LOCATION": url.path.rstrip("/") + "/",
        "SCHEME": url.scheme,
    }


def site(
    url: SplitResult,
    ports: list[int],
    certificate: str = "",
    key: str = "",
    others: Sequence[str] = (),
) -> str:
    text = TEMPLATE.read_text(encoding="utf-8")
    servers = [f"127.0.0.1:{port}" for port in ports] + [each for each in others if each]
    for word, value in words(url, servers, certificate, key).items():
        text = text.replace(f"${{PLAYGROUND_{word}}}", value)
    if certificate:
        port = f":{url.port}" if url.port else ""
        text += REDIRECT.format(host=url.hostname, port=port, also=also(80))
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the nginx site of the playground.")
    parser.add_argument("--public-url", required=True)
    parser.add_argument("--ports", required=True, nargs="+", type=int)
    parser.add_argument("--others", default="", help="ADDRESS:PORT, with commas between")
    parser.add_argument("--certificate", default="")
    parser.add_argument("--key", default="")
    given = parser.parse_args()
    url = urlsplit(given.public_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        parser.error("--public-url must be an address such as https://play.example.org")
    if bool(given.certificate) != bool(given.key) or (given.certificate and url.scheme == "http"):
        parser.error("--certificate and --key go together, with an https address")
    others = given.others.split(",")
    sys.stdout.write(site(url, given.ports, given.certificate, given.key, others))
    return 0


if __name__ == "__main__":
    sys.exit(main())
