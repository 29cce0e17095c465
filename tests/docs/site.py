#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""site.py FOLDER: pages of the site, from files, in a real browser: no error, light and dark, on a phone, and the search. 77:
there is no browser, and nothing was tested."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scope/browser"))
import chromium

PAGES = ("index", "docs/TUTORIAL", "docs/SCOPE", "docs/ARCHITECTURE", "docs/bench/index", "man/index", "man/verge_wheel_start.3",
         "functions/index", "functions/verge_sleep", "include/verge/service.h", "examples/echo_server.c", "search")
BRIGHTNESS = """(s) => { for (let n = document.querySelector(s); n; n = n.parentElement) {
    const c = getComputedStyle(n).backgroundColor.match(/[0-9.]+/g).map(Number);
    if (c.length < 4 || c[3] > 0) return (c[0] + c[1] + c[2]) / 3; } return 255; }"""


def expect(condition, text):
    print(("ok: " if condition else "NOT OK: ") + text, flush=True)
    if not condition:
        sys.exit(1)


def main():
    program = chromium.find()
    if program is None:
        print("skipped: there is no chromium here (scripts/setup test installs it)")
        return 77
    folder = os.path.abspath(sys.argv[1])
    browser = chromium.Chromium(program)
    try:
        for page in PAGES:
            for theme, width in (("light", 1280), ("dark", 390)):
                browser.dress(theme)
                browser.resize(width, 900)
                browser.open(f"file://{folder}/{page}.html")
                browser.wait(f"location.pathname.endsWith('/{page}.html') && document.readyState === 'complete'")
                wide = browser.run("document.documentElement.scrollWidth")
                expect(wide <= width, f"{page}: nothing hangs out at {width} pixels: {wide}")
                code = browser.run(f"document.querySelector('pre') ? ({BRIGHTNESS})('pre') : null")
                expect(code is None or (code > 200) == (theme == "light"), f"{page}: code in a {theme} system: {code}")
                ground = browser.run(f"({BRIGHTNESS})('body')")
                expect((ground > 200) == (theme == "light"), f"{page}: the ground in a {theme} system: {ground}")
        browser.open(f"file://{folder}/search.html?q=worker+timers")
        titles = browser.wait("document.querySelectorAll('.found a').length > 3 && Array.from(document.querySelectorAll('.found a'), (a) => a.getAttribute('href'))")
        guide, architecture = titles.index("docs/SERVICE.html"), titles.index("docs/ARCHITECTURE.html")
        expect(guide < architecture, f"the guide ranks above the architecture: {titles[:5]}")
        expect(browser.run("document.querySelectorAll('.found mark').length > 3"), "results have excerpts")
        browser.open(f"file://{folder}/search.html?q=verge_sleep")
        first = browser.wait("document.querySelector('.found a') && location.search.includes('sleep') && document.querySelector('.found a').getAttribute('href')")
        expect(first == "functions/verge_sleep.html", f"a function is found by its name: {first}")
        expect(browser.console == [], f"no message on the console: {browser.console}")
    finally:
        browser.close()
    return 0


sys.exit(main())
