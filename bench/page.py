#!/usr/bin/env python3
"""Measures the page of `translate serve` in a headless Chromium: bench/page.py [--build DIR] [--rounds N].

The server runs on one core with one thread, the browser on all (tools/browser.sh installs it). Medians, with the
fastest and the slowest round, of
    ready   from the first byte of the page's answer until its scripts have run, and until it is painted: in a new profile,
            and again in the same one; beside /version, a line of text, which shows what the browser takes by itself
    token   from a key in the source's field until the first token of the translation is shown, and until all of it is
Stop everything else before you measure.
"""
import argparse
import os
import pathlib
import statistics
import sys

from common import ROOT, TEXT, machine

sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests" / "serve")]
import browser
import support

READY = """new Promise((done) => { const look = () => {
  const [page] = performance.getEntriesByType('navigation');
  const [paint] = performance.getEntriesByName('first-contentful-paint');
  if (!paint || !page.domContentLoadedEventEnd) requestAnimationFrame(look);
  else done([page.domContentLoadedEventEnd - page.responseStart, paint.startTime - page.responseStart]); }; look(); })"""
WATCH = """{ const result = document.getElementById('result');
  document.getElementById('source').addEventListener('input', (event) => {
    window.key = event.timeStamp; window.first = window.last = 0; }, { capture: true });
  new MutationObserver(() => { const now = performance.now(); window.first = window.first || now; window.last = now; })
    .observe(result, { childList: true, subtree: true, characterData: true }); }"""
DONE = """new Promise((done) => { const look = () => {
  if (!window.first || document.querySelector('#result[aria-busy]')) requestAnimationFrame(look);
  else done([window.first - window.key, window.last - window.key]); }; look(); })"""


def show(name, times):
    print(f"{name:34} {statistics.median(times):7.1f} ms   ({min(times):.1f} to {max(times):.1f})")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    p.add_argument("--model", type=pathlib.Path, default=ROOT / "models" / "zh-en.gguf")
    p.add_argument("--rounds", type=int, default=20)
    a = p.parse_args()
    support.TOOL, support.MODEL = a.build / "translate", a.model
    print(machine())
    first = min(os.sched_getaffinity(0))
    server = support.Server("--threads", 1, preexec_fn=lambda: os.sched_setaffinity(0, {first}))
    address = f"http://127.0.0.1:{server.address[1]}/"

    paths, times = ("", "version"), {}
    for _ in range(a.rounds):
        for path in paths:
            page = browser.browser().new_context().new_page()
            for profile in ("new profile", "once more"):
                page.goto(address + path)
                for name, time in zip(("ready", "painted"), page.evaluate(READY)):
                    times.setdefault(f"{path or 'page'}: {name}, {profile}", []).append(time)
            page.context.close()
    for name, measured in times.items():
        show(name, measured)

    page = browser.browser().new_context(locale="en-US").new_page()
    page.goto(address)
    page.evaluate(WATCH)
    tokens, whole = [], []
    for i in range(-1, a.rounds):  # in the first one the model is opened
        page.fill("#source", TEXT[i % len(TEXT)][:-1])
        page.evaluate(DONE)
        page.wait_for_timeout(500)
        page.keyboard.insert_text(TEXT[i % len(TEXT)][-1])
        times = page.evaluate(DONE)
        if i >= 0:
            tokens.append(times[0])
            whole.append(times[1])
    show("token: from a key to the first", tokens)
    show("token: from a key to the last", whole)
    server.end()


if __name__ == "__main__":
    main()
