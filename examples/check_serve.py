#!/usr/bin/env python3
"""check_serve.py PROGRAM MODEL: two clients send lines to examples/serve, a third goes away without waiting."""
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

TEXTS = ["今天天气很好", "你好。再见！", "谢谢"]


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    return client


def receive(client):
    data = b""
    while chunk := client.recv(4096):
        data += chunk
    return data.decode().split("\n")


with tempfile.TemporaryDirectory() as folder:
    path = str(pathlib.Path(folder) / "socket")
    with subprocess.Popen([*sys.argv[1:], path]) as server:
        try:
            while not pathlib.Path(path).exists() and server.poll() is None:
                time.sleep(0.01)
            clients = [connect(path) for _ in range(3)]
            for number, client in enumerate(clients):
                client.sendall("".join(text + "\n" for text in TEXTS * 40 * (number + 1)).encode())
            clients.pop().close()
            for client in clients:
                client.shutdown(socket.SHUT_WR)
            answers = [receive(client) for client in clients]
        finally:
            server.send_signal(signal.SIGTERM)
            status = server.wait(60)
    for number, lines in enumerate(answers):
        assert len(lines) == 3 * 40 * (number + 1) + 1, lines
        assert all(lines[i] == lines[i % 3] and lines[i] for i in range(len(lines) - 1)), lines
    assert status == 0 and not pathlib.Path(path).exists()
