"""`python -m baton.serve.asyncapi`: prints the AsyncAPI document of the events, as `openapi/asyncapi.json` holds it."""

import json

from baton.events.schemas import asyncapi


def main() -> None:
    """Print the document."""
    print(json.dumps(asyncapi(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
