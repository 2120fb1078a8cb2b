"""Lookups: their lines, and the effect of a team's `lookups: tool`."""

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import load
from baton.rules.policy.matching.context import Context
from baton.rules.policy.rules.files import Layer
from tests.support.cases import listed
from tests.support.shipped import shipped_layer, unread

LOOK_UPS = """
cat a.py
grep -rn x .
grep x src/*.py
grep -e x f
rg x
rg -t py x
cd a && rg x
head -n 5 f
tail -f log.txt
sed -n 1,5p f
awk '{print $1}' f
find . -name '*.py'
fd x
ls -R
ls -laR src
tree
git grep x
git show HEAD:f
git blame f
jq .a package.json
bat f
sort f
cat < f
while read l; do echo $l; done < f
bash -c 'grep -r x .'
sudo cat f
find . -name '*.py' -exec grep x {} +
git ls-files | xargs grep x
true | grep foo f
true | sed -n 5p f
git status && cat f
echo $(cat f)
cat a | grep b | head
"""
OTHERS = """
git status
git log --oneline | head -n 5
git log | tail -5
git diff --stat | cat
git branch -a | grep -v main
git show HEAD
ls
ls -la src
ls src | grep x
pwd
date
which python
npm ls | grep react
ps aux | grep -A 3 node
ps | rg node
env | sort
docker ps | awk '{print $1}'
docker logs x | tail -n 50
npm ls --json | jq .dependencies
kubectl get pods | sed -n 2p
gh pr list | cut -d , -f 1
rg --version
echo hi
"""


def name(policies, line):
    call = ToolCall(client="t", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/repo")
    return policies.history_name(Context(policies, Facts(call=call)))


def test_lines_that_look_into_files_are_look_ups_and_others_are_not(shipped):
    policies = shipped
    wanted = {line: "Bash (look-up)" for line in LOOK_UPS.split("\n") if line}
    wanted |= {line: "Bash" for line in OTHERS.split("\n") if line}
    wrong = {line: said for line, said in ((line, name(policies, line)) for line in wanted) if said != wanted[line]}
    assert not wrong, listed(wrong)


def test_a_team_may_count_each_look_up_tool_by_its_own_name():
    policies = load([shipped_layer(), Layer(tier="organisation", files={"config.yaml": "lookups: tool"})])
    assert name(policies, "cat a.py") == "Bash"

    def verdict(tool, history, **tool_input):
        call = ToolCall(client="t", session_id="s", tool_name=tool, tool_input=tool_input, cwd="/repo")
        return evaluate(policies, Facts(call=call, level="strict", history=history)).rule

    assert verdict("Grep", ("Read",), pattern="x") == "orchestrator/single-lookup"
    assert verdict("Read", ("Read",), file_path="a") == "orchestrator/second-lookup"
    assert verdict("Bash", ("Bash (look-up)",), command="cat a.py") == "orchestrator/otherwise"


def test_a_line_is_asked_once_whether_it_looks_something_up(monkeypatch):
    policies = unread()
    asked = []
    of_line = policies.lookups.of_line
    monkeypatch.setattr(policies.lookups, "of_line", lambda context: asked.append(context) or of_line(context))
    for _ in range(3):
        assert name(policies, "cat a.py") == "Bash (look-up)"
    assert len(asked) == 1
