"""A stand-in for the server that can go away, forget and repeat itself, as the real one does only by accident.

It keeps decision 0010: leases with tokens, events counted once, commands until acknowledged.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count


class StandIn:
    """The server's side; everything that came is kept for the test to look at."""

    def __init__(self):
        self.lock = threading.RLock()
        self.wake = threading.Condition(self.lock)
        self.waiting = []
        self.leases = {}
        self.commands = []
        self.lost = []
        self.events = {}
        self.sent = []
        self.finished = {}
        self.outcomes = {}
        self.late = []
        self.polls = []
        self.asked = []
        self.policy = lambda _request: {"answer": "pending"}
        self.away = self.post_away = False
        self.forgotten = 0
        self.short = 0
        self.strange = None
        self.waiting_for = []
        self.numbers = count(1)
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def give(self, prompt, **more):
        """Queue a job; gives its id."""
        number = next(self.numbers)
        job = f"job_{number:032x}"
        lease = {
            "job": job, "attempt": 1, "token": f"token-{number}", "session_id": "s", "provider": "codex", "workspace": "shop",
            "isolation": "in_place", "prompt": prompt, "system_prompt": "", "model": "", "thinking_budget": None, "timeout_s": 300,
            "agent_session": "", "agent_type": "",
        } | more  # fmt: skip
        with self.wake:
            self.waiting.append(lease)
            self.wake.notify_all()
        return job

    def command(self, job, kind, **body):
        with self.wake:
            self.commands.append({"id": f"c{next(self.numbers)}", "job": job, "attempt": 1, "kind": kind, "body": body})
            self.wake.notify_all()

    def take_away(self, job):
        """Hand a job to another: its token is stale from now on."""
        with self.lock:
            self.leases[job]["token"] = "another's"

    def texts(self, job):
        with self.lock:
            updates = [event["body"].get("update", {}) for _, event in sorted(self.events.get(job, {}).items())]
        return [u["content"]["text"] for u in updates if u.get("sessionUpdate") == "agent_message_chunk"]

    def poll(self, body):
        with self.wake:
            self.polls.append(body)
            self.commands = [one for one in self.commands if one["id"] not in body["acked_commands"]]
            self.wake.wait_for(
                lambda: (self.waiting and body["slots"]) or self.commands or self.lost, min(body["wait_s"], 0.5)
            )
            jobs, self.waiting = self.waiting[: body["slots"]], self.waiting[body["slots"] :]
            self.leases |= {one["job"]: dict(one) for one in jobs}
            lost, self.lost = self.lost, []
            return 200, {"jobs": jobs, "commands": self.commands, "lost": lost, "lease_s": 60}

    def post(self, job, body):
        with self.lock:
            lease = self.leases.get(job)
            if lease is None or (body["attempt"], body["token"]) != (lease["attempt"], lease["token"]):
                self.late += [body["finish"]] if "finish" in body else []
                return 409, {"code": "lease_lost", "detail": "it is another's"}
            if "waiting_for" in body:
                self.waiting_for.append((job, body["waiting_for"]))
            known = self.events.setdefault(job, {})
            kept = body["events"]
            if self.short and len(kept) > 1:
                self.short -= 1
                kept = kept[: len(kept) // 2]
            for event in kept:
                self.sent.append((job, event["seq"]))
                if event["seq"] > len(known) + 1:
                    break
                assert known.setdefault(event["seq"], event) == event, "a number was given twice"
            if "finish" in body and all(event["seq"] in known for event in body["events"]):
                self.finished[job] = body["finish"]
            return 200, {"accepted": len(known), "cancel": False}

    def ask(self, job, body):
        with self.lock:
            self.asked.append(body["request"])
            return 200, {"permission": f"p{len(self.asked)}", "reason": "", **self.policy(body["request"])}

    def answer(self, path, body):
        if self.strange:
            return 200, {}
        if self.away:
            return 503, {"code": "store_unavailable", "detail": "away"}
        parts = path.strip("/").split("/")
        if parts[-1] == "poll":
            return self.poll(body)
        if parts[-2] == "actions":
            self.outcomes.setdefault(parts[-1], body)
            return 200, {}
        if parts[-1] == "events" and self.post_away:
            return 503, {"code": "store_unavailable", "detail": "away"}
        status, answer = (self.post if parts[-1] == "events" else self.ask)(parts[3], body)
        with self.lock:
            if parts[-1] == "events" and self.forgotten:
                self.forgotten -= 1
                return 0, {}
        return status, answer


def handler(stand_in):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = stand_in.answer(self.path, body)
            if not status:  # what was done is done, and nobody learns of it
                self.connection.close()
                self.close_connection = True
                return
            data = json.dumps(answer).encode()
            if stand_in.strange:
                status, data = stand_in.strange
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                self.close_connection = True

        do_PUT = do_POST  # noqa: N815

        def handle(self):
            try:
                super().handle()
            except (OSError, ValueError):
                return

        def log_message(self, *_):
            return

    return Handler
