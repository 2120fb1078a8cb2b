"""The machine of `tests/lines/installed.tsv`."""

_PACKAGE = "/opt/tools/baton/lib/python3.11/site-packages/baton"
INSTALLED = "\n".join(
    [
        "baton_home\t/srv/state/baton",
        f"hook_settings\t{_PACKAGE}",
        "hook_settings\t/home/ann/work/claude/settings.json",
        "process\t8080",
        "process\t4711",
    ]
)
