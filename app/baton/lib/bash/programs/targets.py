"""Find what a program writes, and how far, by the shell tables; and the files whose content it reads."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from baton.lib.bash import misreadings
from baton.lib.bash.expansion.scripts import StdinSource
from baton.lib.bash.model import SOMEWHERE, Program, Reach, Shell, Write
from baton.lib.bash.tables import classify
from baton.lib.bash.tables.classify import Invocation
from baton.lib.bash.tables.tables import Entry
from baton.lib.text.patches import patched
from baton.lib.text.urls import file_path

PATCHERS = frozenset(
    {"apply_patch", "applypatch", "patch", "git apply", "git am", "hg import", "hg patch", "sl import", "svn patch"}
)  # programs that change the files named in a patch
_NEGATES = frozenset({"!", "-not"})
_OR = frozenset({"-o", "-or", ","})
_REPLACES = frozenset(["-I", "-J", "-i", "--replace"])
_READ_ONLY = frozenset(["ro", "readonly"])
_FOLDERS = frozenset("/~.$")
_FROM_FILE = frozenset(["-a", "--arg-file"])
_LEAST_LITERALS = 2  # minimum literal characters in a selective name: `*.c` selects few files, `*a*` does not
_MOST_FOUND = 100  # maximum folders times names of one search; beyond it, the search counts as finding everything
_MOST_SOURCES = 200  # maximum sources of a copy with a checked place in the target
_LITERAL = re.compile(r"\[[^\]]*\]|[*?^$+|()\\]")


def written(use: Invocation) -> list[Write]:
    """Return a program's writes, each relative to its own folder."""
    paths = classify.targets(use)
    entry = use.entry
    if entry is None or not paths:
        return []
    reach = reach_of(use)
    if use.name in _TARS:
        paths = _in_their_folders([word.text for word in use.words], paths)
    if entry.names:
        _, folders = _searched(use, entry)
        searched = found_below(use, entry) if set(folders) & set(paths) else []
        # `-fprint x` writes to `x` itself.
        paths = [*searched, *[path for path in paths if path not in folders]]
    lands = next((kind for kind, flags in entry.lands.items() if not flags or not use.flags.isdisjoint(flags)), None)
    if lands is None:
        return [Write(target=path, reach=reach) for path in paths]
    operands = [use.words[at].text for at in use.operands]
    # With `-t folder` every operand is a source, otherwise all but the last.
    moved = set(operands[:-1] if set(paths) <= set(operands) else operands)
    replaces = not use.flags.isdisjoint(entry.replaces_target)
    found: list[Write] = []
    for path in paths:
        if entry.moves and (path in moved or "{" in path):
            found.append(Write(target=path, reach="tree"))
        else:
            sources = tuple([word for word in operands[:_MOST_SOURCES] if word != path])
            found.append(Write(target=path, reach=reach, lands=lands, sources=sources, replaces=replaces))
    return found


def _in_their_folders(words: Sequence[str], operands: list[str]) -> list[str]:
    """Return the operands of `tar`, each below the folder of the last `-C` before it."""
    found, left, folder = [], list(operands), ""
    takes_folder = False
    for word in words:
        if takes_folder or word.startswith("--directory="):
            below = posixpath.join(folder, word if takes_folder else word.partition("=")[2])
            folder, takes_folder = below if len(below) <= _LONGEST_FOLDER else folder, False
        elif _CHANGES_FOLDER.fullmatch(word):
            takes_folder = True
        elif word in left:
            left.remove(word)
            found.append(posixpath.join(folder, word))
    return found + left


def patched_by(use: Invocation, patches: list[str]) -> list[Write]:
    """Return the files changed by a program through patches in the line."""
    counts = [value for option, value in use.values if option in ("-p", "--strip")]
    counts += [flag[2:] for flag in use.raw_flags if flag[:2] == "-p"]
    strip = int(counts[-1]) if counts and counts[-1].isdecimal() and len(counts[-1]) < 3 else 1  # noqa: PLR2004
    into = next((value for option, value in use.values if option in ("-d", "--directory")), "")
    names = (name for text in patches for name in islice(patched(text, strip), misreadings.MAX_WRITES + 1))
    return [Write(target=posixpath.join(into, name), reach="file") for name in dict.fromkeys(names)]


def reach_of(use: Invocation) -> Reach:
    """Return the range of a program's writes."""
    if "destructive" in use.categories:
        return "tree"
    reach = use.entry.reach if use.entry else {}
    return next((one for one, flags in reach.items() if not flags or not use.flags.isdisjoint(flags)), "file")


def found_below(use: Invocation, entry: Entry) -> list[str]:
    """Return the results of a search such as `find` as globs: `x/**/*.pyc`, or `x` if it selects everything."""
    name, folders = _searched(use, entry)
    patterns = _globs(entry.names["first"], name) if name else []
    patterns = patterns or list(_selected([word.text for word in use.words], entry.names))
    if not patterns or len(patterns) * len(folders) > _MOST_FOUND:
        return folders
    return [f"{folder.rstrip('/')}/**/{pattern}" for folder in folders for pattern in patterns]


def _searched(use: Invocation, entry: Entry) -> tuple[str, list[str]]:
    """Return the searched name, if the first operand is one, and the searched folders."""
    # The words after `-exec` belong to the search's command.
    starts = {word for way in use.runs for word in way.between or ()}
    end = next((at for at, word in enumerate(use.words) if word.text in starts), len(use.words))
    operands = [use.words[at].text for at in use.operands if at < end]
    if "first" not in entry.names:
        return "", operands or ["."]
    return "".join(operands[:1]), operands[1:] or ["."]


def _selected(argv: Sequence[str], options: Mapping[str, str]) -> Iterator[str]:
    """Yield the names selected by a search, as globs; none if an alternative selects nearly everything."""
    found: list[str] = []
    narrow = False
    for at, word in enumerate(argv):
        if word in _OR:
            if not narrow:
                return
            narrow = False
        kind = options.get(word)
        if kind is None or at + 1 >= len(argv) or argv[at - 1] in _NEGATES:
            continue
        globs = _globs(kind, argv[at + 1])
        narrow = narrow or bool(globs)
        found += globs
    if narrow:
        yield from found


def _globs(kind: str, pattern: str) -> list[str]:
    if kind in ("regex", "part"):
        pattern = pattern.replace(".*", "*").replace("\\", "").strip("^$")
    elif kind == "extension":
        pattern = f"*.{pattern.removeprefix('.')}"
    if len(_LITERAL.sub("", pattern)) < _LEAST_LITERALS or "$" in pattern or "`" in pattern:
        return []
    glob = "/".join("**" if part == "*" else part for part in pattern.split("/") if part)
    return [glob, f"*{glob}*"] if kind == "part" else [glob]


def mounts(use: Invocation, options: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the folders mounted writable in a container, each with its path there."""
    two = use.entry.takes_two if use.entry else ()
    for (option, value), at in zip(use.values, use.value_places, strict=True):
        if option not in options:
            continue
        if option in two:
            folder, path, rest = value, use.words[at + 1].text if at + 1 < len(use.words) else "", ""
        elif "=" in value and "," in value:
            keys = dict(part.partition("=")[::2] for part in value.split(","))
            folder = keys.get("source") or keys.get("src") or ""
            path = keys.get("target") or keys.get("dst") or keys.get("destination") or ""
            rest = "ro" if keys.keys() & _READ_ONLY else ""
        else:
            folder, _, rest = value.partition(":")
            path, _, rest = rest.partition(":")
        # `name:/path` is a volume, not a folder of this machine.
        if folder[:1] in _FOLDERS and path[:1] == "/" and _READ_ONLY.isdisjoint(rest.split(",")):
            yield folder, path


def appended(use: Invocation, source: StdinSource | None) -> tuple[str, ...]:
    """Return the arguments added by `xargs`, if its input is part of the line; otherwise `SOMEWHERE`."""
    if not use.flags.isdisjoint(_REPLACES):
        return ()
    fed = source.script if source is not None and use.flags.isdisjoint(_FROM_FILE) else None
    if fed is None or any(word.dynamic for word in fed):
        return (SOMEWHERE,)
    return tuple([path for word in fed for path in word.text.split() if "%" not in path])  # `%` is of a printf format


# Find the files whose content a program reads: by path, by folder, or by a pattern that covers them. A pattern that is
# searched for, a message, a filter, an exclusion and a look at a file's name or state read no content.


class Content(msgspec.Struct, frozen=True):
    """A path that is read, as written, from its folder. `without` are the names that the program leaves out."""

    path: str
    base: str | None = ""
    depth: Reach = "file"
    without: tuple[str, ...] = ()


_NAME_PROGRAMS = (
    "echo printf ls gls eza exa lsd dir vdir tree test [ [[ stat du df touch mkdir rmdir rm unlink shred trash "
    "srm eval chmod gchmod chown gchown chgrp chattr setfacl getfacl lsattr realpath readlink basename dirname namei "
    "cd pushd which whereis type command hash export unset declare local readonly alias read mapfile readarray "
    "truncate mktemp find gfind fd fdfind file locate plocate mdfind bfs ssh autossh mosh ssh-add ssh-keygen ssh-copy-id"
    " true false : exit return kill pkill killall pgrep watch inotifywait entr lsof fuser Test-Path Get-ChildItem"
    " Get-Item New-Item Remove-Item"
)
_GREPS = "grep egrep fgrep ggrep zgrep bzgrep xzgrep pcregrep rgrep rg ripgrep rga ag ack ugrep ug sift pt"
_FILE_PROGRAMS = "cat head tail less more bat tac nl wc cp mv base64 xxd strings tar zip source ."
_NAMES_ONLY = frozenset(_NAME_PROGRAMS.split())
"""Programs that look at names, or change what is there, and show no content."""
_PATTERN_FIRST = {
    **dict.fromkeys(_GREPS.split(), frozenset({"-e", "-f", "--regexp", "--file", "--files", "--type-list"})),
    **dict.fromkeys(["sed", "gsed"], frozenset({"-e", "-f", "--expression", "--file"})),
    **dict.fromkeys(["awk", "gawk", "mawk", "nawk"], frozenset({"-f", "--file", "-e", "--source"})),
    **dict.fromkeys(["jq", "gojq", "jaq", "yq", "xq", "htmlq", "dasel", "mlr"], frozenset({"-f", "--from-file"})),
    **dict.fromkeys(
        ["sd", "ast-grep", "sg", "perl", "ruby", "semgrep", "tr"], frozenset({"-e", "-E", "-p", "--pattern"})
    ),
}  # programs whose first operand is what they look for or run, and the options that give it instead
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "ggrep", "zgrep", "rgrep", "bzgrep", "xzgrep", "pcregrep"})
_VISIBLE = frozenset({"rg", "ripgrep", "rga", "ag", "ack", "ugrep", "ug", "sift", "pt"})
"""Searches that go down by themselves, and leave hidden and ignored files out."""
_RECURSIVE = frozenset({"-r", "-R", "--recursive", "--dereference-recursive"})
_HIDDEN = frozenset({"-uu", "-uuu", "--hidden", "-.", "-a", "--all-types", "--unrestricted"})
_TREES = {
    **dict.fromkeys(("cp", "gcp", "scp"), frozenset({"-r", "-R", "-a", "--recursive", "--archive"})),
    "rsync": frozenset({"-r", "-a", "--recursive", "--archive"}),
    "zip": frozenset({"-r", "--recurse-paths"}),
    **dict.fromkeys(("aws", "azcopy", "diff", "gcloud", "gsutil", "mc"), frozenset({"-r", "-R", "--recursive"})),
}  # programs that take whole folders with one of these options
_TARS = frozenset({"tar", "gtar", "bsdtar"})
_LONGEST_FOLDER = 300  # in characters. Each of many `-C` would make all later paths longer.
_CHANGES_FOLDER = re.compile(r"-[A-Za-z]*C|--directory")
_ARCHIVERS = _TARS | frozenset({"7z", "7za", "7zz", "rar", "rclone", "croc", "wormhole"})
_MOVERS = frozenset({"mv", "gmv", "ln", "gln"})
_COPIES = frozenset({"cp", "gcp", "scp", "rsync", "install"}) | _MOVERS
_INTO = frozenset({"-t", "--target-directory"})
_GIT_SHOWS = frozenset(
    {"show", "diff", "blame", "annotate", "cat-file", "grep", "difftool", "hash-object", "archive", "gist"}
)
_PATCH = frozenset({"-p", "-u", "--patch", "-L"})
_NO_FILE = re.compile(
    r"-[meSGIgqEHotnN]|--(?:message|title|body|notes|description|expression|regexp|grep|pattern|search|query|header|label|format"
    r"|pretty|template|jq|name|(?:[\w-]+-)?(?:key|cert|ca|cacert|key-?file|password-file|identity-file)|kubeconfig|identity|arg|argjson|type|branch"
    r"|author|assignee|output)"
)  # options whose value is a text, a pattern or a name, or a file that is used and not shown
_REMOTE_COPIES = frozenset({"scp", "pscp", "sftp"})
_KEEPS_FILTER = re.compile(r"-[Ix]|-path|--?(?:no-)?(?:exclude|ignore|filter|skip)[\w-]*")
_SELECTS = re.compile(r"-g|--?(?:i?name|i?path|i?wholename|regex|iregex|i?glob|include[\w-]*)")
_SEARCHERS = frozenset(
    {"find", "gfind", "bfs", "fd", "fdfind", "ls", "git", "rg", "echo", "printf", "locate", "mdfind"}
)  # programs whose output names the files that others then read
_PATH_START = ("/", "~", "./", "../", "@", "$", "\\")
_BUILDS = frozenset({"test-or-build", "package-install"})
_GIVES_FILE = frozenset({"--env-file", "--file", "-f"})
_ENGINES, _STARTS_IMAGE = frozenset({"docker", "podman", "nerdctl"}), frozenset({"run", "create", "exec", "container"})
_ONLY_FILES = frozenset(_FILE_PROGRAMS.split())
_HELD = re.compile(r"\$\(|`|\{\}")


def contents(shell: Shell) -> Iterator[tuple[int, Content]]:
    """Yield what each program of a line reads, with the program's index; -1 for what the line itself reads."""
    written: dict[int, set[str]] = {}
    for write in shell.writes:
        written.setdefault(write.by, set()).add(write.target)
    for index, program in enumerate(shell.programs):
        if program.wraps and program.name not in ("docker", "podman"):
            continue
        for one in _read_by(program, written.get(index, set())):
            yield index, one
        if _shows(program) and (program.input == "arguments" or any(map(_HELD.search, program.argv[1:]))):
            for searcher in shell.programs:
                if searcher.name in _SEARCHERS:
                    for one in _found_by(searcher):
                        yield index, one
    for read in shell.reads:
        yield -1, Content(read.target, read.base)


def _shows(program: Program) -> bool:
    """Return whether a program shows, sends or copies what is in the files that it is given."""
    if program.name in ("git", "hub"):
        first = program.subcommand.partition(" ")[0]
        patches = first in ("log", "stash", "whatchanged") and not program.flags.isdisjoint(_PATCH)
        return first in _GIT_SHOWS or patches
    if not _BUILDS.isdisjoint(program.categories):
        return False
    if program.name in ("gh", "glab"):
        return not program.subcommand.startswith("search")
    return program.name not in _NAMES_ONLY


def _read_by(program: Program, written: set[str]) -> Iterator[Content]:  # noqa: C901, PLR0912 - a branch for each kind of word
    operands, values = _sorted_words(program)
    if program.name in _TARS:
        operands = _in_their_folders(program.argv, operands)
    folder = program.folder
    without = tuple(value for option, value in values if _KEEPS_FILTER.fullmatch(option))
    without += tuple(value[1:] for option, value in values if _SELECTS.fullmatch(option) and value[:1] == "!")
    if _shows(program):
        depth = _depth(program)
        first = _PATTERN_FIRST.get(program.name)
        searches = first is not None or (program.name, program.subcommand) == ("git", "grep")
        if searches and program.flags.isdisjoint(first or {"-e"}):
            operands = operands[1:]
        if program.name in _COPIES and program.flags.isdisjoint(_INTO):
            operands = operands[:-1]
        elif program.name not in _MOVERS:
            operands = [one for one in operands if one not in written]
        selected = [value for option, value in values if _SELECTS.fullmatch(option) and value[:1] != "!"]
        if depth != "file" and first is not None and not operands and program.input in ("", "file"):
            operands = ["."]
        for operand in operands:
            path = operand
            if program.name == "git" and ":" in operand:
                path = operand.partition(":")[2]
            if not _may_be_path(path, program) or (operand in program.quoted and program.name != "git"):
                continue
            if selected and depth != "file":
                yield from (_selecting(path, one, folder) for one in selected)
                continue
            yield Content(path, folder, depth, without)
            if "@" in path and "network" in program.categories:
                yield Content(path.partition("@")[2], folder)
            _, equals, value = path.partition("=")
            if equals and value and value not in written:
                yield Content(value, folder)
    for option, value in values:
        # The project's own program loads it. An image may be anybody's.
        is_image = program.name in _ENGINES and program.subcommand.partition(" ")[0] in _STARTS_IMAGE
        if option == "--env-file" and not is_image:
            continue
        text = value.partition("@")[2] if "network" in program.categories and "@" in value else value
        used = _NO_FILE.fullmatch(option) or (option == "-i" and program.name in _REMOTE_COPIES)
        skipped = used or _KEEPS_FILTER.fullmatch(option) or _SELECTS.fullmatch(option)
        is_file = text is not value or not (skipped or program.name in _NAMES_ONLY or value in written)
        if not _BUILDS.isdisjoint(program.categories) and option not in _GIVES_FILE:
            continue
        if is_file and _may_be_path(text, program):
            yield Content(text, folder)


def _selecting(start: str, pattern: str, folder: str | None) -> Content:
    """Return what a search reads in a folder by a pattern for the files."""
    if not pattern.strip("*/."):
        return Content(start, folder, "below")
    pattern = pattern.removeprefix("**/").lstrip("/")
    return Content(f"{start.rstrip('/') or '/'}/**/{pattern}", folder)


def _depth(program: Program) -> Reach:
    """Return how far a program goes down in a folder that it is given."""
    name, flags = program.name, program.flags
    if name in _SEARCHES:
        recurses = name == "rgrep" or not flags.isdisjoint(_RECURSIVE) or "--directories=recurse" in program.argv
        return "below" if recurses else "file"
    if name in _VISIBLE:
        return "below" if not flags.isdisjoint(_HIDDEN) else "visible"
    takes_all = name in _ARCHIVERS or (name in _TREES and not flags.isdisjoint(_TREES[name]))
    return "below" if takes_all else "file"


def _sorted_words(program: Program) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a program's operands, and the values of its options each with its option."""
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    known = list(program.operands)
    option = ""
    subcommand = program.subcommand.split()
    for word in program.argv[1:]:
        if word[:1] == "-" and len(word) > 1:
            name, equals, value = word.partition("=")
            if equals:
                values.append((name, value))
                option = ""
            else:
                # `-g!.env`: a short option with its value.
                if word[1] != "-" and len(word) > 2 and word[:2] in program.flags and _SELECTS.fullmatch(word[:2]):  # noqa: PLR2004
                    values.append((word[:2], word[2:]))
                # `perl -pe code`, `grep -ne pattern`: the last letter takes the value.
                option = f"-{word[-1]}" if word[1] != "-" and program.name in _PATTERN_FIRST else word
        elif option and (word not in known or _takes_a_word(option) or (program.name, option) == ("zip", "-x")):
            values.append((option, word))
            if word in known:
                known.remove(word)
            option = "" if not option.startswith("--arg") else option
        elif word in known:
            operands.append(word)
            known.remove(word)
            option = ""
        elif subcommand and word == subcommand[0]:
            subcommand.pop(0)
        else:
            operands.append(word)
    return operands, values


def _takes_a_word(option: str) -> bool:
    """Return whether an option has a value that is no file, also where no table of the program says so."""
    return option[:2] == "--" and any(one.fullmatch(option) for one in (_NO_FILE, _SELECTS, _KEEPS_FILTER))


def _may_be_path(text: str, program: Program) -> bool:
    """Return whether a word may name a file: a sentence does not, but where a program takes nothing but files."""
    if not text or text == "{}":
        return False
    return not any(map(str.isspace, text)) or text.startswith(_PATH_START) or program.name in _ONLY_FILES


def _found_by(program: Program) -> Iterator[Content]:
    """Yield what a program's output may name, for another that reads it."""
    folder, argv = program.folder, program.argv
    if program.name in ("find", "gfind", "bfs"):
        starts: list[str] = []
        for word in argv[1:]:
            if word[:1] in ("-", "!", "(", "\\"):
                break
            starts.append(word)
        names, without = _searched_names(argv)
        for start in starts or ["."]:
            if names:
                # `-path '*/src/*'` names a folder; every file in it is meant.
                last = [name.rpartition("/")[2] for name in names]
                yield from (
                    _selecting(start, one if one.strip("*.") else name, folder)
                    for one, name in zip(last, names, strict=True)
                )
            else:
                yield Content(start, folder, "below", without)
    elif program.name in ("fd", "fdfind"):
        literal = next(iter(program.operands), "").strip("^$").replace("\\", "").replace(".*", "*")
        if literal.startswith("."):
            yield Content(f"./**/{literal}*", folder)
    elif program.name in ("ls", "echo", "printf", "git"):
        yield from (Content(word, folder) for word in argv[1:] if word[:1] != "-" and not any(map(str.isspace, word)))
    elif program.name == "rg" and "--files" in program.flags:
        _, values = _sorted_words(program)
        selected = (value for option, value in values if _SELECTS.fullmatch(option) and value[:1] != "!")
        yield from (Content(f"./**/{value}", folder) for value in selected)


def _searched_names(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the names that a search selects, and those that it leaves out."""
    names: list[str] = []
    without: list[str] = []
    for at, word in enumerate(argv[:-1]):
        if _SELECTS.fullmatch(word):
            prunes = "-prune" in argv[at + 2 : at + 4]
            (without if argv[at - 1] in _NEGATES or prunes else names).append(argv[at + 1])
    return names, tuple(without)


_LISTS = re.compile(r"(?i)(?:^|_)(?:glob|ls|list|stat|exists|mkdir|write|create|delete|remove|tree|info)(?:_|$)")
_SEARCH_TOOL = re.compile(
    r"(?i)grep|search_?(?:file_?content|for_pattern|in_files|text|code\b)|text_search|find_in_files"
)
_PATTERNS = ("glob", "globs", "include", "includes", "include_pattern", "includePattern", "file_pattern", "filePattern")
_EXCLUDES = ("exclude", "excludes", "exclude_pattern", "excludePattern")


def tool_contents(tool: str, given: Mapping[str, object], paths: Sequence[str]) -> Iterator[Content]:
    """Yield what a tool reads, by the paths that its input names and by its patterns.

    Args:
        tool: The tool's name.
        given: Its input.
        paths: The paths in it.
    """
    own = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.rpartition("__")[2])
    if _LISTS.search(own) and "read" not in own.lower():
        return
    patterns = [one for key in _PATTERNS for one in _texts(given.get(key)) if not one.startswith("!")]
    if patterns:
        starts = [path for path in paths if path not in patterns] or ["."]
        yield from (_selecting(start, one, "") for start in starts for one in patterns)
        return
    searches = _SEARCH_TOOL.search(tool) is not None
    without = tuple(one for key in _EXCLUDES for one in _texts(given.get(key)))
    for path in paths or (["."] if searches else []):
        yield Content(path, "", "visible" if searches else "file", without)
    for value in given.values():
        yield from (Content(file_path(one), "") for one in _texts(value) if one[:5].casefold() == "file:")


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [one for one in items if isinstance(one, str)]
