"""A service with OpenAI's chat protocol over real sockets, correct or faulty as scripted."""

import asyncio
import contextlib
import json

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def completion(text, model="small"):
    return json.dumps({"model": model, "choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


def events(text, model="small"):
    """Return the answer as a stream's events, a character each, as chunks of HTTP."""
    parts = [{"delta": {"role": "assistant", "content": None}}, *({"delta": {"content": char}} for char in text)]
    lines = [": a comment", *(f"data: {json.dumps({'model': model, 'choices': [part]})}" for part in parts)]
    lines += ['data: {"choices": [], "usage": {}}', "data: [DONE]"]
    return b"".join(b"%x\r\n%b\r\n" % (len(line) + 2, line.encode() + b"\n\n") for line in lines)


def answer(body, status="200 OK", headers=""):
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body


class ChatEndpoint:
    """`how` is the behaviour of the next calls; `asked` holds the bodies of chat calls, `headers` those of all calls; `given_up` is set
    when a connection has ended."""

    def __init__(self):
        self.how = "answers"
        self.says = '{"agent": "tester"}'
        self.healthy = True
        self.asked = []
        self.headers = []
        self.paths = []
        self.given_up = asyncio.Event()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        self._tasks = set()
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    await self._one(reader, writer)
        finally:
            self.given_up.set()
            writer.close()

    async def _one(self, reader, writer):
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = lines[0].split(" ")
        self.headers.append(headers)
        self.paths.append(f"{method} {path}")
        if method == "GET":
            writer.write(answer(b'{"data": []}', "200 OK" if self.healthy else "503 Away"))
            return
        self.asked.append(json.loads(body))
        await getattr(self, f"_{self.how}")(reader, writer)

    async def _until_given_up(self, reader):
        with contextlib.suppress(OSError):
            await reader.read()

    async def _answers(self, reader, writer):
        writer.write(answer(completion(self.says)))

    async def _answers_on_many_lines(self, reader, writer):
        text = json.dumps(json.loads(completion(self.says)), indent=2, ensure_ascii=False)
        writer.write(answer(b"\r\n" + text.encode()))

    async def _streams(self, reader, writer):
        writer.write(CHUNKED + events(self.says) + b"0\r\n\r\n")

    async def _streams_and_stays(self, reader, writer):
        writer.write(CHUNKED + events(self.says))
        await self._until_given_up(reader)

    async def _streams_an_error(self, reader, writer):
        line = b'data: {"error": {"message": "out of memory"}}\n\n'
        writer.write(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line))

    async def _hangs(self, reader, writer):
        await self._until_given_up(reader)

    async def _hangs_after_headers(self, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        await self._until_given_up(reader)

    async def _trickles(self, reader, writer):
        writer.write(CHUNKED)
        watch = asyncio.ensure_future(self._until_given_up(reader))
        while not watch.done():
            writer.write(b"1\r\n \r\n")
            await asyncio.sleep(0.005)

    async def _streams_for_ever(self, reader, writer):
        writer.write(CHUNKED)
        watch = asyncio.ensure_future(self._until_given_up(reader))
        while not watch.done():
            writer.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")
            await writer.drain()

    async def _fails(self, reader, writer):
        writer.write(answer(b'{"error": "out of memory"}', "500 Internal Server Error"))

    async def _refuses_the_key(self, reader, writer):
        writer.write(answer(b'{"error": "no"}', "401 Unauthorized"))

    async def _redirects(self, reader, writer):
        writer.write(answer(b"", "302 Found", "location: http://127.0.0.1:1/\r\n"))

    async def _knows_no_format(self, reader, writer):
        if "response_format" in self.asked[-1]:
            writer.write(answer(b'{"error": "response_format"}', "400 Bad Request"))
        else:
            writer.write(answer(completion(self.says)))

    async def _sends_html(self, reader, writer):
        writer.write(answer(b"<html>welcome</html>"))

    async def _sends_other_json(self, reader, writer):
        writer.write(answer(b'{"choices": [{"message": {"content": 7}}]}'))

    async def _sends_no_choices(self, reader, writer):
        writer.write(answer(b'{"choices": []}'))

    async def _sends_null(self, reader, writer):
        writer.write(answer(b'{"choices": [{"message": {"content": null}}]}'))

    async def _sends_bytes(self, reader, writer):
        writer.write(answer(b"\xff\xfe\x00" * 100))

    async def _sends_deep_json(self, reader, writer):
        writer.write(answer(b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"))

    async def _sends_gzip(self, reader, writer):
        writer.write(answer(b"\x1f\x8b" + b"\x00" * 50, "200 OK", "content-encoding: gzip\r\n"))

    async def _sends_huge_headers(self, reader, writer):
        with contextlib.suppress(OSError):
            writer.write(b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"a" * 900) for n in range(500)))
            await writer.drain()
        await self._until_given_up(reader)

    async def _is_not_http(self, reader, writer):
        writer.write(b"\x16\x03\x01 hello\r\n\r\n")
        await self._until_given_up(reader)

    async def _hangs_up(self, reader, writer):
        raise ConnectionResetError

    async def _hangs_up_midway(self, reader, writer):
        writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"choi')
        raise ConnectionResetError
