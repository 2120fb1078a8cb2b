"""A real endpoint that shortens lines: its answer, its silence, and its switches."""

import pytest

LINES = "- Edited: `a.py` (2 times); `b.py`"


async def test_the_model_s_words_come_back_with_its_name(endpoint, process):
    endpoint.says = "- `a.py`, `b.py`"
    server = process(enable_local_enrichment=True)
    assert await server.models.summary.shorten(LINES, 5) == ("- `a.py`, `b.py`", "small")
    assert endpoint.asked[0]["messages"][1]["content"] == LINES


@pytest.mark.parametrize("how", ["hangs", "garbage"])
async def test_a_model_that_gives_nothing_is_counted_and_left(endpoint, process, how):
    endpoint.how = how
    server = process(enable_local_enrichment=True)
    assert await server.models.summary.shorten(LINES, 0.05) is None
    await server.settle()
    assert server.breaker("summary").status().failed == 1


async def test_no_time_is_no_call(endpoint, process):
    server = process(enable_local_enrichment=True)
    assert await server.models.summary.shorten(LINES, 0) is None
    assert endpoint.asked == []


@pytest.mark.parametrize(
    "settings", [{"enable_local_enrichment": False}, {"enable_local_inference_pipeline": False}, {"model_url": ""}]
)
async def test_without_both_flags_and_an_endpoint_there_is_no_model(process, settings):
    assert process(**{"enable_local_enrichment": True} | settings).models.summary is None
