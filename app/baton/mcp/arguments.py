"""The arguments that say how a job is to be run, the same in every tool that makes one. The server checks them."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from baton.local.delegated import is_delegated

Tool = Callable[..., Awaitable[Any]]
T = TypeVar("T", bound=Tool)
_ARGUMENTS: dict[str, Any] = {
    "workspace": Annotated[
        str | None, Field(description="The alias of a workspace of the person's runner; its first one if absent.")
    ],
    "isolation": Annotated[
        Literal["in_place", "worktree"] | None,
        Field(description="`worktree` works on a copy of the workspace; `in_place` if absent."),
    ],
    "model": Annotated[str | None, Field(description="The agent's model; the agent's own default if absent.")],
    "timeout_s": Annotated[int | None, Field(description="How long the agent may take, in seconds.")],
    "inactivity_timeout_s": Annotated[
        int | None, Field(description="How long the agent may show nothing, in seconds; 0 for no limit.")
    ],
    "thread": Annotated[
        str | None,
        Field(
            description="`continue` (if absent) goes on with what the agent knows of this session's task before; `fresh`"
            " begins anew; the id of an ended task goes on with that task's agent."
        ),
    ],
    "concurrent": Annotated[
        bool | None, Field(description="Work in place although another task does in the same folder; else it waits.")
    ],
    "queue_expiry_s": Annotated[
        int | None,
        Field(
            description="How long it may wait while no runner of the person is connected, in seconds; 0 for no limit."
        ),
    ],
}
"""The arguments of a job, by the names that the API has for them; each may be left out."""


def with_job_arguments(tool: T) -> T:
    """Add the arguments of a job to those of a tool, which gets those that were given as the dict `arguments`.

    The library reads a tool's arguments from its signature, so they are written into that.
    """
    own = inspect.signature(tool)
    kept = {name: one for name, one in own.parameters.items() if name != "arguments"}
    added = {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _ARGUMENTS.items()
    }

    @functools.wraps(tool)
    async def wrapped(**given: Any) -> Any:
        arguments = {name: value for name in _ARGUMENTS if (value := given.pop(name, None)) is not None}
        if is_delegated():
            arguments.setdefault("concurrent", True)
        return await tool(**given, arguments=arguments)

    wrapped.__annotations__ = {
        name: one for name, one in tool.__annotations__.items() if name != "arguments"
    } | _ARGUMENTS
    wrapped.__signature__ = own.replace(parameters=[*kept.values(), *added.values()])  # type: ignore[attr-defined]
    return wrapped  # type: ignore[return-value]
