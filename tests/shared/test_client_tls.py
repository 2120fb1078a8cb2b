"""The authorities trusted by a developer's client."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from baton.shared import client_tls as module
from baton.shared.client_tls import client_tls, no_tls


def authority():
    """Return the certificate of an authority, as PEM."""
    key, name, now = Ed25519PrivateKey.generate(), x509.Name([]), datetime.now(UTC)
    certificate = x509.CertificateBuilder(
        subject_name=name,
        issuer_name=name,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=now,
        not_valid_after=now + timedelta(days=1),
    )
    certificate = certificate.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return certificate.sign(key, None).public_bytes(Encoding.PEM)


@pytest.fixture
def authorities(tmp_path, monkeypatch):
    """One authority, as the only one that the machine knows."""
    file = tmp_path / "authorities.pem"
    file.write_bytes(authority())
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    module._machine.cache_clear()
    yield
    module._machine.cache_clear()


@pytest.mark.parametrize("url", ["https://baton.example", "HTTPS://baton.example:8443/v1"])
def test_over_tls_the_authorities_of_the_machine_are_trusted(url, authorities):
    context = client_tls(url)
    assert context.cert_store_stats()["x509_ca"] == 1
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://models.internal/v1"])
def test_without_tls_no_file_is_read(url, monkeypatch):
    monkeypatch.setattr(module, "_machine", lambda: pytest.fail("the machine's authorities were read"))
    assert client_tls(url) is no_tls()
    assert no_tls().cert_store_stats()["x509"] == 0
    assert no_tls().verify_mode is ssl.CERT_REQUIRED
