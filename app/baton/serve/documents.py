"""`python -m baton.serve.documents NAME`: prints `openapi/NAME.json`, of the API (`openapi`) or the events (`asyncapi`)."""

import json
import sys

from baton.events.schemas import asyncapi
from baton.kernel.base.settings import Settings
from baton.main import create_app

if __name__ == "__main__":
    document = asyncapi() if sys.argv[1:] == ["asyncapi"] else create_app(Settings()).openapi()
    print(json.dumps(document, indent=2, ensure_ascii=False))
