"""`baton hook CLIENT EVENT [block]`: asks Baton about one event and prints its answer; hooks/README.md is the contract.

It takes what `hooks/baton-hook.sh` takes and does what that does, but for one thing: it refuses in the client's own words and
never by its exit code, as PowerShell passes on none but 0 and 1.
"""

import os
import sys

from baton.local.hook import project
from baton.local.hook.request import LOOPBACK, Answer, NoAnswerError, Url, post

USAGE = "baton hook: asks a server about one event of an agent's client; usage: baton hook CLIENT EVENT [block]"
NEVER_BLOCKED = frozenset(
    {"Stop", "SubagentStop", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "PreCompress"}
)
"""A refused Stop would keep the agent running for ever, and what has happened cannot be refused."""
_QUIET = frozenset({"Stop", "SessionEnd", "SubagentStart", "SubagentStop", "PreCompress"})
"""Events whose answer shows a person nothing."""
_BACKGROUND = frozenset({"PostToolUse", "PostToolUseFailure", "PermissionDenied"})
"""Events that nobody waits for, but in `_AWAITED`: there one ends a sub-agent, or brings advice."""
_AWAITED = frozenset({("gemini", "PostToolUse"), ("gemini", "PostToolUseFailure"), ("qwen", "PostToolUse")})
_SECONDS = {"UserPromptSubmit": 14.0, "SessionStart": 4.0, "SessionEnd": 2.5}
_YES = frozenset({"1", "true", "yes", "on"})
_ENVIRONMENT = ("BATON_URL", "BATON_USER", "BATON_TOKEN", "BATON_CA_FILE")
_SESSION_KEYS = (b'"session_id"', b'"sessionId"', b'"conversation_id"')


def main(words: list[str]) -> int:
    """Run the hook with the words behind `baton hook`, and return the exit status."""
    if len(words) not in {2, 3, 4}:
        print(USAGE, file=sys.stderr)
        return 1
    hook = Hook(words[0], words[1], words[2] if words[2:] else "")
    if hook.is_disabled and hook.event != "SessionStart":
        sys.stdin.buffer.read()
        return 0
    is_awaited = (hook.client, hook.event) in _AWAITED or hook.debug or words[-1] == "now"
    if hook.event in _BACKGROUND and not is_awaited:
        _go_on_alone([hook.client, hook.event, hook.on_failure, "now"])
        return 0
    body = sys.stdin.buffer.read()
    try:
        said = hook.run(body)
    except Exception as error:  # noqa: BLE001 - a hook that ends by an error of its own would let the call run
        said = hook.fail(f"baton hook failed: {type(error).__name__}: {error}", body)
    # A thread may still wait for the look-up of a name, and Python would wait for that. Nothing is to be cleaned up.
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Hook:
    """One event, and the settings in force: those of the environment, then those of the config file."""

    def __init__(self, client: str, event: str, on_failure: str) -> None:
        env = os.environ
        self.client, self.event = client, event
        self.home = env.get("HOME") or os.path.expanduser("~")
        self.stored = _stored(os.path.join(env.get("XDG_CONFIG_HOME") or self._in_home(".config"), "baton", "config"))
        values = {name: env.get(name) or self.stored.get(name, "") for name in _ENVIRONMENT}
        self.url = values["BATON_URL"] or "http://127.0.0.1:8080"
        self.user, self.token, self.ca_file = values["BATON_USER"], values["BATON_TOKEN"], values["BATON_CA_FILE"]
        self.on_failure = env.get("BATON_ON_FAILURE") or on_failure or "allow"
        self.is_disabled = env.get("BATON_DISABLED", "") in _YES
        self.debug = any(env.get(name) in {"1", "true"} for name in ("BATON_DEBUG", "OMC_DEBUG"))
        self.seconds = _SECONDS.get(event, 1.5)
        self.folder, self.prefix = "", "failed,"
        self.agents, self.agents_sum = b"", ""
        """What the client's agents' files say, and its checksum."""

    def run(self, body: bytes) -> bytes:
        """Ask the server, and return what is printed."""
        try:
            url = Url(self.url)
            self._recall(url)
            found = self._ask(url, body)
        except NoAnswerError as error:
            return self.fail(f"no answer within {self.seconds:g} s ({error})", body, hung=error.hung)
        text = found.body.rstrip(b"\n")
        if not (found.status[:1] == "2" and found.status[1:3].isdigit()):
            return self.fail(f"answered {found.status}", body)
        if not (text.startswith(b"{") and text.endswith(b"}")):
            return self.fail("answered something that is not JSON", body)
        self._forget()
        dropped = self._dropped(text.decode("utf-8", "replace"))
        if dropped is not None:
            return dropped
        if self.agents_sum and found.header("baton-wants") == "agents":
            self._send_agents(url)
        if self.debug:
            for name, before in (("baton-decision", f"baton: {self.event}: "), ("baton-message", "")):
                if value := found.header(name):
                    print(before + value, file=sys.stderr)
        return text + b"\n"

    def _in_home(self, *parts: str) -> str:
        return os.path.join(self.home, *parts)

    def _recall(self, url: Url) -> None:
        """Wait for less while the server hangs. A planted file shortens the wait, it skips nothing."""
        is_local = url.host in LOOPBACK or url.host.startswith("127.")
        self.connect_s, again = (0.3, 0.3) if is_local else (self.seconds, 0.7)
        folder = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or self._in_home(".cache")
        name = self.url.removesuffix("/").partition("://")[2] or self.url
        name = name.rpartition("@")[2].replace("/", "_")
        if os.name == "nt":
            name = name.replace(":", "_")  # a colon would name a stream of a file there
        self.folder, self.prefix = os.path.join(folder, "baton"), f"failed-{name},"
        if os.path.exists(self._mark("hung")):
            self.seconds = 1.5 if self.event in {"SessionStart", "UserPromptSubmit"} else again

    def _ask(self, url: Url, body: bytes) -> Answer:
        return post(
            url,
            self._headers(),
            body,
            target=f"/hooks/{self.client}?event={self.event}",
            times=(self.connect_s, self.seconds),
            ca_file=self.ca_file,
        )

    def _send_agents(self, url: Url) -> None:
        """Send what the server does not know yet; the session goes on whatever comes of it."""
        headers = [(b"Baton-User", _clean(self.user or login())), (b"Content-Type", b"application/octet-stream")]
        if self.token:
            headers.append((b"Authorization", b"Bearer " + _clean(self.token)))
        try:
            post(
                url,
                headers,
                self.agents,
                target=f"/inventory/{self.client}?checksum={self.agents_sum}",
                times=(self.connect_s, 1.5),
                ca_file=self.ca_file,
                method="PUT",
            )
        except NoAnswerError:
            return

    def _headers(self) -> list[tuple[bytes, bytes]]:
        env = os.environ
        remote, root = project.find(self._start())
        values = {
            "Authorization": f"Bearer {self.token}" if self.token else "",
            "Baton-User": self.user or login(),
            "Baton-Project": env.get("BATON_PROJECT") or remote or root,
            "Baton-Root": root,
            "Baton-Disabled": "1" if self.is_disabled else "",
            "Baton-Orchestrator-Disabled": "1" if env.get("HTMLGRAPH_ORCHESTRATOR_DISABLED", "") in _YES else "",
            "Baton-On-Failure": self.on_failure,
            "Baton-Debug": "1" if self.debug else "",
            "Baton-Accept-Rewrites": self.stored.get("BATON_ACCEPT_REWRITES", ""),
            "Baton-Installed": self.stored.get("BATON_INSTALLED", ""),
            "Baton-Protocol": "1",
            "Traceparent": env.get("TRACEPARENT", ""),
            "Content-Type": "application/json",
        }
        if self.event == "SessionStart" or self.event in _BACKGROUND:
            values["Baton-Client"] = env.get("AI_AGENT", "")
        if self.event == "SessionStart":
            values |= self._about_the_machine(root)
        return [(name.encode(), clean) for name, value in values.items() if (clean := _clean(value))]

    def _about_the_machine(self, root: str) -> dict[str, str]:
        import platform

        from baton.local.hook.agents import gather
        from baton.local.hook.session_start import checksum, count_work_items, digests, settings_file

        self.agents = gather(self.client, self._start(), root, os.environ, self.home)
        self.agents_sum = checksum(self.agents) if self.agents else ""
        settings = settings_file(self.client, os.environ, self.home)
        return {
            "Baton-Work-Items": count_work_items(self.stored.get("BATON_WORK_ITEMS_COMMAND", ""), root),
            "Baton-Shim": str(os.getpid()),
            "Baton-Digests": digests(self.client, *shim_files(), settings),
            "Baton-Manifest": self.stored.get(f"BATON_DIGESTS_{self.client.upper().replace('-', '_')}", ""),
            "Baton-Machine": platform.node(),
            "Baton-Agents": self.agents_sum,
        }

    def _start(self) -> str:
        start = os.environ.get("CLAUDE_PROJECT_DIR", "")
        return start if os.path.isdir(start) else "."

    def _dropped(self, body: str) -> bytes | None:
        """Return what is said in place of an answer that is not believed, None for one that is."""
        from_file = self.stored.get("BATON_ACCEPT_REWRITES")
        if from_file or not any(
            word in body for word in ("updated", "modifiedArgs", '"tool_input"', '"allow"', '"approve"', "\\u00")
        ):
            return None
        from baton.local.hook import answer

        if not answer.is_suspect(body) or answer.is_harmless(self.client, self.event, body):
            return None
        if self.event == "PreToolUse" and (self.on_failure == "block" or answer.holds_refusal(body)):
            text = f"{answer.DROPPED} Ask the person to run baton doctor."
            return answer.refusal(self.client, self.event, text).encode() + b"\n"
        text = f"{answer.DROPPED} Run baton doctor. BATON_ACCEPT_REWRITES in the config file accepts such answers."
        return answer.warning(self.client, self.event, text).encode() + b"\n"

    def fail(self, why: str, body: bytes, *, hung: bool = False) -> bytes:
        """Let the client go on, or refuse; tell the person once a session what it means."""
        from baton.local.hook import answer

        if self.debug:
            print(f"baton: {self.event}: not decided: {why}", file=sys.stderr)
        if hung:
            self._remember("hung")
        server = self.url.rpartition("@")[2]
        if self.on_failure != "block":
            is_quiet = self.event in _QUIET or (self.client, self.event) == ("qwen", "PreToolUse")
            if is_quiet or not self._is_first(body):
                return b""
            text = (
                f"Baton is not checking this session: the server at {server} could not be asked: {why}."
                " Start it (baton serve), or find the cause (baton doctor)."
            )
            return answer.warning(self.client, self.event, text).encode() + b"\n"
        if self.event in NEVER_BLOCKED:
            return b""
        text = (
            f"baton: {self.event} refused, because the server at {server} could not be asked: {why}. The person can start"
            " it (baton serve), find the cause (baton doctor), or restart the client with BATON_ON_FAILURE=allow."
        )
        said = answer.refusal(self.client, self.event, text)
        if not said:
            print(text, file=sys.stderr)
        return said.encode() + b"\n" if said else b""

    def _is_first(self, body: bytes) -> bool:
        """Return whether the person was not told yet in this session; it is noted. A session's start always tells."""
        session = _session(body)
        if self.event != "SessionStart" and os.path.exists(self._mark(session)):
            return False
        return self._remember(session) or self.event == "SessionStart"

    def _mark(self, what: str) -> str:
        return os.path.join(self.folder, self.prefix + what)

    def _remember(self, what: str) -> bool:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with open(self._mark(what), "wb"):
                return True
        except OSError:
            return False

    def _forget(self) -> None:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return
        for name in names:
            if name.startswith(self.prefix):
                try:
                    os.remove(os.path.join(self.folder, name))
                except OSError:
                    continue


def shim_files() -> tuple[str, str]:
    """Return the two files that are measured: this one, and the request that it makes."""
    return os.path.abspath(__file__), os.path.join(os.path.dirname(os.path.abspath(__file__)), "request.py")


def _stored(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return {}
    values: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.removesuffix("\r").partition("=")
        if equals and value:
            values.setdefault(name, value)
    return values


def _clean(value: str) -> bytes:
    """Return a header's value without control characters, which could start another header."""
    return bytes(byte for byte in os.fsencode(value) if byte >= 0x20 and byte != 0x7F)  # noqa: PLR2004 - ASCII


def login() -> str:
    """Return the name that this user has logged in with, "" if it is unknown."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _session(body: bytes) -> str:
    """Return the session's id, so that its person is told once; the parent process where the event names none."""
    for key in _SESSION_KEYS:
        value = body.partition(key)[2].lstrip(b" \t\r\n:")
        if value.startswith(b'"'):
            found = value[1:65].partition(b'"')[0].decode("ascii", "replace")
            if name := "".join(letter for letter in found if (letter.isalnum() and letter.isascii()) or letter in "-_"):
                return name
    return str(os.getppid())


def _go_on_alone(words: list[str]) -> None:
    """Ask in a process of its own: nobody waits for the answer to what has happened already. It reads the event itself."""
    import subprocess

    code = "import sys; from baton.local.hook.main import main; sys.exit(main(sys.argv[1:]))"
    quiet = subprocess.DEVNULL
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        subprocess.Popen([sys.executable, "-c", code, *words], stdout=quiet, stderr=quiet, creationflags=flags)
    else:
        subprocess.Popen([sys.executable, "-c", code, *words], stdout=quiet, stderr=quiet, start_new_session=True)
