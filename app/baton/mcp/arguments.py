"""The execution options shared by all tools that create a job. The server validates them."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from baton.local.config import is_delegated

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
    "timeout_s": Annotated[int | None, Field(description="The agent's timeout, in seconds.")],
    "inactivity_timeout_s": Annotated[
        int | None, Field(description="The agent's timeout without output, in seconds; 0 for no limit.")
    ],
    "thread": Annotated[
        str | None,
        Field(
            description="`continue` (default) resumes the agent of this session's previous task; `fresh` starts a new one; the id of an ended task resumes its agent."
        ),
    ],
    "concurrent": Annotated[
        bool | None, Field(description="Work in place while another task uses the same folder; otherwise it waits.")
    ],
    "queue_expiry_s": Annotated[
        int | None, Field(description="Maximum wait without a connected runner, in seconds; 0 for no limit.")
    ],
}  # the optional execution options of a job, with the API's names


def with_job_arguments(tool: T) -> T:
    """Add the execution options to a tool's signature. The tool gets the given ones as `arguments`."""
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
