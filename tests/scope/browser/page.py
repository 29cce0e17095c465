#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py THEATRE: the page of scope in a real browser. 77: there is no browser, and nothing was tested."""

import http.client
import json
import os
import re
import sqlite3
import sys
import tempfile
import time
import urllib.request

import chromium
from theatre import Theatre

LIVE = "document.querySelector('#state').textContent === 'live'"


def expect(condition, text):
    print(("ok: " if condition else "NOT OK: ") + text, flush=True)
    if not condition:
        sys.exit(1)


def tile(browser, title):
    """The figure with this title, as it is shown."""
    return browser.run(
        "(() => { for (const t of document.querySelectorAll('#tiles dt')) if (t.textContent === '%s')"
        " return t.nextSibling.firstChild.textContent; })()" % title
    )


def cells(browser, column):
    return browser.run(
        f"Array.from(document.querySelectorAll('#source-table tbody tr'), (r) => r.cells[{column}].textContent)"
    )


def names(browser):
    return browser.run("Array.from(document.querySelectorAll('#source-table td.name > span:first-child'), (n) => n.textContent)")


def test_figures(browser, theatre):
    pending, started, fired, cancelled = theatre.tell("stats").split()
    browser.wait(
        "Array.from(document.querySelectorAll('#source-table tbody tr')).reduce((a, r) =>"
        f" a + Number(r.cells[1].textContent.replace(/,/g, '')), 0) === {pending}"
    )
    shown = [tile(browser, title).replace(",", "") for title in ("Pending", "Started", "Fired", "Cancelled")]
    expect(shown == [pending, started, fired, cancelled], f"the figures are those of get_stats: {shown}")
    counts = dict(zip(names(browser), cells(browser, 1)))
    expect(counts.get("session timeout") == "700" and counts.get("rebuild_index") == "120", f"by source: {counts}")
    bars = browser.run("Array.from(document.querySelectorAll('.bars .count'), (n) => n.textContent)")
    expect(sum(int(bar.replace(",", "")) for bar in bars) == int(pending), f"all that is coming adds up: {bars}")
    expect(bars[10] == "710" and bars[9] == "50" and bars[8] == "120", "and is in its line")


def test_escaping(browser):
    label = '<img src=x onerror="window.harm=1"><script>window.harm=1</script>'
    expect(label in names(browser), "a label with HTML is shown as text")
    expect("caf\u00e9 \ufffd" in names(browser), "a label that is no UTF-8 is shown as far as it is")
    expect(browser.run("window.harm === undefined && document.querySelector('main img') === null"), "and does no harm")


def test_sorting(browser):
    counts = [int(text.replace(",", "")) for text in cells(browser, 1)]
    expect(counts == sorted(counts, reverse=True), "sorted by what is pending")
    browser.run("document.querySelector('th[data-key=name] button').click()")
    shown = names(browser)
    sorted_names = browser.run(
        "Array.from(document.querySelectorAll('#source-table td.name > span:first-child'), (n) => n.textContent)"
        ".sort((a, b) => a.localeCompare(b))"
    )
    expect(shown == sorted_names, f"a click sorts by name: {shown}")
    expect(browser.run("document.querySelector('th[data-key=name]').getAttribute('aria-sort')") == "ascending", "and says so")
    browser.run("document.querySelector('th[data-key=name] button').focus()")
    browser.press("Enter", "\r")
    expect(names(browser) == shown[::-1], "the return key turns the order round")
    browser.run("document.querySelector('th[data-key=pending] button').click()")
    browser.run("(() => { const f = document.querySelector('#filter'); f.value = 'SESSION'; f.dispatchEvent(new Event('input')); })()")
    expect(names(browser) == ["session timeout"], "a filter")
    browser.run("(() => { const f = document.querySelector('#filter'); f.value = ''; f.dispatchEvent(new Event('input')); })()")


def test_stuck_wheel(browser):
    """The wheel of a stuck worker stands still, and says since when."""
    said, still = "document.querySelector('#levels li').textContent", "document.querySelector('#rings').toDataURL()"
    browser.run(
        "(() => { const c = document.querySelector('#wheel-choice'); c.value = 'worker ' + document.querySelector('tr.stuck').cells[0].textContent;"
        " c.dispatchEvent(new Event('change')); document.querySelector('#wheel').scrollIntoView({ behavior: 'instant' }); })()"
    )
    text = browser.wait(f"{said}.startsWith('As of ') && {said}")
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
    before = browser.run(f"{frames}.then(() => {still})")
    browser.wait(f"{said}.startsWith('As of ') && {said} !== {json.dumps(text)}")
    expect(browser.run(f"{frames}.then(() => {still})") == before, f"its wheel stands still: {text}")


def test_stuck(browser, theatre):
    theatre.tell("stuck")
    text = browser.wait("document.querySelector('tr.stuck') && document.querySelector('tr.stuck').cells[1].textContent")
    expect("stuck for" in text and "wait_for_freedom" in text, f"a worker that is stuck is told: {text}")
    test_stuck_wheel(browser)
    theatre.tell("free")
    browser.wait("!document.querySelector('tr.stuck')")
    expect(True, "and not any more when the callback has returned")


# Of the seconds that the program sends, the page gets only those in window.recorded.
FEW_SECONDS = """
window.recorded = [];
const real = fetch, late = (s) => [s].concat(Array(34).fill(1)), second = (s) => [s, 1, 1, 1, 1, 1, 1, 0];
window.fetch = async (path, options) => {
  const answer = await real(path, options), seconds = window.recorded;
  if (path !== 'history' && path !== 'next') { return answer; }
  const data = await answer.json();
  if (path === 'history') { data.service = { late: seconds.map(late), seconds: seconds.map(second) }; }
  if (path === 'next') { data.time_ms = (seconds[seconds.length - 1] || 0) * 1000 + 100; }
  for (const subject of data.subjects || []) {
    subject.late = late(seconds[seconds.length - 1] || 0);
    subject.second = second(seconds[seconds.length - 1] || 0);
  }
  return new Response(JSON.stringify(data));
};
"""
READING = "document.querySelector('#heat-read').textContent"


def read_by_key(browser, key, text):
    """A key, once; it has to lead to a second that was recorded."""
    browser.press(key)
    shown = browser.run(READING)
    expect(shown.startswith(text) and "late: " in shown, f"{key} reads the heat map: {shown}")


def test_few_seconds(browser, theatre):
    """The keys of the heat map while nothing, one second, or not every second is recorded."""
    browser.plant(FEW_SECONDS)
    browser.open(theatre.address)
    browser.wait(f"{LIVE} && {READING} === 'Nothing is recorded yet.'")
    expect(True, "the first second has not passed, and the page says so")
    browser.run("document.querySelector('#heat').focus()")
    browser.press("ArrowLeft")
    expect(browser.run(LIVE), "a key goes nowhere then")
    browser.run("window.recorded = [7]")
    browser.wait(f"{READING} === ''")
    read_by_key(browser, "ArrowLeft", "0 s ago, ")
    browser.press("Escape")
    browser.run("window.recorded = [7, 10]")
    browser.wait("document.querySelector('#tiles polyline').getAttribute('points').includes(' ')")
    read_by_key(browser, "ArrowLeft", "3 s ago, ")
    read_by_key(browser, "ArrowLeft", "3 s ago, ")
    read_by_key(browser, "ArrowRight", "0 s ago, ")
    read_by_key(browser, "PageUp", "3 s ago, ")
    browser.press("Escape")
    # The page was slow, or hidden: it has missed some seconds, which the program has recorded.
    browser.run("window.recorded = [7, 10, 11, 12, 13]")
    browser.wait("document.querySelector('#tiles polyline').getAttribute('points').split(' ').length === 5")
    expect(True, "seconds that the page has missed are asked for")


def test_no_moment_before(browser, theatre):
    """The program has recorded a minute, but the page has seen only the last second: it never shows what is now as then."""
    state = "document.querySelector('#state').textContent"
    text = "document.querySelector('#moment-text').textContent"
    hint = "document.querySelector('#moment-hint').textContent"
    browser.plant(FEW_SECONDS + "window.recorded = Array.from({ length: 60 }, (_, i) => i + 1);")
    browser.open(theatre.address + "?at=20")
    browser.wait(f"document.querySelector('#state') && {LIVE} && document.querySelectorAll('#source-table tbody tr').length > 0")
    expect("The link leads to" in browser.run(hint), f"a link to a moment that the page has not seen: {browser.run(hint)}")
    expect("at=" not in browser.run("location.search"), "and that is not part of the address any more")
    slide = "(() => { const m = document.querySelector('#moment'); m.value = -40; m.dispatchEvent(new Event('input')); return m.value; })()"
    expect(browser.run(slide) == "0" and browser.run(LIVE), "the slider has only what the page has seen")
    live_colour = browser.run("getComputedStyle(document.querySelector('#state')).backgroundColor")
    browser.run("window.recorded.push(61, 62, 63)")
    browser.wait("document.querySelector('#moment').min === '-3'")
    browser.run("document.querySelector('#heat').focus()")
    browser.press("PageUp")
    shown = browser.run(f"{state} + '; ' + {text}")
    expect(shown.startswith("then ") and shown.endswith(", 3 s ago"), f"a key goes no further: {shown}")
    expect(re.search(r"then \d+:\d\d:\d\d", shown), "the state has the time")
    expect("opened at" in browser.run(hint), f"and why: {browser.run(hint)}")
    colour = browser.run("getComputedStyle(document.querySelector('#state')).backgroundColor")
    expect(colour != live_colour, f"then has another colour than live: {colour}, {live_colour}")
    points = browser.run("Array.from(document.querySelectorAll('#source-table polyline'), (l) => l.getAttribute('points')).join('')")
    expect(points == "", "the last minute, which is not known of then, is blank")
    browser.press("Escape")
    browser.wait(LIVE)
    browser.run(
        "(() => { const h = document.querySelector('#heat'), b = h.getBoundingClientRect();"
        " h.dispatchEvent(new PointerEvent('pointermove', { clientX: b.left + b.width / 2 + 5, clientY: b.top + 9 }));"
        " h.click(); })()"
    )
    shown = browser.run(text)
    expect(shown.endswith(", 3 s ago"), f"nor does a click on the heat map: {shown}")


# Nine of ten timers are late by up to 2^29 ns in the first seconds, and by up to 2^22 ns in the later ones.
TWO_LATES = FEW_SECONDS.replace("Array(34).fill(1)", "Array.from({ length: 34 }, (_, i) => ({ 0: 9, 1: 1 })[i - (s < 10 ? 19 : 12)] || 0)")
# Where the line of the median, which is dark, is drawn between the last two seconds: from the top of the map.
MEDIAN_PLACE = """
(() => { const h = document.querySelector('#heat'), copy = document.createElement('canvas'), dark = [];
  copy.width = 1; copy.height = h.height;
  const draw = copy.getContext('2d', { willReadFrequently: true });
  draw.drawImage(h, -Math.round(119 * h.width / 120), 0);
  const pixels = draw.getImageData(0, 0, 1, h.height).data;
  for (let y = 0; y < h.height; y++) {
    const [r, g, b, a] = pixels.slice(4 * y, 4 * y + 4);
    if (a > 100 && r + g + b < 200) { dark.push(y + 0.5); }
  }
  return dark.length && dark.reduce((x, y) => x + y) / dark.length * h.clientHeight / h.height; })()
"""
NS = {"\u00b5s": 1e3, "ms": 1e6, "s": 1e9}


def point_at_heat(browser, y):
    """The bounds of the row at this place, by the readout, and the median."""
    text = browser.run(
        "(() => { const b = document.querySelector('#heat').getBoundingClientRect();"
        " document.querySelector('#heat').dispatchEvent(new PointerEvent('pointermove',"
        f" {{ clientX: b.right - 2, clientY: b.top + {y} }})); return {READING}; }})()"
    )
    browser.press("Escape")
    found = re.search(r"half less than (.*) late, 99 .*; (.*) to (.*) late: ", text)
    if not found:
        expect(False, f"the row at {y:.0f}: {text}")
    return [float(number) * NS[unit] for number, unit in (part.split() for part in (found[2], found[3], found[1]))]


def test_heat_agrees(browser, theatre):
    """Labels, lines and the readout of the heat map have the same place for a value."""
    browser.plant(TWO_LATES + "window.recorded = [7, 8];")
    browser.open(theatre.address)
    for median_ns in (2**29, 2**22):
        place = browser.wait(f"{LIVE} && {MEDIAN_PLACE}")
        above, below = point_at_heat(browser, place - 3), point_at_heat(browser, place + 3)
        same = all(abs(ns / median_ns - 1) < 0.1 for ns in (above[0], below[1], below[2]))
        expect(same, f"the line of the median is between the rows that the median separates: {above} {below}")
        labels = browser.run(
            "(() => { const top = document.querySelector('#heat').getBoundingClientRect().top;"
            " return Array.from(document.querySelectorAll('#heat-axis span'), (s) => { const b = s.getBoundingClientRect();"
            " return [s.textContent, (b.top + b.bottom) / 2 - top]; }); })()"
        )
        expect(len(labels) >= 2, f"labels: {labels}")
        for text, place in labels:
            ns = float(text.split()[0]) * NS[text.split()[1]]
            low, high = point_at_heat(browser, place + 3)[0], point_at_heat(browser, max(1, place - 3))[1]
            expect(low * 0.95 <= ns <= high * 1.05 and high / low < 4.1, f"{text} is in its row: {low / 1e6} ms to {high / 1e6} ms")
        browser.run("window.recorded = [7, 8, 10, 11]")
        browser.wait("document.querySelector('#tiles polyline').getAttribute('points').split(' ').length === 4")


# The page gets the troubles and the rates that are in `window`.
TOLD = """
window.troubles = [];
window.rates = {};
const real = fetch;
window.fetch = async (path, options) => {
  const answer = await real(path, options);
  if (path !== 'next') { return answer; }
  const data = await answer.json();
  data.troubles = window.troubles;
  data.trouble_count = data.troubles.length;
  for (const source of data.subjects[0].sources) { Object.assign(source, window.rates); }
  return new Response(JSON.stringify(data));
};
const trouble = (kind, which) => ({ kind: kind, subject: 'service', which: which, text: kind + ' ' + which });
"""


def test_told(browser, theatre):
    """Lines at the top do not change places while they are there; a rate that is about none is 0."""
    told = "Array.from(document.querySelectorAll('#trouble li'), (l) => l.textContent).join()"
    browser.plant(TOLD)
    browser.open(theatre.address)
    browser.wait(f"document.querySelector('#state') && {LIVE}")
    for now, shown in (
        ("[trouble('late', 5)]", "late 5"),
        ("[trouble('late', 2), trouble('late', 5)]", "late 5,late 2"),
        ("[trouble('leak', 7), trouble('late', 9), trouble('late', 2), trouble('late', 5)]", "leak 7,late 5,late 2,late 9"),
        ("[trouble('leak', 7), trouble('late', 9), trouble('late', 2)]", "leak 7,late 2,late 9"),
    ):
        browser.run(f"window.troubles = {now}; 0")
        browser.wait(f"{told} === '{shown}'")
        expect(True, f"what begins later is told later: {shown}")
    tops = browser.run("new Set(Array.from(document.querySelectorAll('#trouble li'), (l) => l.offsetTop)).size")
    expect(tops == 3, "each in a line of its own")
    browser.run("window.rates = { fired: 0.02, fired_range: [0, 0.04], started: 0.02, started_range: [0, 900] }; 0")
    browser.wait("document.querySelector('#source-table tbody tr').cells[4].textContent === '< 900'")
    shown = cells(browser, 5)[0]
    expect(shown == "~0", f"a rate that is about none: {shown}")


def test_keyboard(browser):
    browser.wait(f"{READING} === ''")  # until a second was recorded
    browser.run("document.querySelector('#heat').focus()")
    browser.press("ArrowLeft")
    expect("late: " in browser.run(READING), "arrow keys read the heat map")
    browser.press("Escape")
    browser.run("document.activeElement.blur()")
    browser.press("p", "p")
    expect(browser.run("document.querySelector('#state').textContent") == "paused", "p pauses")
    browser.press("p", "p")
    browser.wait(LIVE)
    reachable = browser.run(
        "Array.from(document.querySelectorAll('button, select, input, a, canvas')).every((n) =>"
        " n.tabIndex >= 0 || n.id === 'rings')"
    )
    expect(reachable, "whatever does something can be reached by the tab key")


def test_shapes(browser):
    for width in (360, 768, 1280, 2560):
        browser.resize(width, 900)
        browser.wait(f"innerWidth === {width}")
        wide = browser.run("document.documentElement.scrollWidth")
        expect(wide <= width, f"nothing hangs out at a width of {width}")
    browser.resize(1280, 900)
    colours = []
    for theme in ("light", "dark"):
        browser.dress(theme)
        browser.wait(f"matchMedia('(prefers-color-scheme: {theme})').matches")
        colours.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    expect(colours[0] != colours[1], f"light and dark: {colours}")


def work(browser):
    """What the page's thread has done: its processor's time in s, and layouts."""
    metrics = {metric["name"]: metric["value"] for metric in browser.call("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"], metrics["LayoutCount"]


def test_many_sources(browser, theatre):
    """Frames a second, and how long one takes, depend on the machine and on what else it does: they are printed. What is
    tested is the work. News come four times a second, and only they may move anything; a hand of the wheel does not."""
    seconds = 3
    frames_min = 60
    theatre.tell("sources 100")
    browser.wait("document.querySelectorAll('#source-table tbody tr').length > 100")
    browser.call("Performance.enable", timeDomain="threadTicks")
    browser.run("document.querySelector('#wheel').scrollIntoView()")
    before = work(browser)
    frames, passed = browser.run(
        "new Promise((done) => { let n = 0; const began = performance.now();"
        " const count = () => { n++; const passed = (performance.now() - began) / 1000;"
        f" if (passed < {seconds} || n < {frames_min}) requestAnimationFrame(count); else done([n, passed]); }};"
        " requestAnimationFrame(count); })"
    )
    after = work(browser)
    frame_ms, layouts = (after[0] - before[0]) / frames * 1e3, after[1] - before[1]
    print(f"    {frames / passed:.0f} frames a second, {frame_ms:.1f} ms of a processor each", flush=True)
    expect(layouts <= 20 + 8 * passed, f"nothing is laid out between news: {layouts} times in {passed:.1f} s")


def shows(name, text):
    """A script: whether the panel's figure of this name is this text."""
    return (
        "Array.from(document.querySelectorAll('.panel dt')).some((t) =>"
        f" t.textContent === '{name}' && t.nextSibling.firstChild.textContent === '{text}')"
    )


def panel_figure(browser, name):
    return browser.wait(
        "(() => { for (const t of document.querySelectorAll('.panel dt')) if (t.textContent === '%s')"
        " return t.nextSibling.firstChild.textContent; })()" % name
    )


def owns(name, share, shards):
    """A script: whether there is this line of the panel. A lease of some length is left."""
    return (
        "Array.from(document.querySelectorAll('.parts li')).some((l) =>"
        f" l.children[0].textContent === '{name}' && l.children[1].textContent === '{share}' &&"
        f" /^lease left [0-9]+[.][0-9] s; {shards}$/.test(l.children[3].textContent))"
    )


def item(name, number=0):
    """A script: the lines of the timers of this handler."""
    return (
        "Array.from(document.querySelectorAll('.items li')).filter((l) => !l.parentNode.parentNode.hidden &&"
        f" l.firstChild.textContent === '{name}')[{number}]"
    )


def press_button(browser, line, text):
    browser.run(
        f"(() => {{ for (const b of ({line}).querySelectorAll('button')) if (b.textContent === '{text}')"
        " { b.click(); return; } throw new Error('there is no such button'); })()"
    )


def post(theatre, path, fields):
    """A request of another program than the page."""
    connection = http.client.HTTPConnection("127.0.0.1", int(theatre.port))
    connection.request("POST", path, headers=fields)
    status = connection.getresponse().status
    connection.close()
    return status


def test_acts(browser, theatre, path):
    """Timers that are overdue or dead are listed; a person acts on them, and confirms that."""
    store = sqlite3.connect(path, isolation_level=None, timeout=600)

    def rows(table, condition):
        return store.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()[0]

    store.execute(
        "INSERT INTO verge_timer (id, shard, due, attempt, running, revision, period, policy, handler, name, payload)"
        " VALUES (1280, 0, 1, 0, 0, 0, 0, 0, 'no<i>body', 'k<i>ey', '')"
    )
    overdue, dead = item("no<i>body"), item("close-account")
    browser.wait(f"Boolean(({overdue}) && ({dead}) && ({item('close-account', 1)}))")
    headings = browser.run("Array.from(document.querySelectorAll('.items:not([hidden]) h3'), (h) => h.textContent)")
    expect(sorted(headings) == ["Dead timers", "Overdue timers of this node"], f"overdue and dead timers are listed: {headings}")
    expect("its handler said so" in browser.run(f"({dead}).textContent"), "with the reason")
    expect(browser.run(f"({overdue}).querySelector('i') === null"), "and as plain text")

    identity = browser.run(f"/timer ([0-9]+)/.exec(({dead}).textContent)[1]")
    number = json.loads(urllib.request.urlopen(theatre.address + "next").read())["panels"][0]["id"]
    token, origin = theatre.address.split("/")[3], "/".join(theatre.address.split("/")[:3])
    target = f"/act/{number}/{identity}/forget"
    expect(post(theatre, target, {"Origin": origin}) == 404, "without the token, nothing is done")
    expect(post(theatre, f"/{token}{target}", {}) == 403, "nor without an Origin")
    expect(post(theatre, f"/{token}{target}", {"Origin": "http://evil.example"}) == 403, "nor for a page of others")
    expect(rows("verge_dead", f"id = {identity}") == 1, "the timer is still there")

    press_button(browser, dead, "forget")
    expect("Really forget?" in browser.run(f"({dead}).textContent"), "a click asks for a confirmation")
    expect(rows("verge_dead", "1") == 2, "and does nothing yet")
    press_button(browser, dead, "No")
    expect("Really" not in browser.run(f"({dead}).textContent") and rows("verge_dead", "1") == 2, "no means no")
    press_button(browser, dead, "forget")
    press_button(browser, dead, "Yes, forget")
    browser.wait(
        f"Boolean(({dead}) && !({item('close-account', 1)}) &&"
        " /forget [0-9]+: done/.test(document.querySelector('.said').textContent))"
    )
    expect(rows("verge_dead", "1") == 1 and rows("verge_dead", f"id = {identity}") == 0, "yes: it is forgotten")
    press_button(browser, overdue, "cancel")
    press_button(browser, overdue, "Yes, cancel")
    browser.wait(f"!({overdue})")
    expect(rows("verge_timer", "id = 1280") == 0, "an overdue timer is cancelled")
    died = theatre.tell("durable?").split()[5]
    press_button(browser, dead, "retry")
    press_button(browser, dead, "Yes, retry")
    while theatre.tell("durable?").split()[5] == died:
        time.sleep(0.05)
    expect(True, "a dead timer fires again")
    store.close()


def test_export(browser, theatre):
    """The button saves a file, which has what the page shows."""
    folder = tempfile.mkdtemp(prefix="verge-export-")
    browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=folder)
    pending = theatre.tell("stats").split()[0]
    browser.run("document.querySelector('#export').click()")
    end = time.monotonic() + 120
    while not [name for name in os.listdir(folder) if name.endswith(".json")]:
        expect(time.monotonic() < end, "the file is saved")
        time.sleep(0.05)
    name = os.listdir(folder)[0]
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        saved = json.load(file)
    expect(name == f"verge-scope-{saved['snapshot']['pid']}.json", f"its name says which program: {name}")
    stats = [subject["stats"] for subject in saved["snapshot"]["subjects"] if "stats" in subject]
    expect(str(stats[0]["pending"]) == pending, "it has the figures that are shown")
    expect(saved["compared_with"] is None and len(saved["history"]) > 0, "and the history")
    os.remove(os.path.join(folder, name))
    os.rmdir(folder)


def test_durable(browser, theatre):
    with tempfile.TemporaryDirectory(prefix="verge-theatre-") as folder:
        path = os.path.join(folder, "timers.db")
        if theatre.tell("durable " + path) == "none":
            print("    skipped: verge was built without SQLite", flush=True)
            return
        stats = ["25", "256", "72", "45", "5", "2"]
        while theatre.tell("durable?").split() != stats:
            time.sleep(0.05)
        browser.wait("document.querySelector('.panel') !== null")
        expect(browser.run("document.querySelector('.panel h2').textContent") == "Durable: theatre <b>1</b>", "durable timers have a panel")
        for name, text in zip(("In the window", "Shards owned", "Scheduled", "Done", "Retried", "Given up"), stats):
            browser.wait(shows(name, text))
            expect(True, f"whose figures are those of get_stats: {name} {text}")
        browser.wait(shows("Store answers", "yes") + " && document.querySelector('.panel .bad') === null")
        expect(True, "the store answers")
        browser.wait(shows("Dead letters", "2"))
        expect(True, "the dead timers of the store are counted")
        times = [panel_figure(browser, f"Commit time, {which}") for which in ("median", "99 %")]
        expect(all(re.fullmatch(r"[0-9.]+ (\u00b5s|ms|s)", time) for time in times), f"how long commits took: {times}")
        browser.wait(owns("theatre <b>1</b> (this node)", "256 of 256", "shards 0-255"))
        expect(True, "who owns which shards")
        theatre.tell("another")
        browser.wait(owns("theatre <b>1</b> (this node)", "128 of 256", "shards 0-127"))
        browser.wait(owns("theatre-2", "128 of 256", "shards 128-255"))
        expect(True, "another node takes its share")
        theatre.tell("alone")
        browser.wait(owns("theatre <b>1</b> (this node)", "256 of 256", "shards 0-255"))
        browser.wait("document.querySelectorAll('.parts li').length === 1")
        expect(True, "and gives it back")
        test_acts(browser, theatre, path)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        browser.wait(shows("Store answers", "no") + " && document.querySelector('.panel .bad') !== null")
        expect(True, "a store that does not answer is marked")
        other.execute("ROLLBACK")
        other.close()
        browser.wait(shows("Store answers", "yes") + " && document.querySelector('.panel .bad') === null")
        expect(True, "until it does again")


def restart(program, port):
    """At the same port, which somebody else may have for a moment."""
    for _ in range(100):
        try:
            return Theatre(program, f"tcp:{port}")
        except RuntimeError:
            time.sleep(0.2)
    raise RuntimeError(f"port {port} is taken")


def test_restart(browser, theatre, program):
    expect(theatre.close() == 0, "the program ends")
    browser.wait("/lost/.test(document.querySelector('#state').textContent)")
    expect(True, "the page says that the connection is lost")
    again = restart(program, theatre.port)
    again.tell("sources 1")
    browser.wait(LIVE)
    browser.wait("document.querySelectorAll('#source-table tbody tr').length < 10")
    expect(True, "and takes up again by itself when the program is back")
    return again


def main():
    browser_program = chromium.find()
    if browser_program is None:
        print("skipped: there is no chromium here (scripts/setup test installs it)")
        return 77
    theatre = Theatre(sys.argv[1])
    browser = chromium.Chromium(browser_program)
    try:
        browser.dress("light")
        test_few_seconds(browser, theatre)
        test_no_moment_before(browser, theatre)
        test_heat_agrees(browser, theatre)
        test_told(browser, theatre)
        browser.plant(None)
        browser.open(theatre.address)
        browser.wait(LIVE)
        expect(True, "the page loads")
        test_figures(browser, theatre)
        test_escaping(browser)
        test_sorting(browser)
        test_keyboard(browser)
        test_shapes(browser)
        test_stuck(browser, theatre)
        test_durable(browser, theatre)
        test_export(browser, theatre)
        browser.run("document.querySelector('#all-rows').click()")  # neither groups nor folds
        test_many_sources(browser, theatre)
        expect(browser.console == [], f"no message on the console: {browser.console}")
        theatre = test_restart(browser, theatre, sys.argv[1])
    finally:
        browser.close()
        theatre.close()
    return 0


sys.exit(main())
