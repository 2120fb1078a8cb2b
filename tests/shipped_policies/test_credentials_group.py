"""A rule `reads: [credentials]` asks about the files that people mean by it, and about none beside them."""

from functools import cache

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import Layer, load
from tests.support.cases import every
from tests.support.shipped import shipped_layer

RULE = """
id: team/keys
description: A person is asked before keys are read.
match: {reads: [credentials]}
decision: ask
reason: "`{target}` holds keys."
tests: {match: [cat .env], not_match: [ls]}
"""
PATHS = """
.env .env.production ~/.ssh/id_ed25519 ~/.kube/config $HOME/.npmrc .npmrc ~/.config/gh/hosts.yml
/home/ann/.docker/config.json ~/.config/gcloud/application_default_credentials.json ~/.aws/credentials
~/.claude/.credentials.json ~/.codex/auth.json ~/.gemini/oauth_creds.json ~/.netrc ~/.pypirc ~/.vault-token prod.tfvars
"""
ORDINARY = """
cat .env.example
cat ~/.ssh/id_rsa.pub
cat ~/.ssh/known_hosts
cat package.json
cat src/env.ts
ls ~/.ssh
test -f ~/.npmrc
echo A=1 >> .env
cp .env.example .env
ssh -i ~/.ssh/id_rsa host ls
kubectl --kubeconfig ~/.kube/config get pods
rg password src
"""


@cache
def policies():
    return load([shipped_layer(), Layer(tier="team", name="web", files={"team/keys.yaml": RULE}, origin="upload")])


def effect(line):
    call = ToolCall(
        client="c", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/repo", project_root="/repo"
    )
    return evaluate(policies(), Facts(call=call)).effect


@every("path", PATHS.split())
def test_a_file_with_keys_is_asked_about(path):
    assert effect(f"cat {path}") == "ask"


@every("line", ORDINARY.strip().splitlines())
def test_ordinary_lines_are_not(line):
    assert effect(line) != "ask"
