#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shots.py THEATRE FOLDER: pictures of every view of scope, in light and dark, for docs/SCOPE.md."""

import os
import sys
import tempfile
import time

import chromium
from theatre import Theatre

VIEWS = {view: f"#{view}" for view in ("trouble", "figures", "sources", "coming", "workers", "lateness", "wheel")} | {"durable": ".panel"}
LEAK = "Array.from(document.querySelectorAll('.flag')).some((n) => !n.hidden)"


def main():
    program = chromium.find()
    if program is None:
        sys.exit("shots: there is no chromium here (scripts/setup test installs it)")
    theatre = Theatre(sys.argv[1], kind="lively")
    browser = chromium.Chromium(program)
    folder = sys.argv[2]
    store = tempfile.TemporaryDirectory(prefix="verge-shots-")
    try:
        browser.resize(1440, 1000)
        if theatre.tell(f"durable {store.name}/timers.db") == "none":
            sys.exit("shots: verge was built without SQLite")
        theatre.tell("another")
        browser.open(theatre.address)
        browser.wait(LEAK, 300)  # until the leak is reported
        time.sleep(40)
        theatre.tell("stuck")
        browser.wait("document.querySelector('tr.stuck') !== null")
        for theme in ("light", "dark"):
            browser.dress(theme)
            time.sleep(1)
            for view, selector in VIEWS.items():
                if view == "workers":
                    browser.wait("document.querySelector('tr.stuck') !== null")
                browser.run(f"document.querySelector('{selector}').scrollIntoView()")
                time.sleep(0.6)  # the wheel is drawn while it can be seen
                browser.shoot(os.path.join(folder, f"{view}-{theme}.png"), selector)
            browser.run("scrollTo(0, 0)")
            if theme == "light":  # what fits a screen, for the README
                browser.resize(1280, 760)
                time.sleep(0.6)
                browser.shoot(os.path.join(folder, "top-light.png"))
            browser.resize(1440, browser.run("document.documentElement.scrollHeight"))
            time.sleep(0.6)
            browser.shoot(os.path.join(folder, f"page-{theme}.png"))
            browser.resize(390, 844)
            time.sleep(0.6)
            browser.shoot(os.path.join(folder, f"phone-{theme}.png"))
            browser.resize(1440, 1000)
        print("\n".join(browser.console))
    finally:
        browser.close()
        theatre.close()
        store.cleanup()


main()
