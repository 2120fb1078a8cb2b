"""`baton model-agent`: serve an OpenAI-compatible model as an agent. The runner starts it."""

import asyncio
import os
from typing import Annotated, Literal

import typer


def model_agent(
    url: Annotated[str, typer.Option(help="The base of the API, such as `http://localhost:11434/v1`.")],
    model: Annotated[list[str], typer.Option(help="A model that may be asked for; the first is the default.")],
    key_variable: Annotated[str, typer.Option(help="The environment variable that holds the key.")] = "OPENAI_API_KEY",
    reasoning_effort: Annotated[
        Literal["", "low", "medium", "high"], typer.Option(help="How much the model thinks, where it can.")
    ] = "",
) -> None:
    """Serve an OpenAI-compatible model as an agent.

    Name it in `runner.yaml`: `command: [baton, model-agent, --url, …, --model, …]`.
    """
    from baton.runner.agents.model_agent import ModelAgent, serve

    asyncio.run(serve(ModelAgent(url, model, os.environ.get(key_variable, ""), reasoning_effort)))
