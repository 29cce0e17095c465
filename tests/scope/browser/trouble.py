#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trouble.py THEATRE: trouble is planted in a program, and the page of scope has to tell it, to lead there, and to stay
true meanwhile. 77: there is no browser, and nothing was tested."""

import json
import sys
import time
import urllib.parse

import chromium
from theatre import Theatre

LIVE = "document.querySelector('#state').textContent === 'live'"
LEAK = "session of a customer who never came back, started by the login page"


def expect(condition, text):
    print(("ok: " if condition else "NOT OK: ") + text, flush=True)
    if not condition:
        sys.exit(1)


def link(text):
    """A script: the link of the trouble with this text."""
    return f"Array.from(document.querySelectorAll('#trouble a')).find((a) => a.textContent.includes({json.dumps(text)}))"


def row(name, column=None):
    """A script: the row of a source, or one of its cells as text."""
    found = (
        "Array.from(document.querySelectorAll('#source-table tbody tr')).find((r) => r.cells[0].className === 'name' &&"
        f" r.cells[0].firstChild.textContent === {json.dumps(name)})"
    )
    return found if column is None else f"({found}).cells[{column}].textContent"


def is_in_view(script):
    return (
        f"(() => {{ const b = ({script}).getBoundingClientRect();"
        " return b.bottom > 0 && b.top < innerHeight && b.left < innerWidth; })()"
    )


def test_calm(browser):
    expect(browser.run("document.querySelector('#trouble').hidden"), "while all is well, nothing is told")


def test_trouble(browser, plant, text, target):
    """The page tells it two seconds after scope knows it; a machine that is too busy may be slower, but not ten times."""
    plant()
    browser.wait(f"!document.querySelector('#trouble').hidden && {link(text)}", 300)
    expect(True, f"told at the top: {browser.run(link(text) + '.textContent')}")
    expect(browser.run(f"document.querySelector('#announce').textContent.includes({json.dumps(text)})"), "and to screen readers")
    for width in (1440, 800, 390):
        browser.resize(width, 900)
        browser.run("scrollTo(0, 0)")
        browser.wait(f"innerWidth === {width} && {is_in_view(link(text))}")
        browser.run(f"({link(text)}).click()")
        browser.wait(f"({target}) && ({target}).classList.contains('found') && {is_in_view(target)}")
        expect(browser.run("document.activeElement.classList.contains('found')"), f"a click leads there at {width} pixels")
    browser.resize(1280, 900)
    browser.run("scrollTo(0, 0)")


def test_stuck_in_time(browser, theatre):
    for _ in range(10):
        began = time.monotonic()
        theatre.tell("stuck")
        browser.wait(link("wait_for_freedom"))
        seconds = time.monotonic() - began
        theatre.tell("free")
        browser.wait(f"!({link('wait_for_freedom')})")
        if seconds < 2:
            break
    expect(seconds < 2, f"a stuck worker is told within two seconds: {seconds:.1f} s")
    log = browser.wait("document.querySelector('#stuck-log li') && document.querySelector('#stuck-log li').textContent")
    expect("wait_for_freedom" in log and " s" in log, f"who was stuck stays in a list: {log}")


def test_marks(browser):
    """The mark of a leak with a long label; the columns that one wants then."""
    for width in (1440, 1280, 390):
        browser.resize(width, 900)
        browser.wait(f"innerWidth === {width}")
        whole = browser.run(
            f"(() => {{ const flag = ({row(LEAK)}).querySelector('.flag'), b = flag.getBoundingClientRect(),"
            " c = flag.closest('td').getBoundingClientRect();"
            " return !flag.hidden && b.width > 20 && b.right <= c.right + 1 && b.bottom <= c.bottom + 1; })()"
        )
        expect(whole, f"a leak with a long label is marked, at {width} pixels")
    browser.resize(1280, 900)
    titles = browser.run(
        "Array.from(document.querySelectorAll('#source-table th')).filter((h) => h.getBoundingClientRect().right <= innerWidth)"
        ".map((h) => h.dataset.key)"
    )
    expect("oldest_s" in titles and "late99_ns" in titles, f"all columns are in view at 1280 pixels: {titles}")


def test_truth(browser, theatre):
    theatre.tell("beat")
    browser.wait(f"{row('beat')} && Number({row('beat', 5)}.replace(/[~,]/g, '')) > 500")
    expect(True, f"a timer that fires a thousand times a second: {browser.run(row('beat', 5))} fired/s")
    theatre.tell("flood")
    browser.wait(f"{row('flood')} && /^~[0-9.]+ [kM]$/.test({row('flood', 4)})")
    expect(not browser.run("document.querySelector('#sampled').hidden"), "in a flood, rates are marked as guesses")
    browser.wait(f"{row('rare')} && /^(< |~|[0-9.]+.*\u2013)/.test({row('rare', 4)})")
    for _ in range(8):
        shown = browser.run(row("rare", 4))
        expect(shown.startswith(("<", "~")) or "\u2013" in shown, f"50 a second of a rare source are a range: {shown}")
        time.sleep(0.25)
    shares = browser.run("Array.from(document.querySelectorAll('#source-table tbody tr td:nth-child(10)'), (c) => parseFloat(c.textContent) || 0)")
    expect(max(shares) <= 500, f"no source takes more cores than there are workers: {max(shares)} %")
    theatre.tell("calm")


def test_many(browser, theatre):
    theatre.tell("sources 300")
    browser.wait(f"!!({row('source number # (300)')})")
    expect(True, "300 sources that differ in a number are one group")
    height = browser.run("document.documentElement.scrollHeight")
    expect(height < 3500, f"and the page stays short: {height} pixels")
    browser.run(f"({row('source number # (300)')}).querySelector('button').click()")
    browser.wait(f"!!({row('source number 299')})")
    expect(True, "a click opens the group")
    browser.run(f"({row('source number # (300)')}).querySelector('button').click()")
    theatre.tell("many 1000000")
    browser.wait(f"{row('one of many')} && {row('one of many', 1)}.startsWith('1,000,000')", 300)
    expect(True, "a million timers are counted")


def test_detail(browser):
    browser.run(f"({row('session timeout')}).querySelector('button').click()")
    text = browser.wait("document.querySelector('tr.detail td table') && document.querySelector('tr.detail').textContent", 300)
    expect("16 of 700 timers" in text and "0x" in text and "later" in text, "a source opens to its timers")
    browser.run(f"({row('session timeout')}).querySelector('button').click()")
    browser.wait("!document.querySelector('tr.detail')")


def test_moments(browser, theatre):
    before = browser.run(row("session timeout", 1))
    pending = browser.run("document.querySelector('#tiles dd').firstChild.textContent")
    browser.run("(() => { const m = document.querySelector('#moment'); m.value = -5; m.dispatchEvent(new Event('input')); })()")
    browser.wait("document.querySelector('#state').textContent === 'then'")
    text = browser.run("document.querySelector('#moment-text').textContent")
    expect("s ago" in text, f"a moment of the past: {text}")
    shown = browser.run("document.querySelector('#tiles dd').firstChild.textContent")
    theatre.tell("sources 3")
    time.sleep(1)
    expect(browser.run("document.querySelector('#tiles dd').firstChild.textContent") == shown, f"it stands still: {shown}, was {pending}")
    expect(browser.run(row("session timeout", 1)) == before, "with all that was shown then")
    expect("at=" in browser.run("location.search"), "and is part of the address")
    browser.run("document.querySelector('#compare').click()")
    browser.run("document.querySelector('#to-now').click()")
    browser.wait(LIVE)
    change = browser.wait("document.querySelector('#tiles dd small').textContent.includes('since') && document.querySelector('#tiles dd small').textContent")
    expect(True, f"two moments compared: {change}")
    browser.run("document.querySelector('#compare').click()")
    lines = browser.run("Array.from(document.querySelectorAll('#tiles polyline')).filter((l) => l.getAttribute('points').split(' ').length > 5).length")
    expect(lines >= 6, f"each headline figure has its past: {lines}")


def test_heat(browser):
    axis = browser.run("Array.from(document.querySelectorAll('#heat-axis span'), (s) => s.textContent)")
    expect(len(axis) >= 2 and all(text.split()[0] in ("1", "10", "100") for text in axis), f"round values on the axis: {axis}")
    expect(browser.run("Number(document.querySelector('#heat-most').textContent.replace(/,/g, '')) > 1"), "a legend")
    hint = browser.run("document.querySelector('#heat-hint').textContent")
    first = browser.run("document.querySelector('#heat-time').firstChild.textContent")
    expect(first.replace(" ago", "") in hint, f"the text has the time that the axis has: {first}")


def test_tasks(browser):
    expect(browser.run("document.querySelector('#subject').value") == "service and tasks", "service and tasks are seen together")
    expect(browser.run(f"!({row('nap')}).querySelector('.tag').hidden"), "what is a task's is marked")
    browser.run("document.querySelector('#list-tasks').click()")
    text = browser.wait("document.querySelectorAll('#task-table tbody tr').length >= 13 && document.querySelector('#task-table tbody').textContent")
    expect("waits for time" in text, "the list of tasks has what each waits for")


def test_names(browser):
    expect(browser.run(row("bill\\u202egpj.exe\\u0007")) is not None, "control and direction characters are shown by their numbers")
    bars = browser.run("Array.from(document.querySelectorAll('.bars .track[role=img], .meter'), (n) => n.getAttribute('aria-label')).every((t) => t)")
    expect(bars, "bars have texts")


def test_kept(browser, address):
    browser.run("document.querySelector('th[data-key=oldest_s] button').click()")
    browser.run("(() => { const f = document.querySelector('#filter'); f.value = 'session'; f.dispatchEvent(new Event('input')); })()")
    browser.run("document.querySelector('#theme').click()")
    kept = browser.run("location.href")
    expect(dict(urllib.parse.parse_qsl(kept.split("?")[1]))["sort"] == "oldest_s", f"the address has what was chosen: {kept.split('?')[1]}")
    browser.open(address)
    browser.wait(LIVE)
    chosen = "[document.querySelector('#filter').value, document.documentElement.dataset.theme, document.querySelector('th[aria-sort]').dataset.key]"
    browser.wait(f"document.querySelector('th[aria-sort]') && {chosen}[2] === 'oldest_s'")
    expect(browser.run(chosen) == ["session", "light", "oldest_s"], "which survives without it, too")
    browser.run("(() => { const f = document.querySelector('#filter'); f.value = ''; f.dispatchEvent(new Event('input')); })()")


def test_tabs(browser, address):
    """A browser has six connections for an address; ten pages are live all the same."""
    tabs = [browser.session]
    for _ in range(9):
        target = browser.call_browser("Target.createTarget", url=address)["targetId"]
        tabs.append(browser.call_browser("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
    first = browser.session
    for tab in tabs:
        browser.session = tab
        browser.wait(f"document.querySelector('#state') && {LIVE}", 300)
    browser.session = first
    expect(True, "ten tabs are live")


def test_calm_motion(browser):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    expect(browser.run("getComputedStyle(document.documentElement).scrollBehavior") == "auto", "reduced motion is honoured")


def test_end(browser, theatre):
    top = "JSON.stringify(['header', '#pause', '#figures'].map((s) => document.querySelector(s).getBoundingClientRect()).map((b) => [b.left, b.width, b.height]))"
    before = browser.run(top)
    theatre.close()
    browser.wait(f"document.querySelector('#state').textContent === 'lost' && {link('has ended')}")
    expect(True, "the page says that the program has ended")
    expect(browser.run("getComputedStyle(document.querySelector('#figures')).opacity") != "1", "old figures are dimmed")
    after = browser.run(top)
    expect(before == after, f"and nothing in the header moves: {before} {after}")


def main():
    program = chromium.find()
    if program is None:
        print("skipped: there is no chromium here (scripts/setup test installs it)")
        return 77
    theatre = Theatre(sys.argv[1], kind="tasks")
    browser = chromium.Chromium(program)
    try:
        browser.dress("light")
        browser.open(theatre.address)
        browser.wait(LIVE)
        test_calm(browser)
        test_names(browser)
        theatre.tell("leak")  # it takes half a minute until that can be known
        test_stuck_in_time(browser, theatre)
        test_trouble(browser, lambda: theatre.tell("stuck"), "is stuck for", "document.querySelector('tr.stuck')")
        test_trouble(browser, lambda: None, "overdue: waits behind it", row("waits behind it"))
        theatre.tell("free")
        test_trouble(browser, lambda: theatre.tell("late"), "late: monthly invoice", row("monthly invoice"))
        test_trouble(browser, lambda: None, LEAK, row(LEAK))
        test_marks(browser)
        test_heat(browser)
        test_tasks(browser)
        test_detail(browser)
        test_moments(browser, theatre)
        test_truth(browser, theatre)
        test_many(browser, theatre)
        test_kept(browser, theatre.address)
        test_tabs(browser, theatre.address)
        test_calm_motion(browser)
        expect(browser.console == [], f"no message on the console: {browser.console}")
        test_end(browser, theatre)
    finally:
        browser.close()
        theatre.close()
    return 0


sys.exit(main())
