"""`python -m baton.serve.asyncapi`: prints the AsyncAPI document of the events (`openapi/asyncapi.json`)."""

import json

from baton.events.schemas import asyncapi


def main() -> None:
    """Print the document."""
    print(json.dumps(asyncapi(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
