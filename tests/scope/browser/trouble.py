#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trouble.py THEATRE: trouble is planted in a program, and the page of scope has to tell it, to lead there, and to stay
true meanwhile. 77: there is no browser, and nothing was tested."""

import json
import re
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
    browser.wait("document.querySelector('#trouble').hidden")
    expect(True, "while all is well, nothing is told")


def test_trouble(browser, plant, text, target):
    plant()
    announced = f"document.querySelector('#announce').textContent.includes({json.dumps(text)})"
    told = browser.wait(f"!document.querySelector('#trouble').hidden && {announced} && {link(text)}.textContent", 300)
    expect(True, f"told at the top, and to screen readers: {told}")
    is_source = "tr.stuck" not in target
    for width in (1440, 800, 390):
        browser.resize(width, 900)
        # The page may still be scrolling after the click before.
        browser.wait(f"(scrollTo({{ top: 0, behavior: 'instant' }}), innerWidth === {width} && {is_in_view(link(text))})")
        browser.wait(f"(({link(text)}).click(), true)")  # on a busy machine, the link may be missing for a moment
        browser.wait(f"({target}) && ({target}).classList.contains('found') && {is_in_view(target)}")
        expect(browser.run("document.activeElement.classList.contains('found')"), f"a click leads there at {width} pixels")
        if is_source:
            browser.wait(f"({target}).nextSibling.className === 'detail'")
            expect(True, "and opens its timers")
    if is_source:
        browser.run(f"({target}).querySelector('button').click()")
    browser.resize(1280, 900)
    browser.run("scrollTo(0, 0)")


def test_stuck(browser, theatre):
    """How soon it is told depends on the machine, too: the time is printed."""
    began = time.monotonic()
    theatre.tell("stuck")
    browser.wait(link("is stuck for"))
    print(f"    a stuck worker is told after {time.monotonic() - began:.1f} s", flush=True)
    theatre.tell("free")
    browser.wait(f"!({link('is stuck for')})")
    log = browser.wait("document.querySelector('#stuck-log li') && document.querySelector('#stuck-log li').textContent")
    expect("wait_for_freedom" in log and " s" in log, f"who was stuck stays in a list: {log}")


def test_was_stuck(browser):
    """It stays for a while, calmly."""
    text = browser.wait("document.querySelector('#trouble .was') && document.querySelector('#trouble .was').textContent")
    told = r"(worker \d+ was|\d workers were) stuck (once|\d+ times) in ten minutes, last at \d+:\d\d:\d\d"
    expect(re.match(told, text), f"who was stuck is told afterwards: {text}")
    browser.run("document.querySelector('#trouble .was a').click()")
    browser.wait(f"document.querySelector('#stuck-log').classList.contains('found') && {is_in_view('document.querySelector(`#stuck-log`)')}")
    expect(True, "and leads to the list of them")
    browser.run("scrollTo(0, 0)")


def test_then(browser):
    """At the first moment of the page, nothing was planted yet."""
    browser.run("(() => { const m = document.querySelector('#moment'); m.value = m.min; m.dispatchEvent(new Event('input')); })()")
    browser.wait("document.querySelector('#state').textContent.startsWith('then ')")
    told = browser.run("document.querySelector('#trouble').hidden ? '' : document.querySelector('#trouble').textContent")
    expect("stuck" not in told and LEAK not in told, f"at a moment of the past, no trouble of now is told: {told}")
    expect(browser.run("!document.querySelector('tr.stuck') && document.querySelector('#stuck-log').hidden"), "nor a stuck worker")
    browser.run("document.querySelector('#to-now').click()")
    browser.wait(f"{LIVE} && {link('is stuck for')}")


def test_reason(browser, theatre):
    """Sources that wait for a busy worker are one trouble, which says what the worker is busy with."""
    theatre.tell("busy")
    told = r"late by up to [0-9.]+ m?s: billing: [a-z ]+, billing: [a-z ]+ \(worker \d was \d+ % busy with report: export rows\)"
    text, marked = browser.wait(
        "(() => { const told = Array.from(document.querySelectorAll('#trouble .late'), (l) => l.textContent)"
        ".filter((t) => t.includes('billing'));"
        f" return told.length === 1 && /^{told}$/.test(told[0]) &&"
        f" [told[0], (({row('report: export rows')}).querySelector('.flag:not([hidden])') || {{}}).textContent]; }})()"
    )
    expect(True, f"the reason is told: {text}")
    expect(marked == "\u25b2 others wait for it", f"and the source that they wait for is marked: {marked}")
    theatre.tell("free")
    browser.wait(f"!({link('billing')})")
    expect(browser.run(f"!({row('report: export rows')}) || ({row('report: export rows')}).querySelector('.flag').hidden"), "until they wait no more")


def test_order(browser, theatre):
    theatre.tell("stuck")
    kinds = browser.wait(
        "(() => { const k = Array.from(document.querySelectorAll('#trouble li'), (l) => l.className);"
        " return ['stuck', 'leak', 'late', 'was'].every((x) => k.includes(x)) && k; })()"
    )
    order = ["stuck", "leak", "overdue", "late", "was"]
    expect(kinds == sorted(kinds, key=order.index), f"the worst is told first: {kinds}")
    weights = browser.run(
        "['stuck', 'leak', 'late', 'was'].map((k) => Number(getComputedStyle(document.querySelector(`#trouble .${k} a`)).fontWeight))"
    )
    expect(weights == sorted(set(weights), reverse=True), f"and has more weight: {weights}")
    shown = browser.wait(f"{row('wait_for_freedom')} && / so far$/.test({row('wait_for_freedom', 8)}) && {row('wait_for_freedom', 8)}")
    expect(True, f"the table has how long a stuck callback is running: {shown}")
    test_then(browser)
    theatre.tell("free")


def test_lateness(browser):
    """The table and the line at the top have the same number."""
    numbers = browser.wait(
        "(() => { for (const item of document.querySelectorAll('#trouble .late')) {"
        " const told = /^late by up to ([0-9.]+ m?s): monthly invoice$/.exec(item.textContent);"
        f" if (told) {{ return [told[1], {row('monthly invoice', 11)}]; }} }} }})()"
    )
    expect(numbers[0] == numbers[1], f"one number for lateness: {numbers}")


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
    wide = browser.run("(() => { const s = document.querySelector('#sources .scroll'); return s.scrollWidth - s.clientWidth; })()")
    expect(wide <= 0, f"and the name gives way, so that none is cut: {wide} pixels")


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
    expect(text.startswith("session timeout"), "with its whole name")
    for width in (1280, 800, 390):
        browser.resize(width, 900)
        browser.wait(f"innerWidth === {width}")
        right = browser.wait(
            "(() => { const nodes = Array.from(document.querySelectorAll('tr.detail td table td, tr.detail .count'));"
            " return nodes.length > 80 && Math.max(...nodes.map((n) => n.getBoundingClientRect().right)) -"
            " document.querySelector('#sources .scroll').getBoundingClientRect().right; })()"
        )
        expect(right <= -16, f"of which all is in view at {width} pixels: {right}")
    browser.resize(1280, 900)
    browser.run(f"({row('session timeout')}).querySelector('button').click()")
    browser.wait("!document.querySelector('tr.detail')")


def test_moments(browser, theatre):
    before = browser.run(row("session timeout", 1))
    pending = browser.run("document.querySelector('#tiles dd').firstChild.textContent")
    browser.run("(() => { const m = document.querySelector('#moment'); m.value = -5; m.dispatchEvent(new Event('input')); })()")
    browser.wait("document.querySelector('#state').textContent.startsWith('then ')")
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
        theatre.tell("leak")  # a leak is noticed after half a minute
        test_reason(browser, theatre)
        test_stuck(browser, theatre)
        test_was_stuck(browser)
        test_trouble(browser, lambda: theatre.tell("stuck"), "is stuck for", "document.querySelector('tr.stuck')")
        test_trouble(browser, lambda: None, "overdue: waits behind it", row("waits behind it"))
        theatre.tell("free")
        test_trouble(browser, lambda: theatre.tell("late"), "ms: monthly invoice", row("monthly invoice"))
        test_lateness(browser)
        test_trouble(browser, lambda: None, LEAK, row(LEAK))
        text = browser.wait(link(LEAK) + ".textContent")
        expect(re.search(r" only grows: [+]\d+(\.\d)?/s, none ended$", text), "a leak has its rate, and whether any ended")
        test_order(browser, theatre)
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
