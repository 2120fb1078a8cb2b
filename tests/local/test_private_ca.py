"""A server with a certificate of a private CA."""

import ssl
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from baton.local.server import Api, ApiError


def test_an_untrusted_certificate_names_the_setting_for_a_private_ca(tmp_path, monkeypatch):
    made = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.handle_request)
        thread.start()
        monkeypatch.setenv("BATON_URL", f"https://localhost:{server.server_port}")
        with pytest.raises(ApiError, match=r"not trusted.*BATON_CA_FILE"):
            Api(token="").request("GET", "/health")
        thread.join()
