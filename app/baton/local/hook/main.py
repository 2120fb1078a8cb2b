"""`baton hook CLIENT EVENT [block] [wait] [CONFIG]`: asks Baton about one event, prints its answer. Contract: hooks/README.md.

It behaves like `hooks/baton-hook.sh`, with one difference: it refuses in the client's own words, never by exit code.
PowerShell passes on only 0 and 1.
"""

import os
import sys

from baton.local.hook import project
from baton.local.hook.clients import place_of, settings_file
from baton.local.hook.request import LOOPBACK, Answer, NoAnswerError, Url, post

TYPE_CHECKING = False  # as in `typing`: its import takes longer than a hook may
if TYPE_CHECKING:
    from collections.abc import MutableMapping

USAGE = "baton hook: asks a server about one event of an agent's client; usage: baton hook CLIENT EVENT [block] [wait] [CONFIG]"
NEVER_BLOCKED = frozenset(
    {"Stop", "SubagentStop", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "PreCompress"}
)
"""A refused Stop would keep the agent running for ever, and what has happened cannot be refused."""
_QUIET = frozenset({"Stop", "SessionEnd", "SubagentStart", "SubagentStop", "PreCompress"})
"""Events whose answer shows a person nothing."""
BACKGROUND = frozenset({"PostToolUse", "PostToolUseFailure", "PermissionDenied"})
"""Events that nobody waits for, but of some clients (`Place.awaited`). Claude Code runs their commands in the background,
which it cannot do with http hooks. Codex before 0.148 omits a hook marked so, and there the shim does not wait."""
SECONDS = {"UserPromptSubmit": 14.0, "SessionStart": 4.0, "SessionEnd": 2.5}
"""Timeouts of events, in seconds; 1.5 for all others."""
_YES = frozenset({"1", "true", "yes", "on"})
_MODE_OFF = "HTMLGRAPH_ORCHESTRATOR_DISABLED"
_OF_THE_PERSON = (
    "BATON_URL", "BATON_USER", "BATON_TOKEN", "BATON_CA_FILE", "BATON_PROJECT", "BATON_DISABLED", "BATON_ON_FAILURE",
    _MODE_OFF,
)  # fmt: skip
_OF_THE_NETWORK = (
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "OPENSSL_CONF", "SSLKEYLOGFILE", "HOSTALIASES",
)  # fmt: skip
"""Variables that count where the client was started with them: what a project's files set later redirects no hook."""
_DOCTOR = "Find the cause: baton doctor."
_NO_TOKEN = ("does not accept the token of the hooks", "Sign in again: baton auth login, then baton hooks install.")
_STATUSES = {
    "401": _NO_TOKEN,
    "403": _NO_TOKEN,
    "426": ("speaks another version of the hooks", "Install those of this version: baton hooks install."),
}
"""What a status means, and what the person can do."""
_SUSPECT = (
    "updatedInput", "modifiedArgs", "updated_input", '"tool_input"', '"allow"', '"approve"',
    *(f"\\u00{digit}" for digit in "234567"),
)  # fmt: skip
"""Words of an answer that need a closer check. Nearly all answers hold none."""
_CONTROL = bytes((*range(0x20), 0x7F))
_SESSION_KEYS = (b'"session_id"', b'"sessionId"', b'"conversation_id"')


def main(words: list[str]) -> int:
    """Run the hook with the words behind `baton hook`, and return the exit status."""
    hook = Hook.of(words)
    if hook is None:
        print(USAGE, file=sys.stderr)
        return 1
    if hook.is_disabled and hook.event != "SessionStart":
        sys.stdin.buffer.read()
        return 0
    is_awaited = hook.event in place_of(hook.client).awaited or hook.debug or words[-1] == "now"
    if hook.event in BACKGROUND and not is_awaited:
        _go_on_alone([hook.client, hook.event, hook.on_failure, hook.config, "now"])
        return 0
    said = hook.run(sys.stdin.buffer.read())
    # A thread may still wait for DNS, and Python would wait for the thread. Nothing needs cleaning up.
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Hook:
    """One event, and the settings in force from the config file and the client's initial environment."""

    @classmethod
    def of(cls, words: list[str]) -> "Hook | None":
        """Return the hook for the arguments of `baton hook`, None if they are invalid."""
        is_known = words[-1:] == ["now"]  # the process that has started this one has looked at the environment
        rest = words[2 : len(words) - is_known]
        on_failure = rest.pop(0) if rest[:1] in (["block"], ["allow"]) else ""
        waits = rest[:1] == ["wait"]
        rest = rest[waits:]
        if len(words) < 2 or len(rest) > 1:  # noqa: PLR2004 - client and event
            return None
        hook = cls(words[0], words[1], on_failure, "".join(rest), is_known=is_known)
        hook.waits = waits
        return hook

    def __init__(
        self,
        client: str,
        event: str,
        on_failure: str,
        config: str,
        *,
        is_known: bool = False,
        env: "MutableMapping[str, str] | None" = None,
    ) -> None:
        self.env: MutableMapping[str, str] = os.environ if env is None else env
        env = self.env
        self.client, self.event, self.config = client, event, config
        self.ignored: list[str] = []
        self._started: dict[str, str] | None = dict(env) if is_known else None
        if not config and not is_known:
            self._begin_at_home()
        self.home = env.get("HOME") or os.path.expanduser("~")
        self.config = config or os.path.join(env.get("XDG_CONFIG_HOME") or self._in_home(".config"), "baton", "config")
        self.stored = read_config(self.config)
        self._keep_started(_OF_THE_PERSON)
        own = self.stored.get("BATON_URL", "http://127.0.0.1:8080").removesuffix("/")
        self.url = (env.get("BATON_URL") or own).removesuffix("/")
        self.user = env.get("BATON_USER") or self.stored.get("BATON_USER", "")
        # A token goes to its own server alone: the environment's token to the environment's server.
        pairs = dict(self.stored) if self.url == own else {}
        if env.get("BATON_URL"):
            pairs |= {name: env[name] for name in ("BATON_TOKEN", "BATON_CA_FILE") if env.get(name)}
        elif env.get("BATON_TOKEN"):
            self.ignored.append("BATON_TOKEN")
        self.token, self.ca_file = pairs.get("BATON_TOKEN", ""), pairs.get("BATON_CA_FILE", "")
        self.on_failure = env.get("BATON_ON_FAILURE") or on_failure or "allow"
        self.is_disabled = env.get("BATON_DISABLED", "") in _YES
        self.debug = env.get("BATON_DEBUG") in {"1", "true"}
        self.seconds = SECONDS.get(event, 1.5)
        self.waits = False
        """Whether the client allows the time to wait for a person."""
        self.folder, self.prefix = "", "failed,"
        self.agents, self.agents_sum = b"", ""
        """What the client's agents' files say, and its checksum."""

    def _begin_at_home(self) -> None:
        """Restore the client's initial HOME, if known."""
        from baton.local.hook import start_environment

        self._started = start_environment.read()
        for name in ("HOME", "XDG_CONFIG_HOME") if self._started else ():
            self.env.pop(name, None)
            if name in self._started:
                self.env[name] = self._started[name]

    def _keep_started(self, names: tuple[str, ...]) -> None:
        """Remove the variables set after the client's start."""
        for name in filter(self.env.get, names):
            if self._started is None:
                self._begin_at_home()
            if self._started and self._started.get(name) == self.env[name]:
                continue
            del self.env[name]
            self.ignored.append(name)

    def run(self, body: bytes) -> bytes:
        """Ask the server, and return the output."""
        try:
            return self._run(body)
        except Exception as error:  # noqa: BLE001 - a hook crashing would let the call run
            return self.fail(f"was not asked: baton hook failed ({type(error).__name__}: {error})", _DOCTOR, body)

    def _run(self, body: bytes) -> bytes:
        try:
            url = Url(self.url)
            self._recall(url)
            found = self._await_answer(url, body, self._ask(url, body))
            if found.header("baton-wants").startswith("texts "):
                found = self._send_texts(url, found)
        except NoAnswerError as error:
            return self.fail(str(error), error.advice or _DOCTOR, body, hung=error.hung)
        text = found.body.rstrip(b"\n")
        if not (found.status[:1] == "2" and found.status[1:3].isdigit()):
            return self.fail(*_STATUSES.get(found.status[:3], (f"answered {found.status}", _DOCTOR)), body)
        if not (text.startswith(b"{") and text.endswith(b"}")):
            return self.fail("answered something that is not JSON", _DOCTOR, body)
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
        """Shorten the timeout while the server hangs. A planted file cannot skip the question."""
        is_local = url.host in LOOPBACK or url.host.startswith("127.")
        if not is_local:
            self._keep_started(_OF_THE_NETWORK)
        self.connect_s, again = (0.3, 0.3) if is_local else (self.seconds, 0.7)
        folder = self.env.get("XDG_RUNTIME_DIR") or self.env.get("XDG_CACHE_HOME") or self._in_home(".cache")
        name = self.url.partition("://")[2] or self.url
        name = name.rpartition("@")[2].replace("/", "_")
        if os.name == "nt":
            name = name.replace(":", "_")  # a colon would name a stream of a file there
        self.folder, self.prefix = os.path.join(folder, "baton"), f"failed-{name},"
        if os.path.exists(self._mark("hung")):
            self.seconds = 1.5 if self.event in {"SessionStart", "UserPromptSubmit"} else again

    def _send_texts(self, url: Url, first: Answer) -> Answer:
        """Ask again with the texts requested by the server. An answer without an opinion keeps the first one."""
        from baton.local.hook.agents import skill_texts

        _, name, about = f"{first.header('baton-wants')}  ".split(" ")[:3]
        _, root = project.find(self._start())
        body = skill_texts(name, self._start(), root, self.env, self.home)
        found = self._ask(url, body, f"&about={about}")
        return first if found.body.strip() == b"{}" else found

    def _await_answer(self, url: Url, body: bytes, first: Answer) -> Answer:
        """Wait until a person has answered, then ask again. The first answer is a refusal: it stays if anything fails."""
        word, seconds, name = f"{first.header('baton-wants')}  ".split(" ")[:3]
        if not (self.waits and word == "wait" and name.isidentifier() and seconds.isdecimal() and len(seconds) <= 3):  # noqa: PLR2004 - digits
            return first
        usual, self.seconds = self.seconds, int(seconds) + 5.0
        try:
            waited = self._ask(url, b"", f"&about=wait+{seconds}+{name}")
            self.seconds = usual
            found = self._ask(url, body, "&about=again") if waited.header("baton-wants") == "again" else first
        except NoAnswerError:
            return first
        return found if found.status[:3] == "200" and found.body[:1] == b"{" else first

    def _ask(self, url: Url, body: bytes, more: str = "") -> Answer:
        return post(
            url,
            self._headers(),
            body,
            target=f"/hooks/{self.client}?event={self.event}{more}",
            times=(self.connect_s, self.seconds),
            ca_file=self.ca_file,
        )

    def _send_agents(self, url: Url) -> None:
        """Send the agents unknown to the server. A failure does not stop the session."""
        headers = [(b"Baton-User", clean(self.user or login())), (b"Content-Type", b"application/octet-stream")]
        if self.token:
            headers.append((b"Authorization", b"Bearer " + clean(self.token)))
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
        env = self.env
        remote, root = project.find(self._start())
        values = {
            "Authorization": f"Bearer {self.token}" if self.token else "",
            "Baton-User": self.user or login(),
            "Baton-Project": env.get("BATON_PROJECT") or remote or root,
            "Baton-Root": root,
            "Baton-Worktrees": project.worktrees(root),
            "Baton-Disabled": "1" if self.is_disabled else "",
            "Baton-Orchestrator-Disabled": "1" if env.get(_MODE_OFF, "") in _YES else "",
            "Baton-On-Failure": self.on_failure,
            "Baton-Debug": "1" if self.debug else "",
            "Baton-Accept-Rewrites": self.stored.get("BATON_ACCEPT_REWRITES", ""),
            "Baton-Installed": self.stored.get("BATON_INSTALLED", ""),
            "Baton-Protocol": "1",
            "Traceparent": env.get("TRACEPARENT", ""),
            "Content-Type": "application/json",
        }
        if self.event == "SessionStart" or self.event in BACKGROUND:
            values["Baton-Client"] = env.get("AI_AGENT", "")
        if self.event in {"SessionStart", "UserPromptSubmit"}:
            values["Baton-Shim"] = str(os.getpid())
        if self.event == "SessionStart":
            values |= self._about_the_machine(root)
        return [(name.encode(), found) for name, value in values.items() if (found := clean(value))]

    def _about_the_machine(self, root: str) -> dict[str, str]:
        import platform

        from baton.local.hook.agents import gather
        from baton.local.hook.session_start import checksum, count_work_items, digests, models

        self.agents = gather(self.client, self._start(), root, self.env, self.home)
        self.agents_sum = checksum(self.agents) if self.agents else ""
        settings = settings_file(self.client, self.env, self.home)
        return {
            "Baton-Work-Items": count_work_items(self.stored.get("BATON_WORK_ITEMS_COMMAND", ""), root),
            "Baton-Ignored": " ".join(self.ignored),
            "Baton-Digests": digests(self.client, *shim_files(), settings),
            "Baton-Manifest": self.stored.get(f"BATON_DIGESTS_{self.client.upper().replace('-', '_')}", ""),
            "Baton-Machine": platform.node(),
            "Baton-Agents": self.agents_sum,
            "Baton-Models": models(self.client, self.env),
        }

    def _start(self) -> str:
        start = self.env.get("CLAUDE_PROJECT_DIR", "")
        return start if os.path.isdir(start) else "."

    def _dropped(self, body: str) -> bytes | None:
        """Return the replacement of an untrusted answer, None for a trusted one."""
        if self.stored.get("BATON_ACCEPT_REWRITES") or not any(word in body for word in _SUSPECT):
            return None
        from baton.local.hook import answer

        if answer.is_harmless(self.client, self.event, body):
            return None
        if self.event == "PreToolUse" and (self.on_failure == "block" or answer.holds_refusal(body)):
            text = f"{answer.DROPPED} Ask the person to run baton doctor."
            return answer.refusal(self.client, self.event, text).encode() + b"\n"
        text = f"{answer.DROPPED} Run baton doctor. BATON_ACCEPT_REWRITES in the config file accepts such answers."
        return answer.warning(self.client, self.event, text).encode() + b"\n"

    def fail(self, why: str, advice: str, body: bytes, *, hung: bool = False) -> bytes:
        """Allow or refuse without a server. Explain it to the person once per session."""
        from baton.local.hook import answer

        if self.debug:
            print(f"baton: {self.event}: not decided: the server {why}", file=sys.stderr)
        if hung:
            self._remember("hung")
        if self.ignored:
            advice += f" Ignored, as the client was not started with it: {' '.join(self.ignored)}."
        server = self.url.rpartition("@")[2]
        if self.on_failure != "block":
            is_quiet = self.event in _QUIET or self.event in place_of(self.client).deaf
            if is_quiet or not self._is_first(body):
                return b""
            text = f"Baton is not checking this session: the server at {server} {why}. {advice}"
            return answer.warning(self.client, self.event, text).encode() + b"\n"
        if self.event in NEVER_BLOCKED:
            return b""
        text = (
            f"baton: {self.event} refused, because the server at {server} {why}. What the person can do: {advice}"
            " Or restart the client with BATON_ON_FAILURE=allow."
        )
        said = answer.refusal(self.client, self.event, text)
        if not said:
            print(text, file=sys.stderr)
        return said.encode() + b"\n" if said else b""

    def _is_first(self, body: bytes) -> bool:
        """Return and record whether this is the session's first notice. A session's start always is."""
        session = session_of(body)
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
    """Return the two measured files: this one, and the request module."""
    return os.path.abspath(__file__), os.path.join(os.path.dirname(os.path.abspath(__file__)), "request.py")


def read_config(path: str) -> dict[str, str]:
    """Return the values of a config file; none without one."""
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


def clean(value: str) -> bytes:
    """Return a header's value without control characters, as they could start another header."""
    return os.fsencode(value).translate(None, _CONTROL)


def login() -> str:
    """Return this user's login name, "" if it is unknown."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "")
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def session_of(body: bytes) -> str:
    """Return the session's id, for one notice per session; the parent process if the event names none."""
    for key in _SESSION_KEYS:
        value = body.partition(key)[2].lstrip(b" \t\r\n:")
        if value.startswith(b'"'):
            found = value[1:65].partition(b'"')[0].decode("ascii", "replace")
            if name := "".join(letter for letter in found if (letter.isalnum() and letter.isascii()) or letter in "-_"):
                return name
    return str(os.getppid())


def _go_on_alone(words: list[str]) -> None:
    """Send an event about the past in a background process. It reads the event itself."""
    import subprocess

    code = "import sys; from baton.local.hook.main import main; sys.exit(main(sys.argv[1:]))"
    quiet = subprocess.DEVNULL
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
        subprocess.Popen([sys.executable, "-c", code, *words], stdout=quiet, stderr=quiet, creationflags=flags)
    else:
        subprocess.Popen([sys.executable, "-c", code, *words], stdout=quiet, stderr=quiet, start_new_session=True)
