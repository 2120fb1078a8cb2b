"""Agents named in a prompt, and words that only look like a name."""

from baton.lib.router.mentions import NOBODY, Mentions
from tests.support.cases import every

NAMES = ("agent-debug", "code-reviewer", "test", "planner", "ultrapower:git-master", "Data Engineer", "agent-router")
MENTIONS = Mentions(NAMES)


def named(prompt):
    found = MENTIONS.mentioned(prompt).asked
    return None if found is None else NAMES[found]


@every(
    ("prompt", "name"),
    [
        ("use agent-debug to find this", "agent-debug"),
        ("Use the agent debug for it", "agent-debug"),
        ("@agent-debug why does it crash", "agent-debug"),
        ("@agent-code-reviewer look at this", "code-reviewer"),
        ("please, @code-reviewer, look at this", "code-reviewer"),
        ("let the code reviewer agent have a look", "code-reviewer"),
        ("the planner agent should do it", "planner"),
        ("ask the planner subagent", "planner"),
        ("the `test` agent", "test"),
        ("use code-reviewer for this branch", "code-reviewer"),
        ("run ultrapower:git-master", "ultrapower:git-master"),
        ("ask git-master to squash", "ultrapower:git-master"),
        ("have the data engineer agent look", "Data Engineer"),
        ("ask the planner agent first, then @code-reviewer", "planner"),
        ("do not use agent-debug, use code-reviewer", "code-reviewer"),
        ("\u201cplanner\u201d agent, please", "planner"),
        ("fix it with the code reviewer agent", "code-reviewer"),
        ("edit my file, then let the planner agent write", "planner"),
        ("don't forget to ask the planner agent", "planner"),
        ("use agent-planner for this", "planner"),
        ("verwende den planner-Agenten", "planner"),
        ("nutze code-reviewer daf\u00fcr", "code-reviewer"),
        ("utilise l'agent code-reviewer", "code-reviewer"),
        ("demande \u00e0 l'agent planner", "planner"),
        ("usa el agente code-reviewer", "code-reviewer"),
        ("use o agente planner", "planner"),
        ("使用 code-reviewer 智能体", "code-reviewer"),
        ("使用code-reviewer检查", "code-reviewer"),
        ("code-reviewerを使ってください", "code-reviewer"),
        ("planner エージェントに頼んで", "planner"),
        ("code-reviewer 에이전트를 사용해 주세요", "code-reviewer"),
    ],
)
def test_a_name_that_is_meant_is_found(prompt, name):
    assert named(prompt) == name


@every(
    "prompt",
    [
        "write a test",
        "run the test again",
        "the rest agent",
        "mail me at ann@test.example",
        "never use agent-debug",
        "don't use the planner agent",
        "work without the code-reviewer agent",
        "the user agent string is wrong",
        "Update the code-reviewer agent to look at tests too",
        "the planner agent gave a bad answer, ignore it",
        "I used the planner agent yesterday",
        "what does the planner agent do",
        "the planner agent's plan is wrong",
        "why did you call the planner agent",
        "use CodeReviewer to load it",
        "@CodeReviewer on the class",
        "verwende den planner-Agenten nicht",
        "n'utilise pas l'agent code-reviewer",
        "no uses el agente code-reviewer",
        "n\u00e3o use o agente planner",
        "不要使用code-reviewer",
        "code-reviewerを使わないで",
        "planner 에이전트를 사용하지 마세요",
        "fix our `planner` subagent",
        "create a test agent",
        "who is your travel agent",
        "@",
        "agent",
        "use",
        "",
        "-" * 3_000 + " agent",
        "a-" * 1_500 + "agent",
    ],
)
def test_other_words_are_no_mention(prompt):
    assert named(prompt) is None


def test_a_roster_without_agents_has_no_mentions():
    assert Mentions(()).mentioned("use agent-debug") == NOBODY


@every(
    ("prompt", "unwanted"),
    [
        ("the planner agent gave a bad answer, ignore it", {"planner"}),
        ("don't use the code-reviewer agent, ask the planner agent", {"code-reviewer"}),
        ("the planner agent was slow, but ask the planner agent again", set()),
        ("write a test", set()),
    ],
)
def test_an_excluded_agent_is_distinguished_from_a_mentioned_one(prompt, unwanted):
    assert {NAMES[number] for number in MENTIONS.mentioned(prompt).unwanted} == unwanted


def test_a_class_is_an_agent_where_an_agent_is_called_exactly_so():
    assert Mentions(["ReviewAgent"]).mentioned("use ReviewAgent for it").asked == 0
    assert Mentions(["review-agent"]).mentioned("use ReviewAgent for it").asked is None
