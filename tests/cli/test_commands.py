"""`baton mode`, `explain`, `status`, `doctor` as a person or a script runs them, against a real server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support.command_line import clean_environment, run
from tests.support.server import until

EDIT = {
    "session_id": "commands",
    "tool_name": "Edit",
    "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"},
}


@pytest.fixture
def baton(server, tmp_path, user):
    """Run `baton …` as the test's own person in a git project, with a home of its own."""
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url, BATON_USER=user)
    return lambda *words, stdin="", **more: run(*words, env=env | more, cwd=project, stdin=stdin)


def ask(server, user):
    with server.client(**{"Baton-User": user, "Baton-Project": "github.com/acme/shop"}) as http:
        return http.post("/pre-tool-use", json=EDIT).json()["decision"]


def test_enabling_is_strict_and_disabling_ends_it_for_the_caller_alone(server, baton, user):
    assert ask(server, user) == "allow"
    said = baton("mode", "enable")
    assert said.returncode == 0, said.stderr
    assert "level: strict" in said.stdout
    assert "baton mode disable" in said.stdout
    assert (ask(server, user), ask(server, "bob")) == ("block", "allow")
    baton("mode", "enable", "--level", "guidance")
    assert ask(server, user) == "allow"
    assert json.loads(baton("mode", "status", "--json").stdout)["level"] == "guidance"
    baton("mode", "enable", "--reason", "sprint")
    assert baton("mode", "disable").returncode == 0
    assert ask(server, user) == "allow"


def test_the_status_of_the_mode_shows_the_chain(server, baton):
    baton("mode", "enable", "--reason", "sprint")
    shown = baton("mode", "status").stdout
    assert "is on (level: strict)" in shown
    assert "user_project" in shown
    assert "sprint" in shown
    cleared = baton("mode", "clear").stdout
    assert "is off" in cleared


def test_disabling_stops_work_items_from_enabling(server, baton, user):
    baton("mode", "disable")
    with server.client(**{"Baton-User": user, "Baton-Project": "github.com/acme/shop"}) as http:
        body = {"session_id": "c2", "work_items": 4}
        assert http.post("/session-start", json=body).json()["mode"]["enabled"] is False
    baton("mode", "clear")


def test_a_payload_is_explained_without_being_recorded(server, baton):
    payload = json.dumps({"tool_name": "Bash", "tool_input": {"command": "cd x && uv run pytest -q"}})
    shown = baton("explain", "--level", "strict", "--all", stdin=payload)
    assert shown.returncode == 0, shown.stderr
    assert "block" in shown.stdout
    assert "rule orchestrator/test-or-build: deny" in shown.stdout
    assert "runs pytest -q" in shown.stdout
    assert "not guardrails/" in shown.stdout
    as_json = json.loads(baton("explain", "--json", stdin=payload).stdout)
    assert as_json["decision"] == "allow"


TYPED = [
    (("rm -rf ~",), "block", "rule guardrails/"),
    (("git status",), "allow", "runs git status"),
    (("--tool", "Edit", "src/a.py"), "allow", "no rule matched"),
    (("--tool", "WebFetch", "https://example.org/"), "allow", "no rule matched"),
    (("--tool", "Write", '{"file_path": "a.py", "content": "x"}'), "allow", "no rule matched"),
]


@pytest.mark.parametrize(("words", "decision", "said"), TYPED)
def test_a_typed_call_is_explained_without_json(baton, words, decision, said):
    shown = baton("explain", *words)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"{decision} (")
    assert said in shown.stdout


def test_a_recorded_decision_is_explained(server, baton, user):
    with server.client(**{"Baton-User": user}) as http:
        made = http.post("/pre-tool-use", json=EDIT | {"session_id": "c3"}).json()["decision_id"]
        until(lambda: http.get(f"/decisions/{made}").status_code == 200)
    _, *listed = baton("decisions", "--session", "c3").stdout.splitlines()
    assert len(listed) == 1
    assert (made in listed[0], "Edit a.py" in listed[0]) == (True, True)
    assert json.loads(baton("decisions", "--rule", "guardrails/fork-bomb", "--json").stdout) == []
    shown = baton("explain", made)
    assert shown.returncode == 0, shown.stderr
    assert "Edit a.py" in shown.stdout
    assert baton("explain", made, BATON_USER="bob").returncode == 1
    assert "guardrails/fork-bomb (deny): " in baton("explain", made, "--all").stdout
    assert "guardrails/fork-bomb" not in shown.stdout


def test_decisions_are_filtered_by_time_and_person_and_exported(server, baton, user):
    with server.client(**{"Baton-User": user, "Baton-Project": "acme/export"}) as http:
        made = http.post("/pre-tool-use", json=EDIT | {"session_id": "c-export"}).json()["decision_id"]
        until(lambda: http.get(f"/decisions/{made}").status_code == 200)
    own = ("--session", "c-export")
    for more in [("--since", "1h"), ("--project", "acme/export"), ("--user", user), ("--all",)]:
        assert made in baton("decisions", *own, *more).stdout, more
    for more in [("--until", "1h"), ("--project", "acme/other"), ("--user", "bob")]:
        assert made not in baton("decisions", *own, *more).stdout, more
    assert made in baton("decisions", *own, BATON_USER="bob").stdout
    assert made not in baton("decisions", *own, "--mine", BATON_USER="bob").stdout
    assert json.loads(baton("decisions", "export", *own, "--since", "7d").stdout)["id"] == made
    header, row = baton("decisions", "export", *own, "--format", "csv").stdout.splitlines()
    assert "id" in header.split(",")
    assert made in row
    assert baton("decisions", "export", *own, "--follow").returncode == 2


def test_a_rule_is_made_of_a_recorded_decision(server, baton, user):
    call = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}, "session_id": "c9"}
    with server.client(**{"Baton-User": user}) as http:
        made = http.post("/pre-tool-use", json=call).json()["decision_id"]
        until(lambda: http.get(f"/decisions/{made}").status_code == 200)
    shown = baton("policy", "test", "--from", made)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("id: own/no-make-deploy\n")
    assert "for own/no-make-deploy.yaml" in shown.stderr
    assert json.loads(baton("policy", "test", "--from", made, "--json").stdout)["group"] == "match"
    assert baton("policy", "test", "--from", "none").returncode == 1


BAD_EXPLAIN = [("", "no call: give one"), ("{", "not JSON"), ("[]", "must be a JSON object"), ("{}", "tool_name")]


@pytest.mark.parametrize(("stdin", "said"), BAD_EXPLAIN)
def test_a_bad_payload_is_a_one_line_error(baton, stdin, said):
    found = baton("explain", stdin=stdin)
    assert found.returncode == 1
    assert any(part in found.stderr for part in said.split("|"))
    assert len(found.stderr.splitlines()) == 1


UNUSABLE = [("BATON_CA_FILE", "/nowhere"), ("BATON_URL", "http://[::1")]


@pytest.mark.parametrize(("name", "value"), UNUSABLE)
def test_unusable_settings_are_a_one_line_error(baton, name, value):
    found = baton("status", **{name: value})
    assert (found.returncode, len(found.stderr.splitlines())) == (1, 1)
    assert f"`{name}` is `{value}`" in found.stderr
    looked = baton("doctor", **{name: value}).stdout
    assert f"error   `{name}` is `{value}`" in looked
    assert "NOT CHECKING SESSIONS HERE" in looked


def test_status_has_text_and_json(baton):
    shown = baton("status")
    assert shown.returncode == 0, shown.stderr
    assert "redis up, database up" in shown.stdout
    assert json.loads(baton("status", "--json").stdout)["status"] == "ready"


def test_doctor_names_each_problem_and_its_fix(baton):
    shown = baton("doctor", BATON_HOEM="/x")
    assert shown.returncode == 0, shown.stdout
    assert "did you mean `BATON_HOME`" in shown.stdout
    assert "baton hooks install" in shown.stdout
    broken = baton("doctor", "--json", BATON_URL="http://127.0.0.1:9")
    assert broken.returncode == 1
    assert "error" in {finding["verdict"] for finding in json.loads(broken.stdout)}


@pytest.fixture
def answering_status(server):
    """Serve the server's own status with changes; None takes a field away."""
    with server.client() as http:
        status = http.get("/status").json()
    changes = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = {name: value for name, value in (status | changes).items() if value is not None}
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as lacking:
        thread = threading.Thread(target=lacking.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{lacking.server_port}", changes
        lacking.shutdown()
        thread.join()


def test_missing_word_vectors_are_reported(answering_status, baton):
    url, changes = answering_status
    assert "word vectors" not in baton("status", BATON_URL=url).stdout + baton("doctor", BATON_URL=url).stdout
    changes["word_table"] = "missing"
    for word in ("status", "doctor"):
        assert "the table of word vectors is missing" in baton(word, BATON_URL=url).stdout


def test_uncounted_decisions_are_not_shown_as_zero(answering_status, baton):
    url, changes = answering_status
    changes |= {"decisions": {}}
    assert "  decisions: none yet\n" in baton("status", BATON_URL=url).stdout
    changes |= {"decisions": None, "database": "down"}
    assert "  decisions: not known while the database is down\n" in baton("status", BATON_URL=url).stdout


@pytest.mark.parametrize(
    "words", [("mode", "enable"), ("mode", "status"), ("status",), ("explain", "0" * 8 + "-" + "0" * 27)]
)
def test_an_absent_server_is_a_one_line_error_with_the_remedy(baton, words):
    found = baton(*words, BATON_URL="http://127.0.0.1:9")
    assert found.returncode == 1
    assert "make serve" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_an_unknown_command_and_an_unknown_level_are_refused(baton):
    assert baton("mod").returncode == 2
    found = baton("mode", "enable", "--level", "harsh")
    assert found.returncode == 2
    assert "guidance" in found.stderr


def test_sessions_with_changed_hook_files_are_no_missing_part(answering_status, baton):
    url, changes = answering_status
    changes["degraded"] = {"installation": 3}
    said = baton("status", BATON_URL=url).stdout
    assert "  decided without: nothing was missing\n" in said
    assert "3 sessions started with hook files other than the installed ones" in said
