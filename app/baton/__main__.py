"""`python -m baton` is `baton`."""

from baton.cli.main import main

main()
