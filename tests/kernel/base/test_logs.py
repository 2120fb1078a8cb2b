import json
import logging

import pytest

from baton.kernel.base import logs

TOKEN = "baton_0123456789ab_" + "f" * 64


@pytest.fixture(params=["text", "json"])
def written(request, capsys):
    root = logging.getLogger()
    kept = root.handlers[:], root.level
    log = logging.getLogger("app.some.module")

    def write(text, *arguments, **more):
        logs.configure("info", request.param)
        log.warning(text, *arguments, **more)
        out = capsys.readouterr().err
        if request.param == "json":
            assert len(out.splitlines()) == 1
            line = json.loads(out)
            assert line["level"] == "warning"
            assert line["logger"] == "app.some.module"
            assert line["timestamp"].endswith("Z")
        return out

    yield write
    root.handlers[:], root.level = kept


def test_a_line_names_the_request_and_the_decision(written):
    logs.request_id.set("r-17")
    logs.decision_id.set("d-42")
    out = written("hook of %s failed", "codex")
    assert "hook of codex failed" in out
    assert "r-17" in out
    assert "d-42" in out


@pytest.mark.parametrize("secret", [TOKEN, "ghp_" + "a" * 36])
@pytest.mark.parametrize("text", ["Authorization: Bearer {}", "refused {}", "BATON_TOKEN={} curl"])
def test_no_secret_is_written(written, text, secret):
    assert secret not in written(text.format(secret))


def test_logged_text_forges_no_line_and_moves_no_cursor(written):
    out = written("cannot read `%s`", "x\n2026-01-01T00:00:00Z ERROR baton: all is lost\x1b[2J\x9b2J\r\u202e\u200b")
    assert not any(line.startswith("2026-01-01") for line in out.splitlines())
    assert not set(out) & {"\x1b", "\x9b", "\r", "\u202e", "\u200b"}


def test_no_secret_of_an_exception_or_a_webhook_s_address_is_written(written):
    logging.getLogger("httpx2").setLevel(logging.NOTSET)
    out = written("it failed", exc_info=ValueError(f"cannot read {TOKEN}"))
    assert "ValueError" in out
    assert TOKEN not in out
    assert not logging.getLogger("httpx2").isEnabledFor(logging.INFO)  # its lines have the whole address
