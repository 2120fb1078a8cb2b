"""`baton hook`: the shim in Python, for machines without a POSIX shell. Behaves like `hooks/baton-hook.sh`.

It runs before every tool call, so it imports next to nothing until something rare happens: no `socket`, `json`, `re`,
`pathlib`.
"""
