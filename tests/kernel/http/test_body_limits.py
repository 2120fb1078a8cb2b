"""The maximum size of a body, to the byte, on the administrative routes."""

from tests.support.cases import every

MIB = 1 << 20


def chunks(size):
    """A body that does not say its length."""
    yield from (b"x" * min(65_536, size - at) for at in range(0, size, 65_536))


@every("streamed", [False, True], ids=["with its length", "streamed"])
@every(
    ("method", "path", "limit"),
    [("PUT", "/mode", MIB), ("POST", "/policies/validate", MIB), ("PUT", "/rosters/large", 16 * MIB)],
)
def test_a_body_is_refused_from_the_first_byte_above_its_limit(http, method, path, limit, streamed):
    for size, code in ((limit, "bad_json"), (limit + 1, "body_too_large")):
        response = http.request(method, path, content=chunks(size) if streamed else b"x" * size)
        assert response.json()["code"] == code, size
        assert f"{limit // MIB} MiB" in response.json()["detail"] or code == "bad_json"
