# SPDX-License-Identifier: MIT
"""lapilli serve: its answers are what the verbs print, requests of strangers change nothing, and whatever becomes of a worker,
a client or a file, the others have their answers."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any, Callable, Iterator

from e2e.cases import CRASH, SHAPE, STUCK, Cases, Context, Failure, Program, Skip, check, children_of, crashing, patience, prepare, programs

SECONDS = 60
CLIENTS = 200
HALF_OPEN = 100
SLOW = 400  # more than may wait without the token, or than libmicrohttpd would take
STATUSES = {0: 200, 4: 200, 1: 500, 2: 404, 3: 422, 5: 501}  # of exit codes
ANSWERS = {("replay", 1), ("shaders", 5)}  # verbs and exit codes, that say: it can't be played; a shader has no text
CACHE_MIB = 8
MOST_MIB = 64  # that the server has in memory: its cache, answers under way, and what threads of clients need

CASES = Cases()
case = CASES.add


@dataclass
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + patience(SECONDS)
    while not (found := condition()):
        check(time.monotonic() < deadline, f"not in time: {what}")
        time.sleep(0.01)
    return found


class Server:
    """lapilli serve at a port, a free one without it, in a with statement. `folder`: where its programs are, if not in the build folder."""

    def __init__(self, context: Context, *files: str, folder: Path | None = None, env: dict[str, str] | None = None, port: int = 0) -> None:
        self.context = context
        with (context.folder / "serve.log").open("w") as log:
            self.process = subprocess.Popen([(folder or context.build / "bin") / "lapilli-serve", "--listen", f"127.0.0.1:{port}", "--cache", str(CACHE_MIB), "--quiet", *files],
                                            cwd=context.folder, env=context.environment(env), stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+))/\?token=([0-9a-f]{32})\n", line)
        if not found:
            self.process.kill()
            said = (context.folder / "serve.log").read_text()
            if "this build has no server" in said:
                raise Skip(said.strip())
            raise Failure(f"no address but {line!r}: {said}")
        self.origin, self.port, self.token, self.url = found[1], int(found[2]), found[3], line.strip()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind:  # what failed is told, not what follows from it
            self.process.kill()
            self.process.wait()
        else:
            self.end(signal.SIGTERM)

    def end(self, number: int) -> None:
        """Nothing is left of it: no process, and no file."""
        if self.process.poll() is not None:
            return
        children = children_of(self.process)
        self.process.send_signal(number)
        status = self.process.wait(patience(SECONDS))
        check(status == 0, f"{signal.Signals(number).name}: exit status {status}\n{(self.context.folder / 'serve.log').read_text()}")
        check(not [child for child in children if Path(f"/proc/{child}").exists()], "a worker has outlived the server")
        left = [*(self.context.home / "tmp").glob("lapilli-*"), *(self.context.home / "run").rglob("serve-*")]
        check(not left, f"it has left {left}")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=patience(SECONDS))

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(SECONDS))) as connection:
            connection.request(method, path, body, headers={"Authorization": f"Bearer {self.token}", **{name.replace("_", "-"): value for name, value in headers.items()}})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())

    def request(self, target: str, *lines: str, method: str = "GET", host: str | None = None, token: str | None = None, body: str = "") -> bytes:
        """As it is sent. With "" for its host or token: without them."""
        head = [f"{method} {target} HTTP/1.1", "Connection: close", *lines]
        for name, given, own in (("Host: ", host, f"127.0.0.1:{self.port}"), ("Authorization: Bearer ", token, self.token)):
            head += [name + (own if given is None else given)] if given != "" else []
        return ("\r\n".join(head) + "\r\n\r\n" + body).encode("latin-1")

    def status_of(self, request: bytes) -> int | None:
        """Of a request as it is sent; None: the connection was closed instead."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
                answer = connection.makefile("rb").readline()
            except ConnectionError:
                answer = b""
        return int(answer.split()[1]) if answer else None

    def captures(self) -> list[str]:
        """The paths of all traces."""
        return [capture["href"] for capture in self.ask("/v1/captures").json["captures"]]

    def work(self) -> list[dict]:
        return self.ask("/v1/work").json["work"]

    def events(self, path: str) -> Iterator[tuple[str, dict]]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(SECONDS))) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"})
            for block in connection.getresponse().read().decode().split("\n\n")[:-1]:
                name, data = block.split("\n")
                yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    def memory_mib(self) -> int:
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1]) >> 10


# ---- answers

@dataclass
class Question:
    route: str
    path: str  # below the capture
    words: list[str]  # the verb, and what follows it; FILE is the trace
    file: str = ""  # that the verb makes, which is the answer; "": it prints it

    @property
    def plays(self) -> bool:
        return self.words[0] in ("replay", "pixel", "debug", "mesh") or bool({"--after", "--each", "--overdraw", "--validate"} & {*self.words})


def verb(context: Context, words: list[str], file: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Run as the server runs it: by the absolute path of the file."""
    (context.folder / "files").mkdir(exist_ok=True)
    return subprocess.run([context.program("lapilli"), *(str(context.folder / file) if word == "FILE" else word for word in words)], cwd=context.folder, env=context.environment(env),
                          capture_output=True, timeout=patience(SECONDS), check=False)


def questions(context: Context, file: str) -> Iterator[Question]:
    """One for each route, and more where its parameters matter, about what the trace has."""
    draws = [json.loads(line) for line in verb(context, ["draws", "--json", "FILE"], file).stdout.splitlines()]
    at, (last, begin) = draws[0]["position"], [(draw["position"], draw["pass"]) for draw in draws if draw["pass"]][-1]
    objects = re.findall(rb'"(Vk\w+:\d+)"', verb(context, ["state", "--json", "--at", last, "FILE"], file).stdout)
    some = {name.partition(":")[0]: name for name in map(bytes.decode, sorted(set(objects)))}
    image, buffer, pipeline = (some.get(kind, f"{kind}:1") for kind in ("VkImage", "VkBuffer", "VkPipeline"))
    shader = json.loads(verb(context, ["shaders", "--json", "FILE"], file).stdout)["shaders"][0]["hash"]
    yield Question("info", "info", ["info", "--json", "FILE"])
    yield Question("tree", "tree", ["tree", "--json", "FILE"])
    yield Question("tree", "tree?depth=2&at=1&children=1-2", ["tree", "--json", "--depth", "2", "--at", "1", "--children", "1-2", "FILE"])
    yield Question("draws", "draws?rows=1-2&state=1", ["draws", "--json", "--rows", "1-2", "--state", "FILE"])
    yield Question("command", f"commands/{at}", ["print", "--json", "--at", at, "FILE"])
    yield Question("command", "commands/1", ["print", "--json", "--at", "1", "FILE"])
    yield Question("command", "commands/77777.1", ["print", "--json", "--at", "77777.1", "FILE"])
    blob = re.search(r'"hash":"([0-9a-f]{16})"', verb(context, ["print", "--json", "FILE"], file).stdout.decode())[1]
    yield Question("blob", f"blobs/{blob}", ["print", "--data", blob, "FILE"])
    yield Question("blob", "blobs/0123456789abcdef", ["print", "--data", "0123456789abcdef", "FILE"])
    yield Question("bound", f"commands/{last}/state", ["state", "--json", "--at", last, "FILE"])
    yield Question("objects", f"objects?at={last}&type=VkImage", ["state", "--json", "--list", "--at", last, "--type", "VkImage", "FILE"])
    yield Question("objects", f"objects?at={last}", ["state", "--json", "--list", "--at", last, "FILE"])
    yield Question("object", f"objects/{pipeline}?at={at}", ["state", "--json", "--at", at, "FILE", pipeline])
    yield Question("object", f"objects/VkImage:99999?at={at}", ["state", "--json", "--at", at, "FILE", "VkImage:99999"])
    yield Question("uses", f"objects/{pipeline}/uses", ["uses", "--json", "FILE", pipeline])
    yield Question("unused", "unused", ["uses", "--json", "--unused", "FILE"])
    yield Question("report", "report?frames=1-2", ["report", "--json", "--frames", "1-2", "FILE"])
    yield Question("validation", "validation?frames=1-2&messages=3", ["report", "--validate", "--json", "--frames", "1-2", "--messages", "3", "FILE"])
    yield Question("difference", f"diff/{at}/{last}", ["state", "--json", "--diff", at, last, "FILE"])
    yield Question("memory", f"memory/{buffer}?at={last}&offset=4&bytes=64&as=u32", ["memory", "--json", "--at", last, "--as", "u32", "FILE", buffer, "4", "64"])
    yield Question("memory_after", f"memory/{buffer}/after/{last}?offset=4&bytes=64&as=u32", ["memory", "--json", "--after", last, "--as", "u32", "FILE", buffer, "4", "64"])
    yield Question("image", f"images/{image}?at={last}", ["image", "--json", "-o", "files/picture.png", "--at", last, "FILE", image])
    yield Question("image_picture", f"images/{image}.png?at={last}", ["image", "--json", "-o", "files/picture.png", "--at", last, "FILE", image], "files/picture.png")
    yield Question("image_texels", f"images/{image}.raw?at={last}", ["image", "--raw", "-o", "files/picture.raw", "--at", last, "FILE", image], "files/picture.raw")
    yield Question("shaders", "shaders?search=vec4", ["shaders", "--json", "--search", "vec4", "FILE"])
    yield Question("shader", f"shaders/{shader}", ["shaders", "--json", "FILE", shader])
    yield Question("shader_code", f"shaders/{shader}.spv", ["shaders", "-o", "files/code.spv", "FILE", shader], "files/code.spv")
    yield Question("framebuffer", f"framebuffer/{last}", ["image", "--json", "--quiet", "--raw=also", "-o", "files", "--after", last, "FILE"])
    for ending in ("png", "raw"):
        yield Question("framebuffer_picture", f"framebuffer/{last}/color0.{ending}", ["image", "--json", "--quiet", "--raw=also", "-o", "files", "--after", last, "FILE"], f"files/{last}-color0.{ending}")
    other = ["image", "--json", "--quiet", "--raw=also", "-o", "files", "--after", last, "--image", f"{image},0,0", "--aspect", "color", "FILE"]
    name = f"image{image.partition(':')[2]}"
    yield Question("framebuffer", f"framebuffer/{last}?image={image},0,0&aspect=color", other)
    yield Question("framebuffer_picture", f"framebuffer/{last}/{name}.raw?image={image},0,0&aspect=color", other, f"files/{last}-{name}.raw")
    each = ["image", "--json", "--quiet", "-o", "files", "--each", begin, "--thumbs", "32", "FILE"]
    yield Question("each", f"each/{begin}?thumbs=32", each)
    yield Question("each_picture", f"each/{begin}/{last}-color0.png?thumbs=32", each, f"files/{last}-color0.png")
    frame, target = last.partition(".")[0], json.loads(verb(context, each, file).stdout.splitlines()[-1])["image"]
    yield Question("pixel", f"pixel/{last}?target={target},0,0&all=1&fragments=1&xy=5,4", ["pixel", "--json", "--quiet", "--at", last, "--target", f"{target},0,0", "--all", "--fragments", "FILE", "5,4"])
    yield Question("pixel", f"pixel/{frame}?xy=5,4", ["pixel", "--json", "--quiet", "--at", frame, "FILE", "5,4"])
    overdraw = ["image", "--json", "--quiet", "--raw=also", "-o", "files", "--overdraw", begin, "--rasterized", "FILE"]
    yield Question("overdraw", f"overdraw/{begin}?rasterized=1", overdraw)
    yield Question("overdraw_picture", f"overdraw/{begin}/rasterized.png?rasterized=1", overdraw, f"files/{begin}-rasterized.png")
    yield Question("debug", f"debug/{last}?texel=100,100", ["debug", "--json", "--quiet", "--at", last, "--texel", "100,100", "FILE"])
    yield Question("mesh", f"mesh/{last}?rows=1-2&instance=0", ["mesh", "--json", "--quiet", "--at", last, "--rows", "1-2", "--instance", "0", "FILE"])
    yield Question("mesh", f"mesh/{last}?in=1", ["mesh", "--json", "--quiet", "--at", last, "--in", "FILE"])
    if "vkQueuePresentKHR" in {line["name"] for line in context.print_lines(file)}:
        yield Question("screenshot", "screenshots/1.png", ["replay", "--quiet", "--present", "headless", "--screenshot-dir", "files", "--screenshot", "1", "FILE"], "files/frame_1.png")
    yield Question("find", "find?text=vec", ["find", "--json", "FILE", "vec"])
    yield Question("check", "check", ["replay", "--check", "--json", "FILE"])


def check_answer(context: Context, server: Server, capture: str, file: str, question: Question, env: dict[str, str] | None = None) -> int:
    """The verb and the server say the same. The status."""
    made = context.folder / (question.file or "no file")
    made.unlink(missing_ok=True)
    done = verb(context, question.words, file, env)
    told, status = done.stderr.decode(), 200 if (question.words[0], done.returncode) in ANSWERS else STATUSES.get(done.returncode)
    expected = made.read_bytes() if made.exists() else b"" if question.file else done.stdout
    if done.returncode == 4 and not expected:
        status = 422  # nothing could be read
    answer, where = server.ask(f"{capture}/{question.path}"), f"{file} {question.path}"
    check(answer.status == status, f"{where}: {answer.status}, but the verb ends with {done.returncode}: {told}\n{answer.body[:500]}")
    if status != 200:
        said = answer.json
        check(said["status"] == status and said["exit"] == done.returncode and said["error"] and said["error"] in told, f"{where}: {said}, but the verb says {told}")
        return status
    check(answer.body == expected, f"{where}: {answer.body[:300]} instead of {expected[:300]}")
    check(("Lapilli-Incomplete" in answer.headers) == (done.returncode == 4), f"{where}: {answer.headers}")
    again, known = server.ask(f"{capture}/{question.path}"), answer.headers["ETag"]
    keeps = "no-cache" if question.plays else "immutable"
    check(again.body == answer.body and again.headers["ETag"] == known and keeps in again.headers["Cache-Control"], f"{where}: {again.headers}")
    kept = server.ask(f"{capture}/{question.path}", If_None_Match=known)
    check((kept.status, kept.body) == (304, b""), f"{where}: {kept.status} to If-None-Match")
    return status


def answers(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        prepare(context, program)
        record(context, program.command)
        asked = list(questions(context, "out.lapilli"))
        with Server(context, "out.lapilli") as server:
            [capture] = server.captures()
            links = server.ask(capture).json["links"]
            check(set(links) == {question.route for question in asked} | {"screenshots", "screenshot", "profile"}, f"the server has routes {sorted(links)}")
            picture = next(question.path for question in asked if question.route == "framebuffer")
            told = list(server.events(f"{capture}/{picture}"))
            progress = [data for name, data in told if name == "progress"]
            check(told[-1] == ("done", {"status": 200}) and bool(progress) and all(part["done"] <= part["all"] for part in progress), f"{told}")
            fine = sum(check_answer(context, server, capture, "out.lapilli", question) == 200 for question in asked)
            check(fine >= 20, f"only {fine} of {len(asked)} questions have an answer")
            if "screenshot" in {question.route for question in asked}:
                check(server.ask(f"{capture}/screenshots?frames=2-3").json == {"frames": [2, 3]}, "a film has other frames")
            check(bool(server.ask("/v1/devices").json["gpus"]), "there is no GPU")
            told = list(server.events(f"{capture}/profile?frames=1-1&loops=2"))
            check(told[-1] == ("done", {"status": 200}) and told[-2] == ("progress", {"done": 2000, "all": 2000}), f"{told}")
            times = server.ask(f"{capture}/profile?frames=1-1&loops=2").json
            check((times["loops"], [entry["frame"] for entry in times["each_frame"]]) == (2, [1]), f"{times}")
            check(server.ask(f"{capture}/profile?frames=9999-10000").status in (400, 404), "times of frames that are not there")
    return run


def record(context: Context, command: list[str], file: str = "out.lapilli") -> None:
    context.run([context.program("lapilli"), "capture", "-o", file, "--", *command])



# ---- strangers

def strange_requests(server: Server, capture: str, at: str) -> Iterator[tuple[str, bytes, set[int | None]]]:
    """What it is, the request, and the statuses that may answer it (None: the connection is closed)."""
    request = server.request
    info = f"{capture}/info"
    yield "no token", request(info, token=""), {401}
    for token in ("", "0" * 32, server.token[:-1], server.token + "0", server.token.upper() + " "):
        yield f"token {token}", request(info, token=token or "\t"), {401}
        yield f"token {token} in the query", request(f"{capture}/info?token={urllib.parse.quote(token)}", token=""), {401}
    yield "a token elsewhere", request(f"/{server.token}", "Cookie: token=" + server.token, token=""), {404}
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}", f"127.0.0.1:{server.port}.evil.example", "127.0.0.1:"):
        yield f"host {host}", request(info, host=host), {403}
    yield "no host", request(info, host=""), {400, 403}
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}", f"http://127.0.0.1:{server.port}.evil.example", "http://localhost"):
        yield f"origin {origin}", request(info, f"Origin: {origin}"), {403}
    for site in ("cross-site", "same-site"):
        yield site, request(info, f"Sec-Fetch-Site: {site}"), {403}
    for path in ("/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/v1/captures/../info", "/v1/captures/%2e%2e", f"{capture}/..", f"{capture}/../../..", "//etc/passwd",
                 f"{capture}/info/", f"{capture}/framebuffer/{at}/..%2f..%2fx", f"{capture}/framebuffer/{at}/.png", f"{capture}/screenshots/..%2f1.png", "/v1/captures/ffffffffffffffff/info",
                 "/v1", "/v1/", "/v1/work/x", "/v1/work/18446744073709551617"):
        yield path, request(path), {400, 404}
    for path in (f"{capture}/info%00", f"{capture}/%00", f"{capture}/%zz", f"{capture}/%1", f"{capture}/%0d%0a", f"{capture}/shaders/--help", f"{capture}/commands/--help", f"{capture}/objects/-o:1?at={at}",
                 f"{capture}/info?x=1", f"{capture}/tree?depth=1&depth=2", f"{capture}/tree?depth=-1", f"{capture}/tree?depth=1%00", f"{capture}/tree?depth", f"{capture}/memory/VkBuffer:1", f"{capture}/find?text=" + "x" * 300,
                 *(f"{capture}/pixel/1?{wrong}" for wrong in ("x=1", "xy=1", "xy=1,2,3", "xy=-1,2", "xy=1,2&target=VkImage:1,", "xy=1,2&target=VkImage:1,0,0,0", "xy=1,2&target=1,0"))):
        yield path, request(path), {400}
    for path in (f"{capture}/objects/VkImage:{'9' * 60}?at={at}", f"{capture}/commands/{'9' * 60}.1", f"{capture}/commands/%23{'9' * 60}", f"{capture}/draws?rows=1-{'9' * 60}", f"{capture}/tree?depth={'9' * 20}",
                 f"{capture}/images/VkImage:1?at={at}&mip={'9' * 20}", f"{capture}/memory/VkBuffer:1?at={at}&offset={'9' * 20}", f"{capture}/screenshots?frames={'9' * 20}", f"{capture}/diff/{at}/{'1.' * 150}1"):
        yield path, request(path), {200, 400, 404}
    yield "a long path", request(f"{capture}/{'x' * 5000}"), {404, 414}
    yield "a longer path", request("/" + "x" * 100_000), {None, 400, 413, 414, 431}
    for method in ("POST", "PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"):
        yield method, request(info, method=method), {400, 405}
    yield "a trace is deleted", request(capture, method="DELETE"), {405}
    yield "the page is deleted", request("/", method="DELETE"), {405}
    yield "work is ended without a token", request("/v1/work/1", method="DELETE", token=""), {401}
    yield "a form", request("/v1/work/1", "Content-Length: 5", "Content-Type: text/plain", method="POST", body="x=y&z"), {400, 405}
    yield "a body", request(info, "Content-Length: 5", body="hello"), {400}
    yield "a body in pieces", request(info, "Transfer-Encoding: chunked", body="5\r\nhello\r\n0\r\n\r\n"), {400}
    yield "two lengths", request(info, "Content-Length: 44", "Transfer-Encoding: chunked", body="0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), {400}
    for length in ("-1", "9" * 40, "x"):
        yield f"length {length}", request(info, f"Content-Length: {length}"), {None, 400, 413}
    yield "many headers", request(info, *(f"X-{i}: {i}" for i in range(5000))), {None, 400, 413, 431}
    yield "a long header", request(info, "X: " + "x" * 100_000), {None, 400, 413, 431}
    for noise in (b"GET", b"\r\n" * 100 + b"x", b"GET / HTTP/9.9", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", os.urandom(4096)):
        yield f"noise {noise[:20]!r}", noise + b"\r\n\r\n", {None, 400, 403, 404, 405, 431, 505}


@case
def requests_of_strangers_change_nothing(context: Context) -> None:
    record(context, [context.app("modern")])
    at = json.loads(verb(context, ["draws", "--json", "FILE"], "out.lapilli").stdout.splitlines()[0])["position"]
    before = (context.folder / "out.lapilli").stat().st_mtime_ns, sorted(context.folder.iterdir())
    with Server(context, "out.lapilli") as server:
        [capture] = server.captures()
        info = server.ask(f"{capture}/info").body
        for what, request, statuses in strange_requests(server, capture, at):
            status = server.status_of(request)
            check(status in statuses, f"{what}: {status}, not one of {statuses}")
        check(server.captures() == [capture] and server.ask(f"{capture}/info").body == info, "the answers have changed")
        check(server.ask("/", Origin=server.origin, Sec_Fetch_Site="same-origin").status == 200, "the page's own requests are refused")
        check(((context.folder / "out.lapilli").stat().st_mtime_ns, sorted({*context.folder.iterdir()} - {context.folder / "serve.log"})) == before, "there are other files now")
        check(server.memory_mib() < MOST_MIB, f"the server has {server.memory_mib()} MiB")


@case
def a_crowd_is_answered(context: Context) -> None:
    """Some connect and say nothing, or half of a request; one reads a byte at a time; many ask the same, and many ask different things."""
    record(context, [context.app("modern")])
    packets = [line["ticket"] for line in context.print_lines() if "ticket" in line][:CLIENTS]
    expected = [verb(context, ["print", "--json", "--at", f"#{packet}", "FILE"], "out.lapilli").stdout for packet in packets[:10]]
    with Server(context, "out.lapilli") as server, ExitStack() as held, ThreadPoolExecutor(CLIENTS) as clients:
        [capture] = server.captures()
        info = verb(context, ["info", "--json", "FILE"], "out.lapilli").stdout
        for i in range(HALF_OPEN):
            held.enter_context(server.connect()).sendall(server.request(f"{capture}/info")[:i])
        slow = held.enter_context(server.connect())
        slow.sendall(server.request(f"{capture}/commands/1"))
        read = b"".join(slow.recv(1) for _ in range(500))
        same = list(clients.map(lambda _: server.ask(f"{capture}/info"), range(CLIENTS)))
        check(all(answer.body == info for answer in same), f"of {CLIENTS} who asked the same some have {[answer.body[:200] for answer in same if answer.body != info][:3]}")
        read += b"".join(slow.recv(1) for _ in range(500))
        different = list(clients.map(lambda packet: server.ask(f"{capture}/commands/%23{packet}"), packets))
        check([answer.status for answer in different] == [200] * len(packets), f"{[answer.body for answer in different if answer.status != 200][:3]}")
        check([answer.body for answer in different[:len(expected)]] == expected, "answers have been mixed up")
        read += slow.makefile("rb").read()
        check(read.endswith(b"\r\n\r\n" + verb(context, ["print", "--json", "--at", "1", "FILE"], "out.lapilli").stdout), "the slow reader has another answer")
        check(server.memory_mib() < MOST_MIB, f"the server has {server.memory_mib()} MiB")


def slow_requests(server: Server) -> list[bytes]:
    """Of clients without the token that do not go on: with half a head, no body, nothing, and one that reads no answer."""
    return [server.request("/v1/captures", token="")[:-2], server.request("/v1/work/1", "Content-Length: 5", method="DELETE", token=""), b"", server.request("/", token="").replace(b"close", b"keep-alive") * 90]


@case
def slow_clients_without_the_token_keep_nobody_out(context: Context) -> None:
    record(context, [context.app("modern")])
    with Server(context, "out.lapilli") as server, ExitStack() as held:
        info = server.ask(f"{server.captures()[0]}/info").body
        for request in slow_requests(server):
            for _ in range(SLOW):
                held.enter_context(server.connect()).sendall(request)
            for _ in range(10):
                check(server.ask(f"{server.captures()[0]}/info").body == info and server.ask("/").status == 200, "another answer")
            held.close()


@case
def a_head_has_its_time(context: Context) -> None:
    """However often a part of it comes; also behind an answer."""
    record(context, [context.app("modern")])
    with Server(context, "out.lapilli") as server, server.connect() as first, server.connect() as second:
        second.sendall(server.request("/v1/work").replace(b"close", b"keep-alive"))
        check(second.recv(12) == b"HTTP/1.1 200", "no answer")
        for connection in (first, second):
            connection.sendall(b"GET / HTTP/1.1\r\nX: ")

        def is_closed(connection: socket.socket) -> bool:
            ends = select.poll()
            ends.register(connection, select.POLLRDHUP)
            with suppress(ConnectionError):
                connection.sendall(b"x")
            return bool(ends.poll(500))

        until(lambda: is_closed(first) & is_closed(second), "the end of a head that goes on")


# ---- workers

def copy_programs(context: Context) -> Path:
    """The folder of a copy of Lapilli's programs, with the library that they share."""
    for folder in ("bin", "lib/lapilli"):
        shutil.copytree(context.build / folder, context.folder / "programs" / folder)
    return context.folder / "programs/bin"


class Gate:
    """Lapilli's programs, of which one waits at its start until the gate is open; only where its command line has a word."""

    def __init__(self, context: Context, name: str, word: str = "") -> None:
        self.folder, self.list = context.folder / "programs/bin", context.folder / f"started-{name}"
        if not self.folder.exists():
            copy_programs(context)
        real, lock = self.folder / f"lapilli-{name}.real", context.folder / f"gate-{name}"
        (self.folder / f"lapilli-{name}").rename(real)
        (self.folder / f"lapilli-{name}").write_text(f'#!/bin/sh\ncase " $* " in *" {word}"*) ;; *) exec {real} "$@" ;; esac\n'
                                                     f'echo $$ >> {self.list}\nexec flock --shared --no-fork {lock} {real} "$@"\n')
        (self.folder / f"lapilli-{name}").chmod(0o755)
        self.lock = lock.open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def open(self) -> None:
        self.lock.close()

    def started(self) -> list[int]:
        return [int(number) for number in self.list.read_text().split()] if self.list.exists() else []


@case
def a_worker_that_is_killed_takes_one_answer_with_it(context: Context) -> None:
    """The same question of many is one worker. It is killed while others are answered, and the next one answers."""
    record(context, [context.app("modern")])
    gate = Gate(context, "info")
    with Server(context, "out.lapilli", folder=gate.folder) as server, ThreadPoolExecutor(20) as clients:
        [capture] = server.captures()
        asked = [clients.submit(server.ask, f"{capture}/info") for _ in range(20)]
        until(lambda: [work["waiting"] for work in server.work()] == [20] and gate.started(), "20 who wait")
        check(server.ask(f"{capture}/tree").status == 200, "another question is not answered")
        [worker] = gate.started()
        os.kill(worker, signal.SIGKILL)
        for answer in (client.result() for client in asked):
            check(answer.status == 502 and "Killed" in answer.json["error"], f"{answer}")
        gate.open()
        for _ in range(2):
            check(server.ask(f"{capture}/info").body == verb(context, ["info", "--json", "FILE"], "out.lapilli").stdout, "the next one has another answer")
        check(len(gate.started()) == 2, f"{len(gate.started())} workers: the second answer is not from the cache")


@case
def a_picture_that_nobody_waits_for_leaves_no_replay(context: Context) -> None:
    record(context, [context.app("modern")])
    at = json.loads(verb(context, ["draws", "--json", "FILE"], "out.lapilli").stdout.splitlines()[0])["position"]
    gate = Gate(context, "replay")
    with Server(context, "out.lapilli", folder=gate.folder) as server, ThreadPoolExecutor(1) as clients:
        [capture] = server.captures()
        path = f"{capture}/framebuffer/{at}"
        gone = lambda: not server.work() and not children_of(server.process) and not any(Path(f"/proc/{number}").exists() for number in gate.started())
        for number, accept in enumerate(("*/*", "text/event-stream"), 1):
            with server.connect() as connection:
                connection.sendall(server.request(path, f"Accept: {accept}"))
                until(lambda: len(gate.started()) == number, "a replay")
            until(gone, "the end of a replay that nobody waits for")
        with ExitStack() as held:
            for frame in (1, 2, 3):
                held.enter_context(server.connect()).sendall(server.request(f"{capture}/framebuffer/{frame}", "Accept: text/event-stream"))
                until(lambda: len(server.work()) == frame, "work")
            until(lambda: len(gate.started()) == 4, "two replays")
            [queued] = [work["path"] for work in server.work() if not work["runs"]]
        until(gone, f"the end of {queued}, which nobody waits for any more")
        before = len(gate.started())  # the queued one may have begun, where another was seen to be gone first
        asked = clients.submit(server.ask, path)
        until(lambda: len(gate.started()) == before + 1, "a replay")
        [work] = server.work()
        check(server.ask(f"/v1/work/{work['id']}", "DELETE").status == 200 and asked.result().status == 409, "work that is deleted goes on")
        until(gone, "the end of a replay that was deleted")
        check(not [*(context.home / "tmp").glob("lapilli-*/*")], "there are files of pictures that are not")
        gate.open()
        check(server.ask(path).status == 200, "the picture can't be had any more")


# ---- replays that wait

def waiting_of(server: Server) -> dict[int, int]:
    """The replays that wait, or play up to there, with their frames."""
    words = {child: read_words(child) for child in children_of(server.process)}
    return {child: int(line[line.index("--wait") + 1]) for child, line in words.items() if "--wait" in line}


def read_words(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:  # it has ended
        return []


def is_stopped(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def draws_of_a_frame(context: Context) -> tuple[int, list[str], list[str]]:
    """That with the most draws, its draws, and those of other frames."""
    draws = [json.loads(line) for line in verb(context, ["draws", "--json", "FILE"], "out.lapilli").stdout.splitlines()]
    frames = [int(draw["position"].partition(".")[0]) for draw in draws]
    frame = max(frames, key=lambda number: (frames.count(number), number))
    return frame, [draw["position"] for draw, of in zip(draws, frames) if of == frame and draw["pass"]], [draw["position"] for draw, of in zip(draws, frames) if of != frame and draw["pass"]]


def answers_of_waiting(program: Program, driver: str | None) -> Callable[[Context], None]:
    """Behind every draw of a frame are the same bytes, whether replays wait for the question or not; all but the first are asked."""
    def run(context: Context) -> None:
        context = context.on(driver)
        prepare(context, program)
        record(context, program.command)
        frame, draws, _ = draws_of_a_frame(context)
        paths = [f"framebuffer/{at}{query}" for at in draws for query in ("", f"?skip={at}")]
        bound = json.loads(verb(context, ["state", "--json", "--at", draws[-1], "FILE"], "out.lapilli").stdout)["pass"]
        paths += [f"each/{bound['begin']}?thumbs=32", f"pixel/{frame}?target={bound['attachments'][0]['image']}&all=1&xy=5,4", f"debug/{draws[-1]}?texel=5,4", f"mesh/{draws[-1]}", f"mesh/{draws[-1]}?in=1&rows=0-1"]
        found: list[list[Answer]] = []
        gates = [Gate(context, name) for name in ("image", "pixel", "debug", "mesh")]  # which play from the beginning
        for gate in gates:
            gate.open()
        for most in (0, 2):
            with Server(context, "--waiting", str(most), "out.lapilli", folder=gates[0].folder) as server:
                [capture] = server.captures()
                found.append([])
                for path in paths:
                    found[-1].append(server.ask(f"{capture}/{path}"))
                    rows = [row for row in map(json.loads, found[-1][-1].body.splitlines()) if "name" in row]
                    files = [Path(row["file"]).name if "changed" in row else f"{row['name']}.{ending}" for row in rows for ending in ("png", "raw")]
                    found[-1] += [server.ask(f"{capture}/{path.partition('?')[0]}/{file}?{path.partition('?')[2]}") for file in files]
                    if most:
                        until(lambda: list(waiting_of(server).values()) == [frame] * most, "two that wait")
                check(all(answer.status == 200 for answer in found[-1]) and len(found[-1]) > len(paths), f"{found[-1]}")
        check(bool(draws) and [answer.body for answer in found[0]] == [answer.body for answer in found[1]], "there are other bytes where replays wait")
        started = sum(len(gate.started()) for gate in gates)
        check(started == len(paths) + 1, f"{started} have played from the beginning, for {len(paths)} questions")
    return run


@case
def replays_that_wait_come_and_go(context: Context) -> None:
    """They are for the last frame; those that are killed take no answer with them; and each question is answered where there are none, too."""
    record(context, [context.app("triangle"), "--offscreen"])
    frame, draws, others = draws_of_a_frame(context)
    expected = verb(context, ["image", "--json", "--quiet", "--raw=also", "-o", "files", "--after", draws[1], "FILE"], "out.lapilli").stdout
    with Server(context, "--waiting", "1", "out.lapilli") as server:
        [capture] = server.captures()
        for at in (others[0], draws[0]):
            check(server.ask(f"{capture}/framebuffer/{at}").status == 200, "there is no picture")
            until(lambda: list(waiting_of(server).values()) == [int(at.partition(".")[0])], "one that waits")
        [before] = waiting_of(server)
        os.kill(before, signal.SIGKILL)
        check(server.ask(f"{capture}/framebuffer/{draws[1]}").body == expected, "there is another answer")
        until(lambda: frame in waiting_of(server).values() and before not in waiting_of(server), "the next one that waits")
        skipping = verb(context, ["image", "--json", "--quiet", "--raw=also", "-o", "files", "--after", draws[1], "--skip", others[0], "FILE"], "out.lapilli").stdout
        check(server.ask(f"{capture}/framebuffer/{draws[1]}?skip={others[0]}").body == skipping, "what it can't do is not done from the beginning")
        check(server.ask(f"{capture}/framebuffer/{others[0]}?skip={others[0]}").status == 200, "there is no picture")
        until(lambda: list(waiting_of(server).values()) == [int(others[0].partition(".")[0])], "one for another frame")


@case
def a_replay_that_will_wait_makes_way(context: Context) -> None:
    """It stands still while somebody waits for another answer. It may be asked already, and ends with who asks."""
    record(context, [context.app("triangle"), "--offscreen"])
    _, draws, _ = draws_of_a_frame(context)
    held, info = Gate(context, "replay", "--wait "), Gate(context, "info")
    with Server(context, "out.lapilli", folder=held.folder) as server, ThreadPoolExecutor(1) as clients:
        [capture] = server.captures()
        check(server.ask(f"{capture}/framebuffer/{draws[0]}").status == 200, "there is no picture")
        [process] = until(held.started, "one that will wait")
        asked = clients.submit(server.ask, f"{capture}/info")
        until(lambda: is_stopped(process), "that it stands still")
        info.open()
        check(asked.result().status == 200, "there is no answer")
        until(lambda: not is_stopped(process), "that it goes on")
        with server.connect() as connection:
            connection.sendall(server.request(f"{capture}/framebuffer/{draws[1]}"))
            until(server.work, "the question")
        until(lambda: not server.work() and not Path(f"/proc/{process}").exists(), "the end of what nobody waits for")
        held.open()
        check(server.ask(f"{capture}/framebuffer/{draws[1]}").status == 200, "the picture can't be had any more")


def end_by(number: int) -> Callable[[Context], None]:
    """While some wait for a replay, others for a turn, and some have said nothing yet."""
    def run(context: Context) -> None:
        record(context, [context.app("modern")])
        draws = [json.loads(line)["position"] for line in verb(context, ["draws", "--json", "FILE"], "out.lapilli").stdout.splitlines()]
        gate = Gate(context, "replay")
        with Server(context, "out.lapilli", folder=gate.folder) as server, ExitStack() as held:
            [capture] = server.captures()
            for path in (f"{capture}/framebuffer/{at}" for at in draws[:4]):
                for accept in ("*/*", "text/event-stream"):
                    held.enter_context(server.connect()).sendall(server.request(path, f"Accept: {accept}"))
            held.enter_context(server.connect())
            until(lambda: len(server.work()) == 4 and len(gate.started()) == 2, "two replays, and two that wait for a turn")
            if number == signal.SIGKILL:
                server.process.kill()
                server.process.wait()
            else:
                server.end(number)
            until(lambda: not any(Path(f"/proc/{process}").exists() for process in gate.started()), "the end of the replays")
    return run


@case
def a_driver_that_crashes_takes_one_picture_with_it(context: Context) -> None:
    """The client hears in which call and at which packet."""
    crashing(context)
    record(context, [context.app("triangle"), "--offscreen"])
    first, *_, last = [json.loads(line)["position"] for line in verb(context, ["draws", "--json", "FILE"], "out.lapilli").stdout.splitlines()]
    with Server(context, "out.lapilli", env=context.layer_env(CRASH, LAPILLI_CRASH="vkCmdDrawIndexed:8:segv")) as server:
        [capture] = server.captures()
        answer = server.ask(f"{capture}/framebuffer/{last}")
        check(answer.status == 502 and re.match(r"crashed \(SIGSEGV\) in vkCmdDrawIndexed, packet \d+\.\d+, frame \d+; ", answer.json["error"]), f"{answer}")
        check(server.ask(f"{capture}/framebuffer/{first}").status == server.ask(f"{capture}/info").status == 200, "the next ones are not answered")


@case
def a_replay_that_does_not_go_on_is_given_up(context: Context) -> None:
    """The client hears at which packet, and the next one has its turn."""
    record(context, [context.app("depth")], "stuck.lapilli")
    record(context, [context.app("triangle"), "--offscreen"])
    draws = {file: [draw["position"] for draw in map(json.loads, verb(context, ["draws", "--json", "FILE"], file).stdout.splitlines()) if draw["pass"]]
             for file in ("stuck.lapilli", "out.lapilli")}
    with Server(context, "--wait-limit", "1", "stuck.lapilli", "out.lapilli", env=context.layer_env(STUCK, LAPILLI_STUCK_IN="vkCreateComputePipelines")) as server:
        stuck, good = server.captures()
        with ThreadPoolExecutor(3) as clients:
            asked = [clients.submit(server.ask, f"{stuck}/framebuffer/{at}") for at in draws["stuck.lapilli"][-2:]]
            until(lambda: len([work for work in server.work() if work["runs"]]) == 2, "two replays")
            asked.append(clients.submit(server.ask, f"{good}/framebuffer/{draws['out.lapilli'][0]}"))
        answers = [client.result() for client in asked]
        check([answer.status for answer in answers] == [504, 504, 200], f"{answers}")
        check(all(re.match(r"frame \d+, packet \d+ \(vkCreateComputePipelines\), .*: the device does not finish: 1 s were not enough", answer.json["error"]) for answer in answers[:2]), f"{answers}")


@case
def the_browser_gets_a_file_that_leads_to_the_page(context: Context) -> None:
    """The token is on no command line, and in no file that others can read."""
    record(context, [context.app("triangle"), "--offscreen"])
    (context.folder / "xdg-open").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > opened.new && mv opened.new opened\n')
    (context.folder / "xdg-open").chmod(0o755)
    with Server(context, "--open", "out.lapilli", env={"PATH": f"{context.folder}:{os.environ['PATH']}"}) as server:
        opened = context.folder / "opened"
        until(opened.exists, "xdg-open")
        [file] = map(Path, opened.read_text().splitlines())
        found = file.read_text()
        check(f"url={server.url}" in found and server.token not in str(file) and file.stat().st_mode & 0o777 == 0o600, f"{file}: {found}")
        check(file.with_suffix("").read_text() == f"{server.url}\n" and file.with_suffix("").stat().st_mode & 0o777 == 0o600, "the address is not in a file")


# ---- files

@case
def a_trace_that_is_replaced_is_another_one(context: Context) -> None:
    for name in ("modern", "compute", "headless"):
        record(context, [context.app(name)], f"{name}.lapilli")
    gate = Gate(context, "info")
    with Server(context, "modern.lapilli", "compute.lapilli", folder=gate.folder) as server, ThreadPoolExecutor(1) as clients:
        before, other = server.captures()
        check(server.ask(f"{before}/tree").status == 200, "there is no tree")
        asked = clients.submit(server.ask, f"{before}/info")
        until(gate.started, "a worker")
        os.replace(context.folder / "headless.lapilli", context.folder / "modern.lapilli")
        gate.open()
        for what, answer in (("what was under way", asked.result()), ("what was answered before", server.ask(f"{before}/tree")), ("the old id", server.ask(before))):
            check(answer.status == 410 and "/v1/captures" in answer.json["error"], f"{what}: {answer}")
        now = server.captures()
        check(now[0] != before and now[1] == other, f"{before}, {other} became {now}")
        check(server.ask(f"{now[0]}/info").body == verb(context, ["info", "--json", "FILE"], "modern.lapilli").stdout, "the new trace has another answer")
        (context.folder / "modern.lapilli").unlink()
        check(server.ask(f"{now[0]}/info").status == 410 and server.captures() == [other], "a trace that is gone is still there")


@case
def a_folder_is_all_traces_in_it(context: Context) -> None:
    """Also later ones. A trace keeps its place in the list."""
    record(context, [context.app("depth")])
    trace, runs = context.folder / "out.lapilli", context.folder / "runs"
    (runs / "deeper.lapilli").mkdir(parents=True)
    (runs / "gone.lapilli").symlink_to("nothing")
    for name in ("b.lapilli", "d.lapilli", "notes.txt", ".hidden.lapilli", "deeper.lapilli/c.lapilli"):
        shutil.copy(trace, runs / name)

    def names(server: Server) -> list[str]:
        return [capture["file"] for capture in server.ask("/v1/captures").json["captures"]]
    with Server(context, "runs/", "runs/d.lapilli", "out.lapilli") as server:
        check(names(server) == ["b.lapilli", "d.lapilli", "out.lapilli"], f"{names(server)}")
        shutil.copy(trace, runs / "a.lapilli")
        check(names(server) == ["b.lapilli", "d.lapilli", "out.lapilli", "a.lapilli"], f"{names(server)}")
        answers = {server.ask(f"{capture}/info").body for capture in server.captures()}
        check(answers == {verb(context, ["info", "--json", "FILE"], "out.lapilli").stdout}, f"{len(answers)} answers")
        shutil.rmtree(runs)
        check(names(server) == ["out.lapilli"], f"{names(server)}")
    with Server(context, ".") as server:
        check(names(server) == ["out.lapilli"], f"{names(server)}")
    done = subprocess.run([context.program("lapilli"), "serve", "/dev/null"], cwd=context.folder, env=context.environment(), capture_output=True, text=True, timeout=patience(SECONDS), check=False)
    check(done.returncode == 3 and "/dev/null is neither a file nor a folder" in done.stderr, f"{done}")


@case
def what_clients_keep_is_what_the_file_decides(context: Context) -> None:
    """Another run of the server may play on another GPU; other verbs, or another library of theirs, may answer otherwise."""
    record(context, [context.app("modern")])
    programs, tags = copy_programs(context), []
    [library] = (programs.parent / "lib/lapilli").iterdir()
    for _ in range(4):
        with Server(context, "out.lapilli", folder=programs) as server:
            [capture] = server.captures()
            at = json.loads(server.ask(f"{capture}/draws?rows=1-1").body)["position"]
            tags.append((capture, *(server.ask(f"{capture}/{path}").headers["ETag"] for path in (f"commands/{at}/state", f"framebuffer/{at}"))))
        if len(tags) > 1:
            os.utime(programs / "lapilli-state" if len(tags) == 2 else library)
    check(tags[0][:2] == tags[1][:2] and tags[0][2] != tags[1][2] and len({tag[0] for tag in tags}) == 3, f"{tags}")


@case
def answers_may_have_other_exit_codes(context: Context) -> None:
    """A trace that this GPU can't play, and a shader without text. The same codes of other verbs are failures."""
    record(context, [context.app("invalid"), "--noise"], "noise.lapilli")
    record(context, [context.app("modern")])
    env = context.layer_env(SHAPE, LAPILLI_SHAPE="version=1,extensions=VK_KHR_dynamic_rendering+VK_KHR_copy_commands2")
    [noise] = json.loads(verb(context, ["shaders", "--json", "FILE"], "noise.lapilli").stdout)["shaders"]
    asked = [(1, "out.lapilli", Question("check", "check", ["replay", "--check", "--json", "FILE"])),
             (5, "noise.lapilli", Question("shaders", "shaders?search=x", ["shaders", "--json", "--search", "x", "FILE"])),
             (5, "noise.lapilli", Question("shader", f"shaders/{noise['hash']}", ["shaders", "--json", "FILE", noise["hash"]]))]
    with Server(context, "noise.lapilli", "out.lapilli", env=env) as server:
        captures = dict(zip(("noise.lapilli", "out.lapilli"), server.captures()))
        for code, file, question in asked:
            done = verb(context, question.words, file, env)
            check(done.returncode == code or b"was built without" in done.stderr, f"{question.path}: exit status {done.returncode}")
            check(check_answer(context, server, captures[file], file, question, env) == (404 if done.returncode == 2 else 200), question.path)
    programs = copy_programs(context)
    for code, statuses in ((1, [200, 500, 500]), (5, [501, 200, 501])):
        for name in ("replay", "shaders", "info"):
            (programs / f"lapilli-{name}").unlink()
            (programs / f"lapilli-{name}").write_text(f"#!/bin/sh\necho {{}}\nexit {code}\n")
            (programs / f"lapilli-{name}").chmod(0o755)
        with Server(context, "out.lapilli", folder=programs) as server:
            found = [server.ask(f"{server.captures()[0]}/{path}").status for path in ("check", "shaders", "info")]
            check(found == statuses, f"exit code {code}: {found}")


@case
def a_shader_has_the_code_that_a_client_sends(context: Context) -> None:
    """The pictures are those of the command line with the same code. Code that can't be used is told, and leaves nothing."""
    program = next(one for one in programs(context) if one.name == "triangle")
    prepare(context, program)
    record(context, program.command)
    stages = {code["stages"][0]["stage"]: code["hash"] for code in json.loads(verb(context, ["shaders", "--json", "FILE"], "out.lapilli").stdout)["shaders"]}
    fragment, vertex = stages["VK_SHADER_STAGE_FRAGMENT_BIT"], stages["VK_SHADER_STAGE_VERTEX_BIT"]
    own = {kind: json.loads(verb(context, ["shaders", "--json", *words, "FILE", fragment], "out.lapilli").stdout)[key].encode() for kind, key, *words in (("frag", "glsl", "--glsl"), ("spvasm", "spirv"))}
    verb(context, ["shaders", "-o", "own.spv", "FILE", fragment], "out.lapilli")
    own["spv"], green = (context.folder / "own.spv").read_bytes(), b"#version 450\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(0, 1, 0, 1); }\n"

    def made(*words: str) -> tuple[bytes, bytes]:
        for command in (["image", "--quiet", "-o", "files", "--after", "1", *words, "FILE"], ["replay", "--quiet", "--present", "headless", "--screenshot-dir", "files", "--screenshot", "1", *words, "FILE"]):
            done = verb(context, command, "out.lapilli")
            check(done.returncode == 0, done.stderr.decode())
        return next((context.folder / "files").glob("*-color0.png")).read_bytes(), (context.folder / "files/frame_1.png").read_bytes()

    plain = made()
    (context.folder / "green.frag").write_bytes(green)
    other = made("--replace-shader", f"{fragment}=green.frag")
    check(plain[0] != other[0] and plain[1] != other[1], "other code makes the same picture")
    with Server(context, "out.lapilli") as server:
        [capture] = server.captures()

        def send(kind: str, text: bytes, **headers: str) -> Answer:
            return server.ask(f"/v1/code/{kind}", "POST", text, **headers)

        def ask(shader: str, code: str, path: str = "framebuffer/1/color0.png") -> Answer:
            return server.ask(f"{capture}/{path}?replace={shader}%3D{code}")

        for kind, text in (("frag", green), *own.items()):
            check(ask(fragment, send(kind, text).json["code"]).body == (other if text is green else plain)[0], f"{kind}: another picture")
        check(ask(fragment, send("frag", green).json["code"], "screenshots/1.png").body == other[1], "another frame")
        broken, less, sent = (send("frag", text).json["code"] for text in (green.replace(b"vec4(", b"vec5("), green.replace(b"void", b"layout(location = 7) in vec4 more;\nvoid").replace(b"vec4(0, 1, 0, 1)", b"more"), green))
        for shader, code, says, logged in ((fragment, broken, "does not compile", f"{broken}:3: 'vec5'"), (fragment, less, "it has an input at location 7", ""), (vertex, sent, "no entry point main for the vertex stage", ""),
                                           ("0123456789abcdef", sent, "no shader's code has the hash 0123456789abcdef", ""), (fragment, "0" * 16 + ".frag", "does not have the code", "")):
            told = ask(shader, code)
            check(told.status == 404 and says in told.json["error"] and logged in told.json.get("log", ""), f"{shader}={code}: {told}")
            check([name for name, data in server.events(f"{capture}/framebuffer/1?replace={shader}%3D{code}") if name == "failed" and says in data["error"] and logged in data.get("log", "")] == ["failed"], f"{code}: events")
        for kind, text, status in (("frag", bytes(262145), 413), ("frag", b"", 400), ("exe", b"x", 400), ("", b"x", 400), ("frag", b'#inc\\\nlude "/etc/passwd"\n' + green, 400), ("frag", b'#  include/**/"../x"\n', 400)):
            check(send(kind, text).status == status, f"{kind} {text[:40]!r}: {send(kind, text)}")
        for status, headers in ((401, {"Authorization": "Bearer 0"}), (403, {"Origin": "http://evil.example"}), (403, {"Sec_Fetch_Site": "cross-site"})):
            check(send("frag", green, **headers).status == status, f"{headers}: not {status}")
        for wrong in (f"{fragment}%3D/etc/passwd", f"{fragment}%3D..%2Fx.frag", f"{fragment}%3Dgreen.frag", fragment, f"{fragment[:7]}%3D{sent}", f"{fragment}%3D{sent}%20--gpu"):
            check(server.ask(f"{capture}/framebuffer/1?replace={wrong}").status == 400, wrong)
        for number in range(64):
            check(send("frag", b"// %d\n" % number + green).status == 200, f"{number}")
        check(ask(fragment, less).status == 404 and "send it first" in ask(fragment, less).json["error"], "nothing is forgotten")
        check(send("frag", green).json["code"] == sent and ask(fragment, sent).body == other[0], "it can't be sent again")


@case
def incomplete_and_damaged_traces_show_what_they_have(context: Context) -> None:
    record(context, [context.app("headless")])
    whole = (context.folder / "out.lapilli").read_bytes()
    middle = len(whole) * 2 // 3
    files = {"cut.lapilli": whole[:middle], "damaged.lapilli": whole[:middle] + bytes(byte ^ 0xff for byte in whole[middle:middle + 99]) + whole[middle + 99:], "noise.lapilli": os.urandom(10000), "empty.lapilli": b""}
    for name, content in files.items():
        (context.folder / name).write_bytes(content)
    asked = [question for question in questions(context, "out.lapilli") if not question.plays]
    with Server(context, *files) as server:
        for capture, name in zip(server.captures(), files):
            has_some = name in ("cut.lapilli", "damaged.lapilli")
            statuses = [check_answer(context, server, capture, name, question) for question in asked[::1 if has_some else 6]]
            check(statuses.count(200) >= 15 if has_some else set(statuses) == {422}, f"{name}: {statuses}")
        cut = server.ask(f"{server.captures()[0]}/tree").headers
        check(bool(cut["Lapilli-Incomplete"]), f"{cut}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    named = {program.name: program for program in programs(context)}
    return {**{f"waiting/{name}": answers_of_waiting(named[name], None) for name in ("triangle-offscreen", "modern", "churn-present")},
            **{f"waiting/swiftshader/{name}": answers_of_waiting(named[name], "swiftshader") for name in ("triangle-offscreen", "modern")},
            **{f"answers/{name}": answers(named[name]) for name in ("triangle", "modern", "depth", "churn-present")},
            **{f"ends-by-{signal.Signals(number).name}": end_by(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)}, **CASES}
