"""`baton hook`: the shim in Python, for machines without a POSIX shell. It does what `hooks/baton-hook.sh` does.

It runs before every tool call, so it imports next to nothing until something rare happens: no `socket`, `json`, `re`, `pathlib`.
"""
