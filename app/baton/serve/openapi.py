"""`python -m baton.serve.openapi`: prints the OpenAPI document (`openapi/openapi.json`)."""

import json

from baton.kernel.base.settings import Settings
from baton.main import create_app


def main() -> None:
    """Print the document."""
    print(json.dumps(create_app(Settings()).openapi(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
