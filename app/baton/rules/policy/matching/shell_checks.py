"""Compile conditions on a shell line read by `lib.bash`."""

from collections.abc import Callable, Iterator

from baton.lib.bash.model import Shell
from baton.lib.text.globs import Match, any_of, any_path
from baton.rules.call.places.places import Place
from baton.rules.policy.matching.call_checks import Check, elsewhere
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.program_checks import AnyProgram, Lists, ProgramTest, any_program, place_set, words
from baton.rules.policy.rules.model import Feeds, ProgramMatch, ShellMatch

HAS_SHELL = "shell.line"


def shell(match: ShellMatch, lists: Lists) -> Iterator[Check]:
    """Compile `shell`: first the tests on the line as a whole, then those on one program."""
    yield Check(HAS_SHELL, lambda c: c.shell is not None, lambda _c: "no shell line")
    if match.unparsed is not None:
        yield _unparsed(wanted=match.unparsed)
    if match.fork_bomb is not None:
        yield _line("fork_bomb", lambda s: s.fork_bomb is match.fork_bomb, "nothing starts itself without end")
    if match.exports is not None:
        export = any_of(words(match.exports, lists))
        yield _line("exports", lambda s: any(map(export, s.exports)), "the line sets no such variable")
    if match.feeds is not None:
        yield _feeds(match.feeds, lists)
    if match.only is not None:
        yield _only(any_program(match.only, lists))
    one = {f: getattr(match, f) for f in ProgramMatch.__struct_fields__ if getattr(match, f) is not None}
    # `writes_to` alone is about the line: a redirection (`> file`) writes without belonging to a program.
    if is_about_writes(match):
        barred = any_of(words(match.program_none or [], lists))
        spared = any_path(words(match.writes_except or [], lists))
        yield _any_write(place_set(one["writes_to"]), barred, spared)
    elif one:
        yield _one_program(ProgramTest(ProgramMatch(**one), lists))
    if match.beside is not None:
        yield _beside(any_program(match.beside, lists))


def _unparsed(*, wanted: bool) -> Check:
    def holds(context: Context) -> bool:
        if context.shell is None or (context.shell.unparsed != "") is not wanted:
            return False
        context.found["why"] = context.shell.unparsed
        return True

    return Check("shell.unparsed", holds, lambda _c: f"the line was {'' if wanted else 'not '}read whole")


def _line(key: str, test: Callable[[Shell], bool], why: str) -> Check:
    return Check(f"shell.{key}", lambda c: c.shell is not None and test(c.shell), lambda _c: why)


def _one_program(test: ProgramTest) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None:
            return False
        for index, program in enumerate(shell.programs):
            if test.holds(context, shell, index):
                context.found["program"] = program.name
                context.found["command"] = " ".join(program.argv)[:120]
                context.found["target"] = context.found["command"]
                return True
        return False

    def why(context: Context) -> str:
        shell = context.shell
        if shell is None or not shell.programs:
            return "the line runs no program"
        index, _, failed = test.nearest(context, shell)
        return f"no program has all of it; the nearest, `{' '.join(shell.programs[index].argv)[:60]}`, fails `{failed}`"

    def progress(context: Context) -> int:
        shell = context.shell
        return test.nearest(context, shell)[1] if shell is not None and shell.programs else 0

    return Check("shell", holds, why, progress)


def is_about_writes(match: ShellMatch) -> bool:
    """Return whether a condition is about any write of the line, even without a program."""
    keys = {name for name in ProgramMatch.__struct_fields__ if getattr(match, name) is not None}
    return "writes_to" in keys and keys <= {"writes_to", "program_none"}


def _any_write(places: frozenset[Place], barred: Match, spared: Match) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None:
            return False
        for write in context.writes:
            if write.by >= 0 and barred(shell.programs[write.by].name):
                continue
            if not places.isdisjoint(context.write_places(write)) and not spared(
                context.relative(write.target, write.base)
            ):
                context.found["target"] = write.target
                return True
        return False

    def why(context: Context) -> str:
        writes = context.writes
        return (
            elsewhere((one.target, context.write_places(one)) for one in writes)
            if writes
            else "the line writes nothing"
        )

    return Check("shell.writes_to", holds, why)


def _feeds(match: Feeds, lists: Lists) -> Check:
    sources, sinks = any_program(match.source, lists), any_program(match.into, lists)

    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None:
            return False
        for source, sink in shell.feeds:
            if (not sources or sources.holds(context, shell, source)) and (
                not sinks or sinks.holds(context, shell, sink)
            ):
                context.found["program"] = shell.programs[source].name
                context.found["sink"] = shell.programs[sink].name
                return True
        return False

    return Check("shell.feeds", holds, lambda _c: "no such program feeds its output to one that runs it")


def _beside(program: AnyProgram) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        return shell is not None and any(program.holds(context, shell, i) for i in range(len(shell.programs)))

    return Check("shell.beside", holds, lambda _c: "the line runs no such program beside it")


def _only(program: AnyProgram) -> Check:
    def holds(context: Context) -> bool:
        shell = context.shell
        if shell is None or shell.unparsed:
            return False
        indexes = [i for i, one in enumerate(shell.programs) if not one.wraps]
        return bool(indexes) and all(program.holds(context, shell, i) for i in indexes)

    return Check("shell.only", holds, lambda _c: "the line runs another program too")
