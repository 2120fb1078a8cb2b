"""Code that forks endlessly, and code that only looks like it."""

import pytest

from baton.lib.code import read
from baton.lib.code.read import forks_without_end
from tests.support.cases import every

BOMBS = [
    "fork while 1 # last",
    "# don't\nfork while 1",
    "# ' \nfork while 1\n# '",
    "x = '#'; fork while 1",
    "while True: os.fork()  # exit",
    "print $#list; fork while 1",
    "fork while 1",
    "fork while fork",
    "fork until 0",
    "while(){fork}",
    "while (1) { fork() }",
    "while (!0) { fork }",
    "for (;;) { fork; }",
    "for (my $i = 0; 1; $i++) { fork }",
    "loop { fork }",
    "loop do fork end",
    "(1..Float::INFINITY).each { fork }",
    "1.step { fork }",
    "import os\nwhile True: os.fork()",
    "import os\nwhile not False: os.fork()",
    "while os.fork() or 1: pass",
    "[os.fork() for _ in iter(int, 1)]",
    "any(fork() for _ in __import__('itertools').count())",
    "while(1) pcntl_fork();",
    "setInterval(() => fork(f), 0)",
    "while 1: print('wait for it'); os.fork()",
]
LOOKALIKES = [
    "",
    "os.fork()",
    "# fork while 1",
    "while True: work()",
    "print('fork while 1')",
    'puts "loop { fork }"',
    "$fork = 1; while (1) { work() }",
    "while x.more(): os.fork()",
    "for url in repos: forked(url)",
    "while True:\n    s.accept()\n    os.fork()",
    "while (1) { my $p = fork; waitpid($p, 0) }",
    "while True:\n    if os.fork(): break",
    "loop { fork { work }; sleep 1 }",
    "loop { fork { work }; Process.wait }",
]


@every("text", BOMBS)
def test_a_loop_that_forks_without_end_is_found(text):
    assert forks_without_end("perl", text)


@every("text", LOOKALIKES)
def test_single_forks_waits_and_mentions_pass(text):
    assert not forks_without_end("perl", text)


@every(
    ("language", "text", "bomb"),
    [
        ("javascript", "while (true) fork(f) // break", True),
        ("javascript", "/* return */ while (true) fork(f)", True),
        ("javascript", "// while (true) fork(f)", False),
        ("javascript", "/* while (true) fork(f)", False),
        ("php", "while (1) pcntl_fork(); // exit", True),
        ("python", "x = 7 // 2\nwhile 1: os.fork()", True),
    ],
)
def test_comments_are_those_of_the_language(language, text, bomb):
    assert forks_without_end(language, text) is bomb


@pytest.mark.parametrize("language", ["perl", "javascript"])
@pytest.mark.parametrize(
    "part", ['\\"', "'a'\\\"", "\"'", "/*", "while (", "while fork.", "for (;", "in count.", "#'", '"#\\']
)
def test_quotes_that_are_never_closed_are_looked_for_once(monkeypatch, language, part):
    looked = []
    counting = {quote: _Counting(pattern, looked) for quote, pattern in read._QUOTES.items()}
    monkeypatch.setattr(read, "_QUOTES", counting)
    text = 'fork "' + part * 2_000
    forks_without_end(language, text)
    assert sum(looked) <= 4 * len(text)


class _Counting:
    """A pattern that notes how many characters each search goes through."""

    def __init__(self, pattern, looked):
        self.pattern, self.looked = pattern, looked

    def match(self, text, at):
        found = self.pattern.match(text, at)
        self.looked.append((len(text) if found is None else found.end()) - at)
        return found
