"""A headless Chromium, controlled by the DevTools protocol through pipes, with only Python's standard library."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--hide-scrollbars",
         "--remote-debugging-pipe"]


class Chromium:
    def __init__(self, seconds=300):
        self.seconds = seconds
        self.folder = tempfile.mkdtemp(prefix="translate-chromium-")
        theirs_in, self.out = os.pipe()
        self.input, theirs_out = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        redirect = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(["bash", "-c", redirect, "chromium", PROGRAM, *FLAGS,
                                         f"--user-data-dir={self.folder}",
                                         "about:blank"], pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.pending, self.session = 0, b"", None
        self.complaints = []  # console errors and warnings, exceptions, network requests
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(20)
        except Exception:  # if it does not answer
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.input)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self, end):
        """The next message."""
        while b"\0" not in self.pending:
            if not select.select([self.input], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"Chromium: no answer in {self.seconds} s")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise AssertionError("Chromium ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(p["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(p["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(p["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:", "about:")):
            self.complaints.append(f"request: {p['request']['url']}")

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + self.seconds
        while True:
            message = self.read(end)
            if message.get("id") != self.number:
                self.note(message)
            elif "error" in message:
                raise AssertionError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def run(self, expression):
        """The value of a JavaScript expression; of a promise, its result."""
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise AssertionError(f"{expression}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def open(self, path, width=1280, height=900, dark=False, scale=1, language="en-US"):
        """Opens a file and waits until the page is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        version = self.call("Browser.getVersion")["userAgent"]
        self.call("Network.setUserAgentOverride", userAgent=version, acceptLanguage=language)
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("document.readyState === 'complete'")
        self.frames()

    def wait(self, condition):
        end = time.monotonic() + self.seconds
        while not self.run(condition):
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for {condition}")
            time.sleep(0.02)

    def frames(self):
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def middle(self, selector):
        return self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
          e.scrollIntoView({{block: "nearest"}}); const r = e.getBoundingClientRect();
          return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]; }})()""")

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frames()

    def hover(self, selector):
        self.move(*self.middle(selector))

    def click(self, selector):
        x, y = self.middle(selector)
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.frames()

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            more = {"text": "\r"} if name == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode={"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38,
                                             "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}[name], **more)
        self.frames()

    def screenshot(self, whole=False):
        """PNG of the visible part, or of the whole page."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
