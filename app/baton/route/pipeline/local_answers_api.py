"""`/delegation`: the gates of local answers without a model, each alone."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel, Shown, request_body
from baton.lib.router.local_answers import AnswerQuality, Classification
from baton.people.callers import CallerOf
from baton.route.pipeline.models import Models

router = APIRouter(prefix="/delegation", tags=["delegation"])
ModelsOf = Annotated[Models, Depends(of(Models))]

_ANSWER = "def test_parse_reads_a_number():\n    assert parse('1') == 1\n    assert parse('0') == 0\n    assert parse('') is None\n"


class ClassifyBody(BaseModel):
    """A prompt."""

    model_config = request_body({"prompt": "Write a docstring for: def parse(text): return int(text)"})

    prompt: str = Field(max_length=1_000_000)


class QualityBody(BaseModel):
    """A local model's answer to a prompt of this intent."""

    model_config = request_body({"intent": "test", "answer": _ANSWER})

    intent: Literal["document", "test", "research"]
    answer: str = Field(max_length=1_000_000)


@router.post("/classify")
async def classify_prompt(caller: CallerOf, models: ModelsOf, body: ClassifyBody) -> Shown[Classification]:
    """Show a prompt's kind of task, and whether a local model would be asked to answer it."""
    return models.local_answers.classify(caller.principal, body.prompt)


@router.post("/quality-gate")
async def judge_answer(
    caller: CallerOf, models: ModelsOf, body: QualityBody
) -> Annotated[AnswerQuality, ApiModel("QualityModel")]:
    """Judge an answer by its length, a refusal at its start, and the required content for its intent."""
    return models.local_answers.judge(caller.principal, body.intent, body.answer)
