#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""alerts.py THEATRE EXAMPLES: the alerts and the dashboard of examples/prometheus, checked by promtool, and against what a
running program says. 77: there is no promtool, and nothing was tested."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

from theatre import Theatre


def expect(condition, text):
    print(("ok: " if condition else "NOT OK: ") + text, flush=True)
    if not condition:
        sys.exit(1)


def promtool(*arguments, text=None):
    result = subprocess.run(["promtool", *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect(result.returncode == 0, f"promtool {' '.join(arguments[:2])}: {result.stdout.strip()[-500:]}")


def metrics(theatre):
    with urllib.request.urlopen(theatre.address + "metrics", timeout=60) as answer:
        return answer.read().decode()


def value(text, series):
    found = re.search(r"^" + re.escape(series) + r" (\S+)$", text, re.MULTILINE)
    return float(found.group(1)) if found else None


def names(text):
    """The metrics that an expression uses, as a family is called."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bverge_\w+", text)}


def main():
    if shutil.which("promtool") is None:
        print("skipped: there is no promtool here (scripts/setup test installs it)")
        return 77
    folder = sys.argv[2]
    rules, dashboard = os.path.join(folder, "verge.rules.yml"), os.path.join(folder, "verge.dashboard.json")
    promtool("check", "rules", rules)
    promtool("test", "rules", os.path.join(folder, "verge.test.yml"))
    theatre = Theatre(sys.argv[1], kind="tasks")
    try:
        calm = metrics(theatre)
        promtool("check", "metrics", text=calm)
        families = set(re.findall(r"^# TYPE (\S+)", calm, re.MULTILINE))
        with open(rules) as file:
            used = names(re.sub(r"#.*", "", file.read()))
        with open(dashboard) as file:
            used |= {name for panel in json.load(file)["panels"] for target in panel["targets"] for name in names(target["expr"])}
        expect(len(used) > 5 and used <= families, f"a running program has all that they use: {sorted(used - families)}")
        expect(value(calm, 'verge_source_pending{service="service",source="session timeout"}') == 700, "timers by source")
        expect(value(calm, 'verge_scope_stuck_workers{service="service"}') == 0, "nobody is stuck")
        theatre.tell("stuck")
        end = time.monotonic() + 120
        while value(metrics(theatre), 'verge_scope_stuck_workers{service="service"}') != 1 and time.monotonic() < end:
            time.sleep(0.2)
        stuck = metrics(theatre)
        expect(value(stuck, 'verge_scope_stuck_workers{service="service"}') == 1, "a stuck worker is counted, though nobody looks")
        while value(metrics(theatre), 'verge_source_overdue{service="service",source="waits behind it"}') != 25 and time.monotonic() < end:
            time.sleep(0.2)
        expect(time.monotonic() < end, "and so are the timers that are overdue")
        promtool("check", "metrics", text=stuck)
    finally:
        theatre.close()
    return 0


sys.exit(main())
