"""A server that speaks as much of the Hugging Face hub's protocol as a download needs, and can be told to misbehave.

Small files come from the hub itself, large ones (LFS) by a redirect to a second server, as from its CDN."""
import hashlib
import http.server
import json
import sys
import threading
import time
import urllib.parse

LARGE = 1000  # files from this size on are sent by the CDN


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        site = self.server.site
        where = "cdn" if self.server is site.cdn else "hub"
        with site.lock:
            site.log.append((where, self.path, {k.lower(): v for k, v in self.headers.items()}))
            actions = site.script.get(where + path) or site.script.get(where + urllib.parse.unquote(path)) or []
            action = actions.pop(0) if actions else None
        try:
            (action or site.serve)(self)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # the client may close the connection at any time
            super().handle_error(request, client_address)


class Site:
    """files: those of the repository. Changing them makes a new commit."""

    def __init__(self, files, repository="owner/model", revision="main"):
        self.files, self.repository, self.revision = dict(files), repository, revision
        self.facts = True  # the listing gives sizes and digests
        self.listed = None  # changes the answer before it is sent
        self.script = {}  # "hub/PATH" or "cdn/PATH": actions for the next requests; later requests get the right answer
        self.log = []
        self.lock = threading.Lock()
        self.hub, self.cdn = (Server(("127.0.0.1", 0), Handler) for _ in range(2))
        for server in (self.hub, self.cdn):
            server.site = self
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.hub.server_port}"

    def close(self):
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()

    # ------------------------------------------------------------------------------------------------ what was asked for

    def asked(self, where, ending=""):
        """The headers of all requests whose path ends with this."""
        with self.lock:
            return [h for w, p, h in self.log if w == where and urllib.parse.urlsplit(p).path.endswith(ending)]

    def fetched(self):
        """Names of the files that either server sent, in order, without repetition."""
        names = [urllib.parse.urlsplit(p).path.rsplit("/", 1)[1] for _, p, _ in self.log if "/resolve/" in p]
        return list(dict.fromkeys(names))

    def at(self, path, *actions):
        """Actions for the next requests of a file (or "hub/..." or "cdn/..."); None: the right answer."""
        if path in self.files:
            large = len(self.files[path]) >= LARGE
            path = f"cdn/{path}" if large else f"hub/{self.repository}/resolve/{self.revision}/{path}"
        self.script[path] = list(actions)

    # ------------------------------------------------------------------------------------------------ the right answers

    @property
    def listing(self):
        return f"hub/api/models/{self.repository}/revision/{self.revision}"

    def commit(self):
        return hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()

    def sibling(self, name):
        data = self.files[name]
        facts = {"size": len(data), "blobId": git_sha1(data)}
        if len(data) >= LARGE:
            facts = {"size": len(data), "blobId": "0" * 40,
                     "lfs": {"sha256": sha256(data), "size": len(data), "pointerSize": 134}}
        return {"rfilename": name, **(facts if self.facts else {})}

    def serve(self, handler):
        path = urllib.parse.unquote(urllib.parse.urlsplit(handler.path).path)
        resolve = f"/{self.repository}/resolve/{self.revision}/"
        if handler.server is self.cdn:
            return self.send(handler, path[1:], f'"cdn-{sha256(self.files[path[1:]])[:8]}"')
        if "/" + path.lstrip("/") == self.listing[3:]:
            answer = {"id": self.repository, "sha": self.commit(), "siblings": [self.sibling(n) for n in self.files]}
            body = json.dumps(self.listed(answer) if self.listed else answer).encode()
            return handler.answer(200, body, Content_Type="application/json")
        name = path[len(resolve):] if path.startswith(resolve) else None
        if name not in self.files:
            return handler.answer(404, b"Not Found", X_Error_Code="EntryNotFound")
        if len(self.files[name]) < LARGE:
            return self.send(handler, name, f'"{git_sha1(self.files[name])}"')
        return self.redirect(handler, name)

    def redirect(self, handler, name, **changes):
        data = self.files[name]
        headers = {"X_Linked_Size": len(data), "X_Linked_Etag": f'"{sha256(data)}"', "ETag": f'"{sha256(data)}"',
                   "Location": f"http://127.0.0.1:{self.cdn.server_port}/{urllib.parse.quote(name)}?signature=1"}
        handler.answer(302, b"Found", **{**headers, **changes})

    def send(self, handler, name, tag, data=None, end=None, honour_range=True):
        """end: the bytes of the content after which the connection breaks."""
        data = self.files[name] if data is None else data
        wanted, first = handler.headers.get("Range"), 0
        if wanted and honour_range and handler.headers.get("If-Range", tag) == tag:
            first = int(wanted[len("bytes="):-1])
        if first and first >= len(data):
            return handler.answer(416, b"", Content_Range=f"bytes */{len(data)}", ETag=tag)
        headers = {"ETag": tag, "Content_Length": len(data) - first}
        if first:
            headers["Content_Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
        handler.answer(206 if first else 200, data[first:end], **headers)
        if end is not None:
            handler.close_connection = True

    # ------------------------------------------------------------------------------------------------ the wrong ones

    def cut(self, name, end):
        """Sends the file up to byte end, then closes the connection."""
        return lambda handler: self.send(handler, name, self.tag(name), end=end)

    def tag(self, name):
        data = self.files[name]
        return f'"cdn-{sha256(data)[:8]}"' if len(data) >= LARGE else f'"{git_sha1(data)}"'

    def stall(self, name, end, seconds=30):
        """Sends the file up to byte end, then nothing more, but keeps the connection."""
        def action(handler):
            self.send(handler, name, self.tag(name), end=end)
            limit = time.monotonic() + seconds
            while time.monotonic() < limit and not self.stop_stalling.wait(0.05):
                pass
        self.stop_stalling = threading.Event()
        return action

    @staticmethod
    def flood(start, more, count, end):
        """Sends start, count times more, and end, as they are; then closes the connection."""
        def action(handler):
            handler.close_connection = True
            handler.wfile.write(start)
            for _ in range(count):
                handler.wfile.write(more)
            handler.wfile.write(end)
        return action

    @staticmethod
    def status(code, body=b"", **headers):
        return lambda handler: handler.answer(code, body, **headers)
