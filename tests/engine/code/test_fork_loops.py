"""Which texts of code fork without end, and which only look like it."""

import pytest

from baton.engine.code.fork_loops import forks_without_end

BOMBS = [
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


@pytest.mark.parametrize("text", BOMBS)
def test_a_loop_that_forks_without_end_is_found(text):
    assert forks_without_end(text)


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_forks_once_waits_or_only_says_so_is_none(text):
    assert not forks_without_end(text)
