"""The names of PowerShell and cmd: cmdlets, their aliases and options, variables, and what they are to a shell."""

NAMES = {
    **dict.fromkeys(("remove-item", "ri", "rm", "rmdir", "rd", "del", "erase", "clear-recyclebin"), "rm"),
    **dict.fromkeys(("set-content", "add-content", "out-file", "tee-object", "ac", "export-csv", "epcsv"), "tee"),
    **dict.fromkeys(
        ("new-item", "ni", "export-clixml", "start-transcript", "clear-content", "clc", "clear-item"), "touch"
    ),
    **dict.fromkeys(("mkdir", "md"), "mkdir"),
    **dict.fromkeys(("copy-item", "cp", "cpi", "copy", "xcopy", "robocopy"), "cp"),
    **dict.fromkeys(("move-item", "mv", "mi", "move", "rename-item", "rni", "ren", "rename"), "mv"),
    **dict.fromkeys(("get-content", "gc", "type", "cat", "more"), "cat"),
    **dict.fromkeys(("select-string", "sls", "findstr"), "grep"),
    **dict.fromkeys(("get-childitem", "gci", "dir", "ls", "tree", "resolve-path", "test-path"), "ls"),
    **dict.fromkeys(("set-location", "sl", "cd", "chdir", "push-location", "pushd"), "cd"),
    **dict.fromkeys(("get-location", "gl", "pwd"), "pwd"),
    **dict.fromkeys(("write-output", "write-host", "echo", "write", "write-error", "write-verbose"), "echo"),
    **dict.fromkeys(
        ("invoke-webrequest", "iwr", "invoke-restmethod", "irm", "start-bitstransfer", "curl", "wget"), "curl"
    ),
    **dict.fromkeys(("stop-process", "spps", "kill", "taskkill", "stop-service", "spsv"), "kill"),
    **dict.fromkeys(("stop-computer", "restart-computer"), "shutdown"),
    **dict.fromkeys(
        ("format-volume", "clear-disk", "initialize-disk", "remove-partition", "format", "diskpart"), "mkfs"
    ),
    **dict.fromkeys(("remove-itemproperty", "rp"), "reg delete"),
    **dict.fromkeys(("get-process", "gps", "ps", "tasklist"), "ps"),
    **dict.fromkeys(
        ("get-date", "get-help", "get-command", "gcm", "get-member", "gm", "get-item", "gi", "where.exe"), "true"
    ),
    **dict.fromkeys(("where-object", "where", "?", "select-object", "select", "sort-object", "measure-object"), "true"),
    **dict.fromkeys(
        ("format-table", "ft", "format-list", "fl", "out-null", "out-string", "out-host", "out-default"), "true"
    ),
    **dict.fromkeys(
        ("convertfrom-json", "convertto-json", "group-object", "join-path", "split-path", "foreach-object", "%"), "true"
    ),
    **dict.fromkeys(
        ("start-sleep", "sleep", "rem", "set", "setlocal", "endlocal", "cls", "pause", "ver", "foreach"), "true"
    ),
}
VALUE_OPTIONS = frozenset(
    {"-value", "-filter", "-include", "-exclude", "-encoding", "-itemtype", "-type", "-erroraction", "-ea", "-method"}
    | {
        "-headers",
        "-body",
        "-contenttype",
        "-pattern",
        "-delimiter",
        "-inputobject",
        "-depth",
        "-property",
        "-credential",
    }
)
REDIRECTS = ("2>&1", "*>&1", "2>$null", "*>$null", ">$null")
KEYWORDS = frozenset(
    {"if", "else", "elseif", "for", "foreach", "while", "do", "until", "try", "catch", "finally", "function", "filter"}
    | {
        "param",
        "return",
        "switch",
        "begin",
        "process",
        "end",
        "throw",
        "trap",
        "break",
        "continue",
        "exit",
        "@echo",
        "call",
    }
)
TEMPORARY = "/tmp"  # noqa: S108 - what a path is compared with
VARIABLES = {
    "env:userprofile": "$HOME", "env:home": "$HOME", "home": "$HOME", "env:homepath": "$HOME", "userprofile": "$HOME",
    "homepath": "$HOME", "env:systemdrive": "", "systemdrive": "", "env:homedrive": "", "homedrive": "",
    "env:systemroot": "/c/Windows", "env:windir": "/c/Windows", "systemroot": "/c/Windows", "windir": "/c/Windows",
    "env:programfiles": "/c/Program Files", "env:temp": TEMPORARY, "env:tmp": TEMPORARY, "temp": TEMPORARY, "tmp": TEMPORARY,
    "pwd": ".", "env:appdata": "$HOME/AppData", "appdata": "$HOME/AppData", "true": "true", "false": "false", "null": "/dev/null",
}  # fmt: skip
