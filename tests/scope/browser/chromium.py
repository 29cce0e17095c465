# SPDX-License-Identifier: MIT
"""Chromium without a window, driven by the DevTools protocol over a pair of pipes. Needs Python's own library only."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser's program; None: there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Chromium:
    """One page. `console` has what it has written there, and the errors that nobody caught."""

    def __init__(self, program, width=1280, height=900):
        self.folder = tempfile.mkdtemp(prefix="verge-chromium-")
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        arguments = [
            program,
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--mute-audio",
            f"--user-data-dir={self.folder}",
            f"--window-size={width},{height}",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # it has no sandbox for root; the only page it sees is verge's
        arguments.append("about:blank")

        def take_pipes():  # the browser reads from 3 and writes to 4
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            arguments,
            preexec_fn=take_pipes,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.received = b""
        self.events = []
        self.session = None
        self.console = []
        self.planted = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the protocol ----

    def read(self, seconds):
        """One message; None: there was none in that time."""
        end = time.monotonic() + seconds
        while b"\0" not in self.received:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                return None
            more = os.read(self.input, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.received += more
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(part.get("value", part)) for part in values["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(values["exceptionDetails"].get("exception", {}).get("description", values)))
        elif method == "Log.entryAdded":
            self.console.append(values["entry"]["text"])
        self.events.append(message)

    def call(self, method, seconds=300, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data) :]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.read(end - time.monotonic())
            if answer is None:
                break
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)
        raise TimeoutError(method)

    def call_browser(self, method, **values):
        """Of the browser, not of the page."""
        session, self.session = self.session, None
        try:
            return self.call(method, **values)
        finally:
            self.session = session

    # ---- what a test does ----

    def plant(self, script):
        """Runs a script in each page that is opened from now on, before the page's own, in place of the one before. None:
        runs no script any more."""
        if self.planted is not None:
            self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=self.planted)
        planted = script and self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        self.planted = planted and planted["identifier"]

    def open(self, address):
        self.call("Page.navigate", url=address)

    def run(self, script):
        """What a script gives."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", str(result)))
        return result["result"].get("value")

    def wait(self, script, seconds=120):
        """Until a script gives something that is true, which is returned. Otherwise the error has what the page shows."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.run(script)
                if value:
                    return value
            except RuntimeError:
                value = None  # the page is being loaded
            if time.monotonic() > end:
                raise TimeoutError(f"waited {seconds} s for {script}\n{self.describe()}")
            time.sleep(0.05)

    def describe(self):
        """The page as text, for somebody who was not there."""
        try:
            shown = self.run(
                "location.href + '\\nfocus: ' + document.activeElement.tagName + ' ' + document.activeElement.id +"
                " '\\n' + document.body.innerText"
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            shown = f"the page does not answer: {error}"
        return f"console: {self.console}\n{shown}"

    def resize(self, width, height, scale=1):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def dress(self, theme):
        """light or dark"""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def shoot(self, path, selector=None, margin=8):
        """A picture of the page, or of an element."""
        values = {}
        if selector:
            box = self.run(
                f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                " return [b.left + scrollX, b.top + scrollY, b.width, b.height]; })()"
            )
            left, top = max(0, box[0] - margin), max(0, box[1] - margin)
            values["clip"] = {
                "x": left,
                "y": top,
                "width": box[2] + 2 * margin,
                "height": box[3] + 2 * margin,
                "scale": 1,
            }
            values["captureBeyondViewport"] = True
        data = self.call("Page.captureScreenshot", format="png", **values)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def press(self, key, text=None):
        names = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
        values = {"key": key, "code": key, "windowsVirtualKeyCode": names.get(key, ord(key[0].upper()))}
        if text:
            values["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **values)
        self.call("Input.dispatchKeyEvent", type="keyUp", **values)
