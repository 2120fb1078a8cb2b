"""`POST /terminal-codes`: a person is proven by a code on the server's own terminal, where it has no socket for people."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Response
from pydantic import BaseModel, Field

from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Conflict
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.people.terminal_codes import TerminalCodes

router = APIRouter(tags=["tokens"])
TerminalCodesOf = Annotated[TerminalCodes, Depends(of(TerminalCodes))]


class AskedCodeModel(BaseModel):
    """A code was shown on the server's terminal."""

    id: str = Field(description="Names the code that was shown, which this answer does not hold.")


class ProofModel(BaseModel):
    """What to send as `Baton-Person` for the rest of the ten minutes."""

    proof: str


@router.post("/terminal-codes", operation_id="ask_terminal_code", status_code=201, dependencies=[ADMIN])
async def ask_terminal_code(caller: CallerOf, codes: TerminalCodesOf) -> AskedCodeModel:
    """Show a code on the server's own terminal; 403 where it proves people in another way."""
    _refuse_a_person(caller)
    return AskedCodeModel(id=codes.ask())


@router.post("/terminal-codes/{code_id}", operation_id="type_terminal_code", dependencies=[ADMIN])
async def type_terminal_code(
    caller: CallerOf,
    codes: TerminalCodesOf,
    response: Response,
    code_id: Annotated[str, Path(max_length=64)],
    baton_person_code: Annotated[str, Header(max_length=20, description="The code as the person has typed it.")] = "",
) -> ProofModel:
    """Take the code that a person has typed; it is good once, for ten minutes and five attempts."""
    _refuse_a_person(caller)
    response.headers["Cache-Control"] = "no-store"
    return ProofModel(proof=codes.prove(code_id, baton_person_code.strip()))


def _refuse_a_person(caller: Caller) -> None:
    if not caller.principal.agent:
        raise Conflict("this request is a person's already; it needs no code")
