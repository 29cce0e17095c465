/* SPDX-License-Identifier: MIT */
/* The views of the page, below its figures; embed.cmake puts this file behind page.js, into the same function. */

/* ---- panels ---- */
const panels = new Map();
function makePanel(id, name) {
  const box = make('section', $('main'), 'panel'), link = make('a', $('nav'), '', plain(name.split(':')[0]));
  link.href = '#';
  make('h2', box, '', plain(name));
  const panel = { box: box, link: link, list: make('dl', box, 'tiles'), tiles: new Map(), parts: make('ul', box, 'parts'),
    said: make('p', box, 'said'), items: new Map(), groups: new Map() };
  attribute(panel.said, 'role', 'status');
  panels.set(id, panel);
  return panel;
}
function meter(node, value, most, title) {
  attribute(node, 'role', 'meter');
  attribute(node, 'aria-label', title);
  attribute(node, 'aria-valuemin', '0');
  attribute(node, 'aria-valuemax', '100');
  const part = most ? Math.min(100, value / most * 100) : 0;
  attribute(node, 'aria-valuenow', part.toFixed(0));
  node.firstChild.style.width = part + '%';
}
function showFigure(panel, f) {
  const show = f.unit === 'ns' ? duration : count, isNo = f.unit === 'yes_no' && !f.value;
  const value = f.unit === 'yes_no' ? (isNo ? 'no' : 'yes') : show(f.value);
  const node = tile(panel, f.name, value, f.unit === 'total' ? rate(f.rate) + '/s' : f.of ? 'of ' + show(f.of) : '');
  node.box.className = isNo || (f.unit === 'ns' && f.of && !f.value) ? 'bad' : '';
  if (f.of) {
    if (!node.meter) { node.meter = make('span', node.box, 'meter'); make('i', node.meter); }
    meter(node.meter, f.value, f.of, f.name);
  }
}
function showParts(panel, parts) {
  while (panel.parts.children.length > parts.length) { panel.parts.lastChild.remove(); }
  while (panel.parts.children.length < parts.length) {
    const line = make('li', panel.parts);
    make('b', line); make('span', line, 'count'); make('i', make('span', line, 'meter')); make('span', line, 'soft');
  }
  parts.forEach((f, i) => {
    const [name, share, bar, text] = panel.parts.children[i].children;
    set(name, plain(f.name));
    set(share, count(f.value) + (f.of ? ' of ' + count(f.of) : ''));
    meter(bar, f.value, f.of, plain(f.name));
    set(text, plain(f.text));
  });
}
/* Items are, for example, dead timers. A click on an action asks for a confirmation; only the next click acts. */
async function act(panel, id, item, action) {
  try {
    const answer = await fetch(['act', id, item.id, action].join('/'), { method: 'POST', cache: 'no-store' });
    set(panel.said, action + ' ' + item.id + ': ' + plain((await answer.text()).trim()));
  } catch (e) { set(panel.said, action + ' ' + item.id + ': the program does not answer'); }
}
function askFirst(panel, id, line, item, action) {
  line.asked.textContent = '';
  const button = (text, does) => {
    const node = make('button', line.asked, '', text);
    node.type = 'button';
    node.addEventListener('click', () => { line.asked.textContent = ''; does(); });
    return node;
  };
  make('span', line.asked, '', 'Really ' + plain(action) + '? ');
  button('Yes, ' + plain(action), () => act(panel, id, item, action)).focus();
  button('No', () => { line.buttons.firstChild.focus(); });
}
function makeItem(panel, id, item) {
  if (!panel.groups.has(item.group)) {
    const group = { box: make('div', panel.box, 'items') };
    make('h3', group.box, '', plain(item.group));
    group.list = make('ul', group.box, 'listed');
    panel.groups.set(item.group, group);
  }
  const line = { box: make('li', panel.groups.get(item.group).list) };
  make('b', line.box, '', plain(item.name));
  line.text = make('span', line.box, 'soft');
  line.buttons = make('span', line.box, 'acts');
  line.asked = make('span', line.box, 'asked');
  for (const action of item.actions) {
    const button = make('button', line.buttons, '', plain(action));
    button.type = 'button';
    attribute(button, 'aria-label', plain(action + ' ' + item.name + ' ' + item.id));
    button.addEventListener('click', () => askFirst(panel, id, line, item, action));
  }
  return line;
}
function showItems(panel, id, items) {
  const seen = new Set();
  for (const item of items) {
    const key = item.group + item.id;
    seen.add(key);
    if (!panel.items.has(key)) { panel.items.set(key, makeItem(panel, id, item)); }
    set(panel.items.get(key).text, plain(item.text));
  }
  for (const [key, line] of panel.items) { if (!seen.has(key)) { line.box.remove(); panel.items.delete(key); } }
  for (const group of panel.groups.values()) { group.box.hidden = !group.list.children.length; }
}
function renderPanels() {
  const seen = new Set();
  (snapshot.panels || []).forEach((p, i) => {
    const id = i + p.name, panel = panels.get(id) || makePanel(id, p.name);
    seen.add(id);
    panel.box.id = 'panel-' + i;
    attribute(panel.link, 'href', '#panel-' + i);
    for (const f of p.figures) { if (f.unit !== 'part') { showFigure(panel, f); } }
    showParts(panel, p.figures.filter((f) => f.unit === 'part'));
    showItems(panel, p.id, moment === null ? p.items : []); /* items of the past cannot be acted on */
  });
  for (const [id, panel] of panels) { if (!seen.has(id)) { panel.box.remove(); panel.link.remove(); panels.delete(id); } }
  $('main').classList.toggle('bare', !snapshot.subjects.length && seen.size > 0);
}

/* ---- sources ---- */
const rows = new Map();
let wantedRow = null;
function makeHead() {
  const head = $('source-table').tHead.rows[0];
  for (const column of columns) {
    const cell = make('th', head);
    cell.scope = 'col';
    cell.dataset.key = column.key;
    const button = make('button', cell, '', column.title);
    button.type = 'button';
    button.addEventListener('click', () => {
      descending = sortKey === column.key ? !descending : !column.text;
      sortKey = column.key;
      keep();
      if (snapshot) { renderSources(subject()); }
    });
  }
}
/* Marks sources that others wait for, and sources with a stuck callback. */
function markSources(now) {
  const find = (kind, is) => (now.sources || []).find((s) => (s.kind || now.kind) === kind && is(s)) || {};
  for (const t of snapshot.troubles) {
    if (t.culprit !== undefined) { find(t.subject, (s) => s.id === t.culprit).isWaitedFor = true; }
  }
  for (const w of now.workers || []) {
    if (w.state === 'stuck') { find(w.kind || now.kind, (s) => s.name === w.callback).running_ns = w.stuck_ms * 1e6; }
  }
}
function rowId(s) { return (s.kind || subject().kind) + s.label + s.name; }
/* Names that differ only in their numbers are a group. */
function pattern(name) { return name.replace(/[0-9a-f]{8,}|\d+/gi, '#'); }
function addUpGroup(name, list) {
  const group = { name: name, label: list[0].label, group: list, leak: list.some((s) => s.leak),
    isWaitedFor: list.some((s) => s.isWaitedFor), running_ns: Math.max(...list.map((s) => s.running_ns || 0)), kind: list[0].kind };
  for (const key of ['pending', 'started', 'fired', 'ended', 'busy']) { group[key] = list.reduce((sum, s) => sum + s[key], 0); }
  for (const key of ['oldest_s', 'time_ns', 'late50_ns', 'late99_ns']) { group[key] = Math.max(...list.map((s) => s[key])); }
  for (const key of ['started_range', 'fired_range', 'ended_range']) {
    if (list[0][key]) { group[key] = addUp(list.map((s) => s[key])); }
  }
  group.older = list.some((s) => s.older && s.oldest_s === group.oldest_s);
  const weight = list.map((s) => s.ended), all = group.ended;
  group.cancelled_share = all ? list.reduce((sum, s, i) => sum + s.cancelled_share * weight[i], 0) / all : 0;
  group.fired_share = all ? list.reduce((sum, s, i) => sum + s.fired_share * weight[i], 0) / all : 0;
  return group;
}
function groupUp(list) {
  const groups = new Map(), result = [];
  for (const s of list) {
    const key = (s.kind || '') + s.label + pattern(s.name);
    (groups.get(key) || groups.set(key, []).get(key)).push(s);
  }
  for (const members of groups.values()) {
    if (members.length < GROUP_FROM || pattern(members[0].name) === members[0].name) { result.push(...members); }
    else { result.push(addUpGroup(pattern(members[0].name), members)); }
  }
  return result;
}
function makeRow() {
  const row = document.createElement('tr');
  const cells = columns.map((column) => make('td', row, column.key === 'name' ? 'name' : ''));
  const name = make('button', make('span', cells[0])), tag = make('span', cells[0], 'tag', 'task'),
    flag = make('span', cells[0], 'flag');
  name.type = 'button';
  const picture = svg('svg', cells[2]);
  attribute(picture, 'viewBox', '0 0 84 20');
  attribute(picture, 'role', 'img');
  const entry = { row: row, cells: cells, name: name, tag: tag, flag: flag, line: svg('polyline', picture), picture: picture,
    values: columns.map((_, i) => i > 0 && i !== 2 ? cells[i].appendChild(document.createTextNode('')) : null),
    change: make('span', cells[1], 'change'), trendAt: -2 };
  name.addEventListener('click', () => toggle(entry));
  return entry;
}
function toggle(entry) {
  const set = entry.source.group ? openGroups : opened, id = entry.source.group ? entry.source.name : entry.id;
  if (set.has(id)) { set.delete(id); } else { set.add(id); }
  if (snapshot) { renderSources(subject()); }
}
function drawTrend(entry, trend) {
  const at = moment === null ? trendSecond : -1; /* for moments of the past, this line is not kept */
  if (entry.trendAt === at || !trend) { return; }
  entry.trendAt = at;
  if (moment !== null) { attribute(entry.line, 'points', ''); attribute(entry.picture, 'aria-label', 'not known'); return; }
  const low = Math.min(...trend), high = Math.max(...trend), span = Math.max(high - low, high * 0.02, 1);
  const point = (n, i) =>
    (84 - (trend.length - 1 - i) * 1.4).toFixed(1) + ',' + (18 - (n - low) / span * 16).toFixed(1);
  attribute(entry.line, 'points', trend.map(point).join(' '));
  attribute(entry.picture, 'aria-label', 'from ' + count(trend[0]) + ' to ' + count(trend[trend.length - 1]));
}
function trendOf(s) {
  if (!s.group) { return trends.get(rowId(s)); }
  const list = s.group.map((m) => trends.get(rowId(m)) || []), size = Math.max(...list.map((t) => t.length));
  return Array.from({ length: size }, (_, i) => list.reduce((sum, t) => sum + (t[t.length - size + i] || 0), 0));
}
function showRow(entry, s, id, isMember, before) {
  entry.source = s;
  entry.id = id;
  const isOpen = s.group ? openGroups.has(s.name) : opened.has(id), others = before && before.get(id);
  set(entry.name, plain(s.name) + (s.group ? ' (' + s.group.length + ')' : ''));
  entry.name.className = s.label || s.group ? '' : 'code';
  attribute(entry.name, 'aria-expanded', String(isOpen));
  attribute(entry.cells[0], 'title', plain(s.name));
  entry.row.classList.toggle('member', isMember);
  entry.tag.hidden = s.kind !== 'tasks';
  entry.flag.hidden = !s.leak && !s.isWaitedFor;
  set(entry.flag, '\u25b2 ' + [s.leak ? 'grows: a leak?' : '', s.isWaitedFor ? 'others wait for it' : ''].filter(Boolean).join(', '));
  for (let i = 1; i < columns.length; i++) { if (columns[i].show) { set(entry.values[i], columns[i].show(s)); } }
  set(entry.change, before && !s.group ? ' ' + signed(s.pending - (others ? others.pending : 0), count) : '');
  drawTrend(entry, trendOf(s));
}
function renderSources(now) {
  const wanted = $('filter').value.toLowerCase(), column = columns.find((c) => c.key === sortKey);
  const value = column.sort || ((s) => s[sortKey]);
  const order = (a, b) => {
    const x = value(a), y = value(b), by = column.text ? collator.compare(x, y) : x - y;
    return (descending ? -by : by) || collator.compare(a.name, b.name);
  };
  markSources(now);
  const all = (now.sources || []).filter((s) => s.name.toLowerCase().includes(wanted));
  const top = (wanted || allRows ? all : groupUp(all)).sort(order), limit = wanted || allRows ? Infinity : ROWS_SHOWN;
  for (const cell of $('source-table').tHead.rows[0].cells) {
    const isIt = cell.dataset.key === sortKey;
    if (isIt) { attribute(cell, 'aria-sort', descending ? 'descending' : 'ascending'); } else { cell.removeAttribute('aria-sort'); }
    set(cell.firstChild,
      columns.find((c) => c.key === cell.dataset.key).title + (isIt ? (descending ? ' \u2193' : ' \u2191') : ''));
  }
  const list = [];
  top.forEach((s, i) => {
    /* Marked rows, and the row to which a link led, are never folded away. */
    if (i < limit || s.leak || s.isWaitedFor || rowId(s) === wantedRow || (s.group && s.group.some((m) => rowId(m) === wantedRow))) {
      list.push([s, false]);
      if (s.group && openGroups.has(s.name)) { for (const m of s.group.sort(order)) { list.push([m, true]); } }
    }
  });
  const body = $('source-table').tBodies[0], seen = new Set(), old = compared && subjectOf(compared).sources;
  const before = old && new Map(old.map((s) => [rowId(s), s]));
  let place = body.firstChild;
  const put = (row) => { if (row !== place) { body.insertBefore(row, place); } else { place = place.nextSibling; } };
  for (const [s, isMember] of list) {
    const id = s.group ? 'group ' + rowId(s) : rowId(s), entry = rows.get(id) || rows.set(id, makeRow()).get(id);
    seen.add(id);
    showRow(entry, s, id, isMember, before);
    put(entry.row);
    if (opened.has(id)) {
      put(detailOf(entry));
    } else if (entry.detail) {
      place = place === entry.detail ? place.nextSibling : place;
      entry.detail.remove();
      entry.detail = null;
    }
  }
  for (const [id, entry] of rows) {
    if (!seen.has(id)) { entry.row.remove(); if (entry.detail) { entry.detail.remove(); } rows.delete(id); opened.delete(id); }
  }
  const folded = all.length - list.filter(([s]) => !s.group).length;
  $('all-rows').hidden = !allRows && folded <= 0;
  set($('all-rows'), allRows ? 'Group and fold' : 'Show all ' + all.length);
  attribute($('all-rows'), 'aria-pressed', String(allRows));
  $('older').hidden = !all.some((s) => s.older && s.pending > 0);
  $('sampled').hidden = !all.some((s) => s.started_range);
  $('no-sources').hidden = list.length > 0;
  set($('no-sources'),
    now.kind === 'wheel' ? 'A wheel without a service does not say who started its timers.' : wanted ? 'No source has this name.' : 'No timers.');
}

/* ---- the timers of a source ---- */
function detailOf(entry) {
  if (!entry.detail) {
    entry.detail = make('tr', null, 'detail');
    const cell = make('td', entry.detail);
    cell.colSpan = columns.length;
    make('p', make('div', cell), 'hint', 'Looking at its timers \u2026');
  }
  if (moment !== null) {
    entry.asked = 0;
    set(entry.detail.firstChild.firstChild, 'Its timers are known only of now.');
  } else if (!entry.asked || performance.now() - entry.asked > 2000) { fillDetail(entry); }
  return entry.detail;
}
async function fillDetail(entry) {
  const s = entry.source;
  entry.asked = performance.now();
  if (isLost) { return; }
  try {
    const data = JSON.parse(await ask('source/' + (s.kind || subject().kind) + '/' + s.id, 15000));
    if (entry.detail && data.name === s.name && moment === null) { showDetail(entry.detail.firstChild.firstChild, data); }
  } catch (e) {
    if (entry.detail && e.status) { set(entry.detail.firstChild.firstChild, 'Its timers cannot be seen now.'); }
  }
}
function barList(parent, title, list) {
  const box = make('div', parent), bars = make('div', null, 'bars'), most = Math.log2(1 + Math.max(1, ...list.map((x) => x[1])));
  make('h3', box, '', title);
  for (const [name, n] of list) {
    make('span', bars, '', name);
    const track = make('span', bars, 'track');
    make('i', track).style.width = Math.log2(1 + n) / most * 100 + '%';
    make('span', bars, 'count', count(n));
  }
  box.append(list.length ? bars : make('p', null, 'hint', 'None.'));
}
function showDetail(box, data) {
  const late = new Map(), round = (ns) => Math.pow(2, Math.ceil(Math.log2(ns)));
  for (const [ns, n] of data.late) { late.set(round(ns), (late.get(round(ns)) || 0) + n); }
  box.replaceChildren();
  box.said = null;
  make('h3', box, 'wide', plain(data.name));
  barList(box, 'When they are due', data.coming.map((n, i) => [COMING[i], n]).filter((x) => x[1]));
  barList(box, 'How late they were, in the last ten seconds', Array.from(late, ([ns, n]) => [duration(ns / 2) + ' \u2013 ' + duration(ns), Math.round(n)]).filter((x) => x[1]));
  const part = make('div', box, 'wide'), table = make('table');
  const few = data.timers.length < data.pending;
  make('h3', part, '', few ? data.timers.length + ' of ' + count(data.pending) + ' timers, chosen at random' : 'Its timers');
  part.append(table);
  const head = table.createTHead().insertRow();
  for (const title of ['Timer', 'Due', 'Period', 'Age', 'Worker']) { make('th', head, '', title).scope = 'col'; }
  const body = table.createTBody();
  for (const t of data.timers.sort((a, b) => a.due_ns - a.overdue_ns - b.due_ns + b.overdue_ns)) {
    const row = body.insertRow();
    const due = t.running ? 'is running' : t.overdue_ns ? longTime(t.overdue_ns) + ' ago' : 'in ' + longTime(t.due_ns);
    const age = (t.older ? '\u2265 ' : '') + (t.age_ms ? longTime(t.age_ms * 1e6) : '< 250 ms'); /* a look */
    const texts = [t.timer, due, t.period_ns ? longTime(t.period_ns) : '\u2013', age, String(t.worker)];
    texts.forEach((text, i) => make('td', row, i ? '' : 'code', text));
  }
}

/* ---- coming ---- */
const bars = [];
function renderComing(now) {
  const coming = now.coming || [], most = Math.log2(1 + Math.max(1, ...coming));
  COMING.forEach((title, i) => {
    if (!bars[i]) {
      make('span', $('coming-bars'), '', title);
      const track = make('span', $('coming-bars'), 'track');
      attribute(track, 'role', 'img');
      bars[i] = { track: track, fill: make('i', track), count: make('span', $('coming-bars'), 'count') };
    }
    const n = coming[i] || 0;
    bars[i].fill.style.width = (n ? Math.max(1, Math.log2(1 + n) / most * 100) : 0) + '%';
    set(bars[i].count, count(n));
    attribute(bars[i].track, 'aria-label', title + ': ' + several(n, 'timer', 'timers'));
  });
}

/* ---- workers ---- */
function renderWorkers(now) {
  const body = $('worker-table').tBodies[0], workers = now.workers || [];
  while (body.rows.length > workers.length) { body.deleteRow(-1); }
  while (body.rows.length < workers.length) {
    const row = body.insertRow();
    for (let i = 0; i < 7; i++) { row.insertCell(); }
    row.cells[2].append(document.createTextNode(''), make('span', null, 'meter'));
    make('i', row.cells[2].lastChild);
  }
  const first = (w) => w.state === 'stuck' ? 0 : 1;
  workers.map((w, i) => [w, i]).sort((a, b) => first(a[0]) - first(b[0]) || a[1] - b[1]).forEach(([w], i) => {
    const row = body.rows[i], isStuck = w.state === 'stuck';
    row.classList.toggle('stuck', isStuck);
    row.dataset.worker = (w.kind || now.kind) + w.id;
    set(row.cells[0], (w.kind ? w.kind + ' ' : '') + w.id);
    set(row.cells[1], isStuck ? 'stuck for ' + (w.stuck_ms / 1000).toFixed(1) + ' s in ' + plain(w.callback) + '; timers as of then' : w.state);
    set(row.cells[2].firstChild, percent(w.busy));
    meter(row.cells[2].lastChild, w.busy, 1, 'busy');
    set(row.cells[3], count(w.timers));
    set(row.cells[4], rate(w.fired));
    set(row.cells[5], count(w.rescued));
    set(row.cells[6], count(w.moved));
  });
  $('no-workers').hidden = now.kind !== 'wheel';
  $('worker-table').hidden = now.kind === 'wheel';
  const log = (now.stuck || []).slice().sort((a, b) => b.since_ms - a.since_ms), list = $('stuck-log').lastElementChild;
  $('stuck-log').hidden = !log.length;
  while (list.children.length > log.length) { list.lastChild.remove(); }
  log.forEach((e, i) => {
    const item = list.children[i] || make('li', list);
    item.className = e.now ? 'now' : '';
    set(item, clock(e.since_ms) + '  worker ' + (e.kind ? e.kind + ' ' : '') + e.worker + ', ' + plain(e.callback) + ': ' +
      (e.lasted_ms / 1000).toFixed(1) + ' s' + (e.now ? ' so far' : ''));
  });
}

/* ---- lateness ---- */
const small = document.createElement('canvas');
let heatDrawn = '', heatRange = [0, HEAT_ROWS - 1], heatSpan = SECONDS_KEPT, heatRow = null;
function bound(row) { return Math.pow(2, HEAT_FIRST_BIT + row); }
function heatOf(list) {
  let low = HEAT_ROWS, high = 0, most = 1;
  for (const column of list) {
    for (let i = 0; i < HEAT_ROWS; i++) {
      if (column[i + 1]) { low = Math.min(low, i); high = Math.max(high, i); most = Math.max(most, column[i + 1]); }
    }
  }
  low = Math.max(0, Math.min(low, high) - 1);
  return { low: low, high: Math.min(HEAT_ROWS - 1, Math.max(high + 1, low + 9)), most: most };
}
/* How far below the top a lateness is drawn, from 0 to 1. Row r goes from bound(r - 1) up to bound(r). */
function heatPlace(ns) { return (heatRange[1] - Math.log2(ns) + HEAT_FIRST_BIT) / (heatRange[1] - heatRange[0] + 1); }
function drawQuantile(draw, list, last, q, colour, dashes) {
  const w = draw.canvas.width / heatSpan;
  let before = -2;
  draw.beginPath();
  for (const column of list) {
    const ns = quantile(column.slice(1), q), x = heatSpan - 1 - (last - column[0]);
    if (!ns || x < 0) { continue; }
    const y = heatPlace(ns) * draw.canvas.height;
    if (x === before + 1) { draw.lineTo((x + 0.5) * w, y); } else { draw.moveTo((x + 0.5) * w, y); }
    before = x;
  }
  draw.strokeStyle = colour; draw.lineWidth = 1.5 * devicePixelRatio; draw.setLineDash(dashes); draw.stroke(); draw.setLineDash([]);
}
/* Draws labels at 1 us, 10 us and so on, which may be between two rows. */
function drawAxis() {
  const labels = [];
  for (let ns = 1e3; ns <= 1e12; ns *= 10) {
    const place = heatPlace(ns);
    if (place < 0 || place > 1) { continue; }
    const label = make('span', null, '', duration(ns));
    label.style.top = place * 100 + '%';
    labels.push(label);
  }
  $('heat-axis').replaceChildren(...labels);
}
function renderHeat(now) {
  const list = historyOf(now.kind).late, last = list.length ? list[list.length - 1][0] : 0;
  const canvas = $('heat'), box = canvas.getBoundingClientRect(), colour = style('--heat');
  const id = [now.kind, last, list.length, box.width, colour, moment, heatRow].join();
  $('lateness').hidden = now.kind === 'wheel';
  if (id === heatDrawn || !box.width) { return; }
  heatDrawn = id;
  const { low, high, most } = heatOf(list);
  heatRange = [low, high];
  heatSpan = spanOf(now.kind);
  const height = high - low + 1, image = new ImageData(heatSpan, height), [r, g, b] = colour.split(',').map(Number);
  for (const column of list) {
    const x = heatSpan - 1 - (last - column[0]);
    for (let i = low; i <= high && x >= 0; i++) {
      const n = column[i + 1];
      if (!n) { continue; }
      const at = ((high - i) * heatSpan + x) * 4;
      image.data[at] = r; image.data[at + 1] = g; image.data[at + 2] = b;
      image.data[at + 3] = 40 + 215 * Math.log2(1 + n) / Math.log2(1 + most);
    }
  }
  small.width = heatSpan; small.height = height;
  small.getContext('2d').putImageData(image, 0, 0);
  canvas.width = Math.round(box.width * devicePixelRatio); canvas.height = Math.round(box.height * devicePixelRatio);
  const draw = canvas.getContext('2d');
  draw.imageSmoothingEnabled = false;
  draw.drawImage(small, 0, 0, canvas.width, canvas.height);
  drawQuantile(draw, list, last, 0.5, style('--ink'), []);
  drawQuantile(draw, list, last, 0.99, style('--warn'), [5 * devicePixelRatio, 4 * devicePixelRatio]);
  if (moment !== null) {
    const w = canvas.width / heatSpan, h = canvas.height / height, x = heatSpan - 1 - (last - moment);
    draw.strokeStyle = style('--ink'); draw.lineWidth = 2;
    draw.strokeRect(x * w - 1, heatRow === null ? 0 : (high - heatRow) * h, w + 2, heatRow === null ? canvas.height : h);
  }
  const minutes = heatSpan / 60;
  set($('heat-hint'), 'A column a second, for the last ' + minutes + ' minutes; the darker (in the dark: the brighter), the more callbacks began so late.');
  set($('heat-time').children[0], minutes + ' minutes ago');
  set($('heat-time').children[1], minutes / 2 + (minutes === 2 ? ' minute ago' : ' minutes ago'));
  set($('heat-most'), count(most));
  drawAxis();
}
function readHeat() {
  const list = snapshot ? historyOf(subject().kind).late : [];
  if (moment === null) { set($('heat-read'), list.length ? '' : 'Nothing is recorded yet.'); return; }
  const column = list.find((c) => c[0] === moment);
  const ago = lastSecond(subject().kind) - moment + ' s ago';
  if (!column) { set($('heat-read'), ago + ': not recorded'); return; }
  const rows = column.slice(1), all = several(rows.reduce((a, b) => a + b, 0), 'callback', 'callbacks');
  const half = duration(quantile(rows, 0.5)), most = duration(quantile(rows, 0.99));
  const here = heatRow === null ? '' : '; ' + (heatRow ? duration(bound(heatRow - 1)) : '0') + ' to ' + duration(bound(heatRow)) + ' late: ' + count(rows[heatRow]);
  set($('heat-read'), ago + ', ' + all + ', half less than ' + half + ' late, 99 % less than ' + most + here);
}
function moveRow(row) { heatRow = Math.min(heatRange[1], Math.max(heatRange[0], row)); }
$('heat').addEventListener('keydown', (event) => {
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], PageUp: [-60, 0],
    PageDown: [60, 0] }[event.key];
  if (!step || !snapshot) { return; }
  event.preventDefault();
  moveRow((heatRow === null ? heatRange[0] + 1 : heatRow) + step[1]);
  pointAt((moment === null ? kept(Infinity) : moment) + step[0], true, step[0]);
  keep();
});
$('heat').addEventListener('pointermove', (event) => {
  const box = event.target.getBoundingClientRect(), height = heatRange[1] - heatRange[0] + 1;
  if (isPinned) { return; }
  moveRow(heatRange[1] - Math.floor((event.clientY - box.top) / box.height * height));
  if (snapshot) { glance(lastSecond(subject().kind) - heatSpan + 1 + Math.floor((event.clientX - box.left) / box.width * heatSpan)); }
});
$('heat').addEventListener('pointerleave', () => { if (!isPinned) { heatRow = null; endGlance(); } });
$('heat').addEventListener('click', pin);

/* ---- tasks ---- */
let tasksOpen = false, tasksAsked = 0;
function renderTasks() {
  const tasks = snapshot.tasks;
  $('tasks').hidden = !tasks;
  $('task-table').hidden = !tasksOpen || moment !== null; /* what tasks wait for is not kept */
  document.querySelector('nav a[href="#tasks"]').hidden = !tasks;
  if (!tasks) { return; }
  set($('task-hint'), several(tasks.tasks, 'task', 'tasks') + ', ' + count(tasks.operations) + ' operations, ' + count(tasks.timeouts) + ' of which timed out.');
  if (tasksOpen && !isLost && moment === null && performance.now() - tasksAsked > 2000) { listTasks(); }
}
async function listTasks() {
  const SHOWN = 500, body = $('task-table').tBodies[0];
  tasksAsked = performance.now();
  try {
    const list = [];
    for (const line of (await ask('tasks')).split('\n')) {
      const head = /^task \S+ "(.*)", worker (\d+): (.*)$/.exec(line), more = /^ {4}function \S+ ?(.*)$/.exec(line);
      if (head) { list.push([head[1] || '(no name)', head[3], head[2], '']); }
      else if (more && list.length) { list[list.length - 1][3] = (/\((.*)\+0x[0-9a-f]+\)$/.exec(more[1]) || ['', more[1]])[1]; }
    }
    while (body.rows.length > Math.min(list.length, SHOWN)) { body.deleteRow(-1); }
    list.slice(0, SHOWN).forEach((task, i) => {
      const row = body.rows[i] || body.insertRow();
      task.forEach((text, k) => set(row.cells[k] || row.insertCell(), plain(text)));
    });
    if (list.length > SHOWN) { set($('task-hint'), 'The first ' + SHOWN + ' of ' + count(list.length) + ' tasks.'); }
  } catch (e) {
    if (e.status === 413) { body.replaceChildren(); set(make('td', body.insertRow()), 'There are too many tasks to list them.'); }
  }
}

/* ---- the wheel ---- */
function wheel() {
  const wheels = subject().wheels || [];
  return wheels.find((w) => w.name === wheelName) || wheels[0];
}
/* The worker of a wheel, if it is stuck. A stuck worker publishes nothing. */
function stuckWorker(now, shown) {
  return (now.workers || []).find((w) => w.state === 'stuck' && (w.kind ? w.kind + ', ' : '') + 'worker ' + w.id === shown.name);
}
function levelText(level, shown, i) {
  const slot = shown.tick_ns * Math.pow(2, level.shift), nodes = level.cells.reduce((a, b) => a + b, 0);
  const long = slot < 1e9 ? duration(slot) : seconds(Math.round(slot / 1e9));
  return 'Level ' + i + ': ' + count(level.slots) + ' slots of ' + long + ', ' + several(nodes, 'node', 'nodes');
}
function renderWheel(now) {
  choose($('wheel-choice'), (now.wheels || []).map((w) => w.name), wheelName);
  const shown = wheel(), list = $('levels');
  $('wheel-label').hidden = (now.wheels || []).length < 2;
  const texts = shown ? shown.levels.map((level, i) => levelText(level, shown, i)) : ['Nothing was published yet.'];
  const stuck = shown && stuckWorker(now, shown);
  if (stuck) { texts.unshift('As of ' + longTime(stuck.stuck_ms * 1e6) + ' ago: worker ' + stuck.id + ' is stuck.'); }
  $('wheel-box').classList.toggle('past', Boolean(stuck));
  while (list.children.length > texts.length) { list.lastChild.remove(); }
  texts.forEach((text, i) => { set(list.children[i] || make('li', list), text); });
  attribute($('rings'), 'aria-label', 'Rings of the levels. ' + texts.join('. '));
}
function clockOf(now, shown) {
  if (stuckWorker(now, shown)) { return shown.now_ns; }
  const base = now.now_ns === undefined ? shown.now_ns : now.now_ns, stands = paused || isLost || moment !== null || calm.matches;
  return stands || now.kind === 'wheel' ? base : base + Math.min(performance.now() - shownAt, 2000) * 1e6;
}
/* Slots are drawn for each snapshot, hands for each frame. If the user wants no motion, both for each snapshot. */
const slots = document.createElement('canvas');
let ringsDrawn = '', handColour = '', handsAt = 0;
function ring(shown, size, n) {
  const thick = Math.min(size * 0.085, (size * 0.42) / shown.levels.length), outer = size * 0.4925 - n * thick;
  return { outer: outer, inner: outer - thick * 0.84, gap: thick * 0.16 };
}
function drawSlots(shown, size) {
  const colour = style('--heat'), line = style('--line');
  const id = [shown.name, shown.tick, shown.nodes, shownAt, size, colour].join();
  if (id === ringsDrawn) { return; }
  ringsDrawn = id;
  handColour = style('--ink');
  slots.width = slots.height = size;
  const draw = slots.getContext('2d'), middle = size / 2;
  shown.levels.forEach((level, n) => {
    const at = ring(shown, size, n), cells = level.cells.length, most = Math.log2(1 + Math.max(1, ...level.cells));
    for (let i = 0; i < cells; i++) {
      const from = i / cells * 2 * Math.PI - Math.PI / 2, to = (i + 0.88) / cells * 2 * Math.PI - Math.PI / 2;
      draw.beginPath(); draw.arc(middle, middle, at.outer, from, to);
      draw.arc(middle, middle, at.inner, to, from, true); draw.closePath();
      draw.fillStyle = line; draw.globalAlpha = 0.55; draw.fill(); draw.globalAlpha = 1;
      if (level.cells[i]) { draw.fillStyle = 'rgba(' + colour + ',' + (0.25 + 0.75 * Math.log2(1 + level.cells[i]) / most) + ')'; draw.fill(); }
    }
  });
  draw.fillStyle = style('--soft'); draw.textAlign = 'center'; draw.textBaseline = 'middle';
  draw.font = Math.round(size / 30) + 'px system-ui, sans-serif';
  if (shown.levels.length < 9) { draw.fillText(count(shown.nodes), middle, middle); }
}
function drawRings() {
  requestAnimationFrame(drawRings);
  const canvas = $('rings'), shown = snapshot && wheel();
  if (!shown || document.hidden || (calm.matches && handsAt === shownAt)) { return; }
  const box = canvas.getBoundingClientRect();
  if (!box.width || box.bottom < 0 || box.top > innerHeight) { return; }
  handsAt = shownAt;
  const size = Math.round(box.width * devicePixelRatio), middle = size / 2;
  if (canvas.width !== size) { canvas.width = canvas.height = size; }
  drawSlots(shown, size);
  const draw = canvas.getContext('2d'), ticks = clockOf(subject(), shown) / shown.tick_ns;
  draw.clearRect(0, 0, size, size);
  draw.drawImage(slots, 0, 0);
  draw.strokeStyle = handColour; draw.lineWidth = Math.max(2, size / 220);
  shown.levels.forEach((level, n) => {
    const at = ring(shown, size, n), turn = (ticks / Math.pow(2, level.shift)) % level.slots / level.slots;
    const hand = turn * 2 * Math.PI - Math.PI / 2, from = at.inner - at.gap * 0.5, to = at.outer + at.gap * 0.5;
    draw.beginPath();
    draw.moveTo(middle + Math.cos(hand) * from, middle + Math.sin(hand) * from);
    draw.lineTo(middle + Math.cos(hand) * to, middle + Math.sin(hand) * to);
    draw.stroke();
  });
}

/* ---- all ---- */
function render() {
  const names = subjectsOf(snapshot).map((s) => s.name), now = subject();
  choose($('subject'), names, now.name);
  $('subject').hidden = names.length < 2;
  set($('who'), plain(snapshot.name) + ', process ' + snapshot.pid);
  document.title = (live.troubles.length ? '\u25b2 ' : '') + plain(snapshot.name) + ' \u2013 verge scope';
  if (!isLost) { showTroubles(snapshot.troubles, snapshot.trouble_count - snapshot.troubles.length, pastTroubles()); }
  renderFigures(now); renderMoment(); renderSources(now); renderComing(now); renderWorkers(now); renderHeat(now);
  renderTasks(); renderWheel(now); renderPanels(); readHeat();
}
function pause() {
  paused = !paused;
  attribute($('pause'), 'aria-pressed', String(paused));
  set($('pause'), paused ? 'Go on' : 'Pause');
  showState();
}
const themes = ['system', 'light', 'dark'];
function retheme(theme) {
  if (theme === 'system') { delete document.documentElement.dataset.theme; } else { document.documentElement.dataset.theme = theme; }
  set($('theme'), 'Theme: ' + theme);
  if (snapshot) { render(); }
}
$('pause').addEventListener('click', pause);
$('theme').addEventListener('click', () => {
  retheme(themes[(themes.indexOf(document.documentElement.dataset.theme || 'system') + 1) % 3]);
  keep();
});
$('filter').addEventListener('input', () => { keep(); if (snapshot) { renderSources(subject()); } });
$('all-rows').addEventListener('click', () => { allRows = !allRows; if (snapshot) { renderSources(subject()); } });
$('subject').addEventListener('change', () => { subjectName = $('subject').value; keep(); if (snapshot) { render(); } });
$('wheel-choice').addEventListener('change', () => { wheelName = $('wheel-choice').value; if (snapshot) { render(); } });
$('moment').addEventListener('input', () => {
  const back = Number($('moment').value);
  if (!snapshot) { return; }
  if (back === 0) { toNow(); } else { pointAt(kept(Infinity) + back, true); keep(); }
});
$('to-now').addEventListener('click', toNow);
$('compare').addEventListener('click', compare);
$('export').addEventListener('click', exportAll);
$('link').addEventListener('click', copyLink);
$('list-tasks').addEventListener('click', () => {
  tasksOpen = !tasksOpen;
  tasksAsked = 0;
  attribute($('list-tasks'), 'aria-expanded', String(tasksOpen));
  set($('list-tasks'), tasksOpen ? 'Hide tasks' : 'List tasks');
  if (snapshot) { renderTasks(); }
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) { return; }
  if (event.key === 'Escape') { toNow(); }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { return; }
  if (event.key === 'p') { pause(); }
  if (event.key === 't') { $('theme').click(); }
  if (event.key === 'c') { compare(); }
  if (event.key === '/') { event.preventDefault(); $('filter').focus(); }
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (snapshot) { render(); } });
addEventListener('resize', () => { if (snapshot) { renderHeat(subject()); } });
restore();
makeHead();
listen();
requestAnimationFrame(drawRings);
