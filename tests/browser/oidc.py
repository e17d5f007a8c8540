"""A stand-in of an OpenID Connect provider on this machine: discovery, authorize, token, keys, end.

It signs in at once whoever `claims` speaks of, by the authorization code flow.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "entail-test"
SECRET = "a-client-secret-of-the-stand-in"


class Provider:
    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "1", "name": "Ada Lovelace", "email": "ada@uni.example"}
        self.key = RSAKey.generate_key(2048, parameters={"kid": "one", "use": "sig", "alg": "RS256"})
        self.codes: dict[str, dict[str, str]] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.post(self)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def secrets(self) -> str:
        """Return what stands in an app's secrets.toml."""
        return (
            f'[auth]\nredirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"\n'
            f'cookie_secret = "{secrets.token_hex(16)}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{self.url}/.well-known/openid-configuration"\n'
        )

    def get(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        match url.path:
            case "/.well-known/openid-configuration":
                ends = {
                    "authorization_endpoint": "authorize",
                    "token_endpoint": "token",
                    "jwks_uri": "keys",
                    "end_session_endpoint": "end",
                }
                supported = {
                    "response_types_supported": ["code"],
                    "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["RS256"],
                }
                urls = {name: f"{self.url}/{path}" for name, path in ends.items()}
                self.reply(request, {"issuer": self.url, **urls, **supported})
            case "/keys":
                self.reply(request, {"keys": [self.key.as_dict(private=False)]})
            case "/authorize":
                assert parameters["client_id"] == CLIENT
                assert parameters["response_type"] == "code"
                assert "openid" in parameters["scope"]
                code = secrets.token_urlsafe()
                self.codes[code] = parameters
                self.go(
                    request,
                    f"{parameters['redirect_uri']}?{urlencode({'code': code, 'state': parameters['state']})}",
                )
            case "/end":
                self.go(request, parameters["post_logout_redirect_uri"])
            case _:
                request.send_error(404)

    def post(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        basic = base64.b64decode(request.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        began = self.codes.pop(form["code"])
        assert basic in ("", f"{CLIENT}:{SECRET}")
        assert began["redirect_uri"] == form["redirect_uri"]
        if "code_challenge" in began:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == began["code_challenge"]
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 3600, "nonce": began["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": "one"}, {**claims, **self.claims}, self.key)
        self.reply(
            request, {"access_token": "x", "token_type": "Bearer", "expires_in": 3600, "id_token": token}
        )

    @staticmethod
    def reply(request: BaseHTTPRequestHandler, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    @staticmethod
    def go(request: BaseHTTPRequestHandler, url: str) -> None:
        request.send_response(302)
        request.send_header("Location", url)
        request.send_header("Content-Length", "0")
        request.end_headers()
