import asyncio
import logging

import pytest

from baton.route.llm.client import MOST_BYTES, Endpoint, ModelClient, ModelFailed
from tests.support.chat_endpoint import ChatEndpoint

QUESTION = [{"role": "user", "content": "hello"}]


@pytest.fixture
async def client():
    client = ModelClient()
    yield client
    await client.close()


@pytest.fixture
async def endpoint():
    async with ChatEndpoint() as endpoint:
        yield endpoint


def ask(client, endpoint, timeout_s=5.0, **more):
    return client.chat(
        Endpoint(url=endpoint.url, model="small", key="s3cret"), QUESTION, timeout_s=timeout_s, max_tokens=8, **more
    )


async def test_the_question_and_the_answer_are_openais(client, endpoint):
    endpoint.says = "hello yourself"
    reply = await ask(client, endpoint, temperature=0.3, response_format={"type": "json_object"})
    assert (reply.text, reply.model) == ("hello yourself", "small")
    assert endpoint.paths == ["POST /v1/chat/completions"]
    assert endpoint.asked == [
        {
            "messages": QUESTION,
            "max_tokens": 8,
            "temperature": 0.3,
            "stream": True,
            "model": "small",
            "response_format": {"type": "json_object"},
        }
    ]
    assert endpoint.headers[0]["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("how", ["answers", "streams", "streams_and_stays"])
@pytest.mark.parametrize("says", ["hello", "data: [DONE]", "a\n\nb", "é👋🏽"])
async def test_an_answer_is_whole_or_streamed(client, endpoint, how, says):
    endpoint.how, endpoint.says = how, says
    assert (await ask(client, endpoint)).text == says


async def test_without_key_and_model_none_is_sent(client, endpoint):
    await client.chat(Endpoint(url=endpoint.url + "/"), QUESTION, timeout_s=5, max_tokens=8)
    assert "authorization" not in endpoint.headers[0]
    assert "model" not in endpoint.asked[0]
    assert endpoint.paths == ["POST /v1/chat/completions"]


@pytest.mark.parametrize(
    ("how", "kind"), [("hangs", "timeout"), ("hangs_after_headers", "timeout"), ("trickles", "timeout")]
)
async def test_a_slow_answer_is_cut_and_its_connection_closed(client, endpoint, how, kind):
    endpoint.how = how
    with pytest.raises(ModelFailed, match="no answer within 100 ms") as failed:
        await ask(client, endpoint, timeout_s=0.1)
    assert failed.value.kind == kind
    async with asyncio.timeout(60):
        await endpoint.given_up.wait()


async def test_an_answer_without_end_is_cut_by_its_size(client, endpoint):
    endpoint.how = "streams_for_ever"
    with pytest.raises(ModelFailed, match=f"longer than {MOST_BYTES} bytes") as failed:
        await ask(client, endpoint, timeout_s=20)
    assert failed.value.kind == "too_large"
    async with asyncio.timeout(60):
        await endpoint.given_up.wait()


@pytest.mark.parametrize(
    ("how", "kind", "status"),
    [
        ("fails", "refused", 500),
        ("refuses_the_key", "refused", 401),
        ("redirects", "refused", 302),
        ("streams_an_error", "garbage", 0),
        ("sends_html", "garbage", 0),
        ("sends_other_json", "garbage", 0),
        ("sends_no_choices", "garbage", 0),
        ("sends_null", "garbage", 0),
        ("sends_bytes", "garbage", 0),
        ("sends_deep_json", "garbage", 0),
        ("sends_gzip", "garbage", 200),
        ("sends_huge_headers", "garbage", 0),
        ("is_not_http", "garbage", 0),
        ("hangs_up", "garbage", 0),
        ("hangs_up_midway", "garbage", 0),
    ],
)
async def test_an_unusable_answer_is_a_failure_of_its_kind(client, endpoint, how, kind, status):
    endpoint.how = how
    with pytest.raises(ModelFailed) as failed:
        await ask(client, endpoint, timeout_s=20)
    assert (failed.value.kind, failed.value.status) == (kind, status)


async def test_the_next_call_is_served_after_every_failure(client, endpoint):
    for endpoint.how in ("hangs", "streams_for_ever", "hangs_up", "sends_huge_headers"):
        with pytest.raises(ModelFailed):
            await ask(client, endpoint, timeout_s=0.1)
    endpoint.how = "answers"
    assert (await ask(client, endpoint)).model == "small"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "http://", "http://[::1"])
async def test_a_refused_connection_is_a_failure(client, url):
    with pytest.raises(ModelFailed) as failed:
        await client.chat(Endpoint(url=url), QUESTION, timeout_s=20, max_tokens=8)
    assert failed.value.kind == "unreachable"


async def test_a_call_that_is_cancelled_closes_its_connection(client, endpoint):
    endpoint.how = "hangs"
    call = asyncio.create_task(ask(client, endpoint, timeout_s=60))
    async with asyncio.timeout(60):
        while not endpoint.asked:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await endpoint.given_up.wait()


@pytest.mark.parametrize(("healthy", "alive"), [(True, True), (False, False)])
async def test_health_is_the_list_of_models(client, endpoint, healthy, alive):
    endpoint.healthy = healthy
    try:
        await client.alive(Endpoint(url=endpoint.url, key="k"), 5)
    except ModelFailed:
        assert not alive
    else:
        assert alive
    assert endpoint.paths == ["GET /v1/models"]
    assert endpoint.headers[0]["authorization"] == "Bearer k"


async def test_neither_key_nor_password_is_logged_shown_or_in_an_error(client, endpoint, caplog):
    caplog.set_level(logging.DEBUG)
    secret = Endpoint(url=endpoint.url.replace("//", "//user:pa55word@"), key="s3cret")
    assert secret.shown == endpoint.url
    await client.chat(secret, QUESTION, timeout_s=5, max_tokens=8)
    endpoint.how = "fails"
    with pytest.raises(ModelFailed) as failed:
        await client.chat(secret, QUESTION, timeout_s=5, max_tokens=8)
    said = caplog.text + repr(secret) + str(failed.value) + repr(failed.value)
    assert "s3cret" not in said
    assert "pa55word" not in said
