#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shots.py THEATRE FOLDER: pictures of every view of scope, in light and dark, for docs/SCOPE.md."""

import os
import sys
import time

import chromium
from theatre import Theatre

VIEWS = ("sources", "coming", "workers", "lateness", "wheel")
LEAK = "Array.from(document.querySelectorAll('.flag')).some((n) => !n.hidden)"


def main():
    program = chromium.find()
    if program is None:
        sys.exit("shots: there is no chromium here (scripts/setup test installs it)")
    theatre = Theatre(sys.argv[1], kind="lively")
    browser = chromium.Chromium(program)
    folder = sys.argv[2]
    try:
        browser.resize(1440, 1000)
        browser.open(theatre.address)
        browser.wait(LEAK, 300)  # what leaks in there is noticed
        time.sleep(40)
        theatre.tell("stuck")
        browser.wait("document.querySelector('tr.stuck') !== null")
        for theme in ("light", "dark"):
            browser.dress(theme)
            time.sleep(1)
            for view in VIEWS:
                if view == "workers":
                    browser.wait("document.querySelector('tr.stuck') !== null")
                browser.run(f"document.querySelector('#{view}').scrollIntoView()")
                time.sleep(0.6)  # the wheel is drawn while it can be seen
                browser.shoot(os.path.join(folder, f"{view}-{theme}.png"), f"#{view}")
            browser.run("scrollTo(0, 0)")
            browser.resize(1440, 1560)
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


main()
