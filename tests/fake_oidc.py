"""A small OpenID Connect provider over real HTTP: discovery, authorize, token, userinfo, keys.

It checks what a real one checks: client, secret, redirect address, PKCE, that a code works once.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "playground", "a-secret-of-the-client"


class FakeOidc:
    """`person` is who signs in next: {sub, email, email_verified, preferred_username, …}."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {"sub": "1"}
        self.denies = False
        self.token_changes: dict[str, Any] = {}  # of the ID token
        self.userinfo_changes: dict[str, Any] = {}
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.signing_key = self.key
        self.codes: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.queries: list[dict[str, str]] = []  # of the addresses that browsers were sent to
        self.tokens: list[dict[str, Any]] = []  # what the ID tokens said
        handler = type("Handler", (Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert query["client_id"] == CLIENT
        assert query["response_type"] == "code"
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        self.queries.append(query)
        back = {"state": query["state"]}
        if self.denies:
            back["error"] = "access_denied"
        else:
            back["code"] = secrets.token_urlsafe(16)
            self.codes[back["code"]] = {**query, "person": self.person}
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        right = (
            asked is not None
            and form.get("client_secret") == SECRET
            and form.get("redirect_uri") == asked["redirect_uri"]
            and challenge == asked["code_challenge"]
        )
        if not right or asked is None:
            return 400, {"error": "invalid_grant"}
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "exp": int(time.time()) + 60,
            "iat": int(time.time()),
            **({"nonce": asked["nonce"]} if "nonce" in asked else {}),
            **asked["person"],
            **self.token_changes,
        }
        self.tokens.append(claims)
        signed = jwt.encode(claims, self.signing_key, algorithm="RS256", headers={"kid": "k1"})
        access = json.dumps(asked["person"])
        return 200, {
            "access_token": base64.urlsafe_b64encode(access.encode()).decode(),
            "token_type": "Bearer",
            "id_token": signed,
        }

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "k1", "alg": "RS256", "use": "sig"}]}


class Handler(BaseHTTPRequestHandler):
    provider: FakeOidc

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.provider.asked.append(parts.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/.well-known/openid-configuration":
            self.say(200, self.provider.discovery())
        elif parts.path == "/authorize":
            self.send_response(302)
            self.send_header("Location", self.provider.authorize(query))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif parts.path == "/userinfo":
            bearer = self.headers["Authorization"].removeprefix("Bearer ")
            person = json.loads(base64.urlsafe_b64decode(unquote(bearer)))
            self.say(200, {**person, **self.provider.userinfo_changes})
        elif parts.path == "/keys":
            self.say(200, self.provider.keys())
        else:
            self.say(404, {})

    def do_POST(self) -> None:
        self.provider.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self.say(*self.provider.token(form))

    def say(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
