#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py THEATRE VERGE: `verge scope`: its list, in a terminal and without one, and as a bridge to a browser."""

import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.error
import urllib.request

from theatre import Theatre

SECONDS = 600  # the limit for everything that may hang


def expect(condition, text):
    print(("ok: " if condition else "NOT OK: ") + text, flush=True)
    if not condition:
        sys.exit(1)


class Terminal:
    """`verge scope` in a terminal of this size. It draws the whole screen, from the upper left corner on, each time."""

    def __init__(self, verge, address, width, height=24):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.received = b""
        self.process = subprocess.Popen([verge, "scope", "--connect", address], stdin=slave, stdout=slave, stderr=slave)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.received += os.read(self.master, 65536)

    def screens(self):
        """Those that are whole, as lines of text."""
        parts = self.received.decode(errors="replace").split("\033[H")[1:-1]
        return [[re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", line) for line in part.split("\r\n")] for part in parts]

    def wait(self, condition, text):
        """For a new screen that is so, which is returned."""
        end = time.monotonic() + SECONDS
        seen = len(self.screens())
        while time.monotonic() < end:
            self.read(0.1)
            screens = self.screens()
            for screen in screens[seen:]:
                if condition(screen):
                    expect(True, text)
                    return screen
            seen = len(screens)
        print("\n".join(self.screens()[-1]) if self.screens() else self.received)
        expect(False, text)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def close(self):
        """Its status, and whether the terminal is as it was."""
        end = time.monotonic() + SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        is_restored = termios.tcgetattr(self.slave) == self.before
        os.close(self.master)
        os.close(self.slave)
        return self.process.poll(), is_restored


def has(*texts):
    return lambda screen: all(any(text in line for line in screen) for text in texts)


def rows(screen):
    """The names of the sources, in the order in which they are shown."""
    title = next(i for i, line in enumerate(screen) if line.startswith("SOURCE"))
    return [re.split(r"  +", line)[0] for line in screen[title + 1 :] if line and not line.startswith("q: quit")]


def test_snapshot(verge, theatre):
    text = subprocess.run([verge, "scope", "--connect", theatre.address], stdout=subprocess.PIPE, check=True).stdout
    snapshot = json.loads(text)
    pending, started, fired, cancelled = map(int, theatre.tell("stats").split())
    stats = snapshot["subjects"][0]["stats"]
    expect(
        [stats[name] for name in ("pending", "started", "fired", "cancelled")] == [pending, started, fired, cancelled],
        "without a terminal it prints JSON, with the figures of get_stats",
    )
    wrong = subprocess.run([verge, "scope", "--connect", "unix:/nowhere/at.all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(wrong.returncode != 0 and wrong.stderr, "an address where there is no scope is an error")


def test_terminal(verge, theatre, folder):
    terminal = Terminal(verge, theatre.address, 80)
    screen = terminal.wait(has("session timeout", "rebuild_index", "pending 880", "worker 1", "coming"), "what there is")
    expect(all(len(line) <= 80 for line in screen) and len(screen) <= 24, "80 columns and 24 lines are enough")
    expect(rows(screen)[:2] == ["session timeout", "rebuild_index"], f"sorted by what is pending: {rows(screen)}")
    expect(not any("OLDEST" in line for line in screen), "a narrow terminal has fewer columns")
    terminal.press("r")
    terminal.wait(lambda s: has("SOURCE")(s) and rows(s)[-1] == "session timeout", "r reverses")
    terminal.press("r\033[D")
    terminal.wait(lambda s: has("SOURCE*")(s) and rows(s) == sorted(rows(s)), "an arrow sorts by the next column: the name")
    terminal.press("s")
    terminal.wait(has("PENDING*"), "as does s")
    terminal.press("\033[B")
    terminal.wait(lambda s: has("SOURCE")(s) and rows(s)[0] == "rebuild_index", "down scrolls")
    theatre.tell("stuck")
    terminal.wait(has("stuck", "wait_for_freedom"), "a stuck callback is shown")
    theatre.tell("free")
    if theatre.tell("durable " + os.path.join(folder, "timers.db")) != "none":
        screen = terminal.wait(
            has("Durable: theatre", "Store answers yes", "Shards owned 256 of 256", "Done 45 ", "Given up 2 ", "Dead letters 2",
                "Commit time, median ", "theatre <b>1</b> (this node)   256 of 256   lease left "), "durable timers"
        )
        expect(all(len(line) <= 80 for line in screen), "in 80 columns")
    terminal.press("q")
    expect(terminal.close() == (0, True), "q quits, and the terminal is as it was")


def run(verge, *arguments):
    return subprocess.run([verge, "scope", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_list(verge, theatre, second):
    listed = run(verge).stdout
    lines = [line.split() for line in listed.splitlines() if line.startswith("theatre ")]
    wanted = sorted([str(theatre.process.pid), theatre.address] for theatre in (theatre, second))
    expect(sorted([line[1], line[3]] for line in lines) == wanted, f"verge scope lists the scopes there are: {lines}")
    by = {"a process id": str(second.process.pid), "tcp:PORT": f"tcp:{second.port}"}
    for what, where in by.items():
        answer = run(verge, "--connect", where)
        expect(json.loads(answer.stdout)["pid"] == second.process.pid, f"{what} finds one")
    expect(run(verge, "--connect", "theatre").returncode == 2, "a name that two have is refused")
    expect(run(verge, "--connect", "nobody").returncode == 2, "as is one that nobody has")


def fetch(address, path="", **head):
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, headers=head), timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_bridge(verge, theatre):
    """A scope that is a Unix socket, through a port that a browser can open."""
    bridge = subprocess.Popen([verge, "scope", "--browser", str(theatre.process.pid)], stdout=subprocess.PIPE, text=True)
    try:
        address = bridge.stdout.readline().strip()
        status, page = fetch(address)
        expect(status == 200 and "<!doctype html>" in page, f"verge scope --browser serves the page: {address.split('/')[2]}")
        expect(json.loads(fetch(address, "next")[1])["pid"] == theatre.process.pid, "with its figures")
        port = address.split("/")[2]
        expect(fetch(f"http://{port}/")[0] == 404 and fetch(f"http://{port}/{'0' * 32}/")[0] == 404, "only for who knows the secret")
        expect(fetch(address, "next", Origin="http://evil.example")[0] == 403, "and not for pages of others")
        expect(fetch(address, "next", Host="evil.example")[0] == 403, "nor under another name")
        theatre.close()
        expect(fetch(address)[0] == 502, "when the program has ended, it says so")
    finally:
        bridge.terminate()
        bridge.wait(SECONDS)


def serve_once(server, answer):
    peer, _ = server.accept()
    with peer:
        peer.recv(65536)
        try:
            peer.sendall(answer)
        except OSError:
            pass  # the tool has closed the connection


def test_foreign_server(verge):
    """What is no scope cannot write to the terminal what it likes, nor without end."""
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    cases = [
        (head + b'{"name":"\xc2\x9b31m\xe2\x80\xae"}', 0, '{"name":"\\u009b31m\\u202e"}\n'),
        (head + b'{"name":"\x1b[31m"}', 0, '{"name":"\\u001b[31m"}\n'),
        (head + b"\x1b]0;owned\x07", 1, ""),
        (head + b'"' + b"x" * (40 << 20) + b'"', 1, ""),
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        for answer, status, text in cases:
            thread = threading.Thread(target=serve_once, args=(server, answer))
            thread.start()
            result = run(verge, "--connect", address, "--json")
            thread.join()
            expect((result.returncode, result.stdout) == (status, text), f"an answer of a stranger: {answer[19:50]}")


def test_narrow(verge, theatre):
    terminal = Terminal(verge, theatre.address, 40)
    screen = terminal.wait(has("session timeout", "pending 880", "worker 1"), "40 columns")
    expect(all(len(line) <= 40 for line in screen), "are not too few")
    name = "bill\\u202egpj.exe\\u0007"
    expect(name in [line.split()[0] for line in screen if line], "names have room there, and cannot turn the text round")
    theatre.tell("stuck")
    terminal.wait(has("! worker", "wait_for_freedom"), "what is wrong is told first")
    theatre.tell("free")
    terminal.wait(lambda screen: not any("! worker" in line for line in screen), "until it is right again")
    terminal.press("q")
    expect(terminal.close() == (0, True), "q quits there, too")


def test_wide(verge, theatre):
    terminal = Terminal(verge, theatre.address, 132)
    screen = terminal.wait(has("OLDEST", "CANCEL", "session timeout"), "a wide terminal has more columns")
    expect(all(len(line) <= 132 for line in screen), "and no line is longer")
    theatre.close()
    terminal.wait(has("connection lost"), "it says that the connection is lost")
    terminal.press("q")
    expect(terminal.close() == (0, True), "and quits all the same")


def main():
    with tempfile.TemporaryDirectory(prefix="verge-terminal-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        second = Theatre(sys.argv[1])
        theatre = Theatre(sys.argv[1], f"unix:{folder}/scope")
        try:
            test_list(sys.argv[2], theatre, second)
            second.close()
            expect(run(sys.argv[2]).stdout.count("theatre ") == 1, "one that has ended is listed no more")
            third = Theatre(sys.argv[1], f"unix:{folder}/third")
            test_bridge(sys.argv[2], third)
            test_foreign_server(sys.argv[2])
            test_narrow(sys.argv[2], theatre)
            test_snapshot(sys.argv[2], theatre)
            test_terminal(sys.argv[2], theatre, folder)
            test_wide(sys.argv[2], theatre)
        finally:
            theatre.close()
    return 0


sys.exit(main())
