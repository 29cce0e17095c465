/* SPDX-License-Identifier: MIT */
/*
 * Every quarter of a second the page asks for the next snapshot (docs/SCOPE.md has the format), and shows it. It keeps
 * one snapshot a second, for ten minutes, so that it can show a moment of the past. The lines of the headline figures
 * and the heat map come from the program itself, so they begin before the page was opened.
 */

const $ = (id) => document.getElementById(id);
const COMING = ['overdue', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '1 min', '10 min', '1 h', '1 day', 'later'];
const SECONDS_KEPT = 600, TEXT_KEPT = 48e6, HEAT_ROWS = 34, HEAT_FIRST_BIT = 10, ROWS_SHOWN = 20, GROUP_FROM = 5;
const SECOND = { second: 0, pending: 1, started: 2, fired: 3, cancelled: 4, bytes: 5, workers: 6, stuck: 7 };
const columns = [
  { key: 'name', title: 'Source', text: true },
  { key: 'pending', title: 'Pending', show: (s) => count(s.pending), change: true },
  { key: 'trend', title: 'Last minute', sort: (s) => s.pending },
  { key: 'oldest_s', title: 'Oldest',
    show: (s) => s.pending > 0 ? (s.older ? '\u2265 ' : '') + seconds(s.oldest_s) : '\u2013' },
  { key: 'started', title: 'Started/s', show: (s) => guess(s.started, s.started_range) },
  { key: 'fired', title: 'Fired/s', show: (s) => guess(s.fired, s.fired_range) },
  { key: 'ended', title: 'Ended/s', show: (s) => guess(s.ended, s.ended_range) },
  { key: 'cancelled_share', title: 'Cancelled',
    show: (s) => s.fired_share + s.cancelled_share > 0 ? percent(s.cancelled_share) : '\u2013' },
  { key: 'time_ns', title: 'Callback, mean', sort: (s) => s.running_ns || s.time_ns,
    show: (s) => s.running_ns ? longTime(s.running_ns) + ' so far' : duration(s.time_ns) },
  { key: 'busy', title: 'Of a core', show: (s) => s.busy > 0 ? percent(s.busy) : '\u2013' },
  { key: 'late50_ns', title: 'Late, median', show: (s) => duration(s.late50_ns) },
  { key: 'late99_ns', title: 'Late, 99 %', show: (s) => duration(s.late99_ns) }
];
const calm = matchMedia('(prefers-reduced-motion: reduce)');
let live = null, snapshot = null; /* live: the last that came; snapshot: the one that is shown */
let paused = false, isLost = true, heardAt = 0, shownAt = 0, run = '';
let sortKey = 'pending', descending = true, allRows = false, subjectName = '', wheelName = '';
let moment = null, isPinned = false, compared = null; /* moment: a second since scope began; null: now */
const history = { service: { late: [], seconds: [] }, tasks: { late: [], seconds: [] } };
const past = new Map(), trends = new Map(), opened = new Set(), openGroups = new Set();
let pastSize = 0, trendSecond = 0, hasMissed = false; /* hasMissed: seconds, while the page was slow or hidden */

/* ---- text ---- */
const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 }), collator = new Intl.Collator();
/* Control characters, and characters that cannot be seen or change the direction of text, are shown by their number. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
function plain(text) {
  return text.replace(HIDDEN, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}
function count(n) { return n < 1000 ? String(Math.round(n)) : grouped.format(n); }
function rate(n) {
  if (n < 0.05) { return '0'; }
  if (n < 10) { return n.toFixed(1); }
  if (n < 10000) { return count(n); }
  return n < 1e6 ? (n / 1e3).toFixed(n < 1e5 ? 1 : 0) + ' k' : (n / 1e6).toFixed(n < 1e7 ? 2 : 1) + ' M';
}
/* A rate with a range comes from samples. It is shown with a "~" or, if the range is wide, as the range. */
function guess(n, range) {
  if (!range) { return rate(n); }
  if (n === 0 || range[1] < 0.05) { return '~0'; }
  if (range[1] <= n * 1.5 && range[0] >= n * 0.5) { return '~' + rate(n); }
  return range[0] > 0.05 ? rate(range[0]) + '\u2013' + rate(range[1]) : '< ' + rate(range[1]);
}
function percent(x) { return (x * 100).toFixed(x > 0 && x < 0.0995 ? 1 : 0) + ' %'; }
function duration(ns) {
  if (!(ns > 0)) { return '\u2013'; }
  const units = [['ns', 1], ['\u00b5s', 1e3], ['ms', 1e6], ['s', 1e9]];
  const i = ns < 1e3 ? 0 : ns < 1e6 ? 1 : ns < 1e9 ? 2 : 3, n = ns / units[i][1];
  return (n < 10 && i > 0 && n % 1 > 0.049 ? n.toFixed(1) : String(Math.round(n))) + ' ' + units[i][0];
}
function seconds(s) {
  return s < 120 ? s + ' s' : s < 7200 ? Math.floor(s / 60) + ' min' : s < 172800 ? (s / 3600).toFixed(1) + ' h' :
    (s / 86400).toFixed(1) + ' days';
}
function longTime(ns) { return ns < 1e9 ? duration(ns) : ns < 1e10 ? (ns / 1e9).toFixed(1) + ' s' : seconds(Math.round(ns / 1e9)); }
function bytes(n) { return n < 1 << 20 ? (n / 1024).toFixed(0) + ' KiB' : n < 1 << 30 ? (n / 1048576).toFixed(1) + ' MiB' : (n / 1073741824).toFixed(2) + ' GiB'; }
function several(n, one, more) { return count(n) + ' ' + (n === 1 ? one : more); }
function signed(n, show) { return (n < 0 ? '\u2212' : '+') + show(Math.abs(n)); }
/* The time of day at so many ms after scope began. */
function clock(ms) { return live ? new Date(live.wall_ms - live.time_ms + ms).toLocaleTimeString() : ''; }
function set(node, text) { if (node.said !== text) { node.said = node.textContent = text; } }
function attribute(node, name, value) { if (node.getAttribute(name) !== value) { node.setAttribute(name, value); } }
function make(tag, parent, className, text) {
  const node = document.createElement(tag);
  if (className) { node.className = className; }
  if (text !== undefined) { node.textContent = text; }
  if (parent) { parent.appendChild(node); }
  return node;
}
function svg(tag, parent) { return parent.appendChild(document.createElementNS('http://www.w3.org/2000/svg', tag)); }
function style(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

/* ---- what is kept in the address, so that a link restores it, and in the storage of the browser ---- */
const KEPT = 'verge scope';
function restore() {
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem(KEPT)) || {}; } catch (e) { /* storage is switched off */ }
  const wanted = Object.assign(kept, Object.fromEntries(new URLSearchParams(location.search)));
  if (columns.some((c) => c.key === wanted.sort)) { sortKey = wanted.sort; descending = wanted.order !== 'up'; }
  $('filter').value = wanted.filter || '';
  subjectName = wanted.show || '';
  if (/^\d+$/.test(wanted.at || '')) { moment = Number(wanted.at); isPinned = true; }
  retheme(themes.includes(wanted.theme) ? wanted.theme : 'system');
}
function keep() {
  const theme = document.documentElement.dataset.theme || 'system';
  const kept = { sort: sortKey, order: descending ? 'down' : 'up', filter: $('filter').value, theme: theme };
  const query = new URLSearchParams(kept);
  if (subjectName) { query.set('show', subjectName); }
  if (isPinned && moment !== null) { query.set('at', moment); }
  window.history.replaceState(null, '', location.pathname + '?' + query + location.hash);
  try { localStorage.setItem(KEPT, JSON.stringify(kept)); } catch (e) { /* storage is switched off */ }
}

/* ---- the connection: it polls, as a browser has only six connections for all pages of an address ---- */
function showState() {
  const what = isLost ? 'lost' : moment !== null ? 'then' : paused ? 'paused' : 'live';
  set($('state'), what + (what === 'then' ? ' ' + clock(moment * 1000) : ''));
  attribute($('state'), 'class', what);
}
async function ask(path, within) {
  const patience = new AbortController(), timer = setTimeout(() => patience.abort(), within || 8000);
  try {
    const answer = await fetch(path, { signal: patience.signal, cache: 'no-store' });
    if (!answer.ok) { throw Object.assign(new Error(String(answer.status)), { status: answer.status }); }
    return await answer.text();
  } finally { clearTimeout(timer); }
}
const rest = (ms) => new Promise((done) => setTimeout(done, ms));
async function listen() {
  for (;;) {
    try {
      if (!run || (hasMissed && !document.hidden)) { takeHistory(JSON.parse(await ask('history'))); }
      const text = await ask('next');
      heardAt = performance.now();
      take(text);
      if (document.hidden) { await rest(1000); }
    } catch (error) {
      lose(error);
      await rest(1000);
    }
  }
}
function lose(error) {
  const silent = error.name === 'AbortError';
  isLost = true;
  run = '';
  showState();
  document.body.classList.add('stale');
  const when = live ? ' These figures are of ' + clock(live.time_ms) + '.' : '';
  const what = error.status && error.status !== 502 ? 'The program answers with an error (' + error.status + ').' :
    silent ? 'The program does not answer.' : 'The program has ended, or serves this page no more.';
  showTroubles([{ kind: 'lost', text: what + when + ' Trying again.' }]);
}

/* ---- what has come ---- */
function takeHistory(data) {
  hasMissed = false;
  joinedAt = '';
  for (const kind of Object.keys(history)) {
    history[kind] = { late: (data[kind] || {}).late || [], seconds: (data[kind] || {}).seconds || [] };
  }
}
function push(list, item) {
  if (item[0] > 0 && (!list.length || list[list.length - 1][0] < item[0])) {
    hasMissed = hasMissed || (list.length > 0 && list[list.length - 1][0] < item[0] - 1);
    list.push(item);
    while (list.length > SECONDS_KEPT) { list.shift(); }
  }
}
function forget() {
  past.clear(); trends.clear(); opened.clear(); begun.clear();
  pastSize = 0; trendSecond = 0; compared = null; moment = null; isPinned = false;
}
function take(text) {
  const data = JSON.parse(text), began = data.pid + ' ' + Math.round((data.wall_ms - data.time_ms) / 5000);
  if (live && (live.pid !== data.pid || data.time_ms < live.time_ms)) { forget(); }
  run = began;
  live = data;
  isLost = false;
  document.body.classList.remove('stale');
  for (const subject of data.subjects) {
    if (history[subject.kind]) {
      push(history[subject.kind].late, subject.late);
      push(history[subject.kind].seconds, subject.second);
    }
  }
  const second = Math.floor(data.time_ms / 1000);
  if (second !== trendSecond) {
    trendSecond = second;
    past.set(second, text);
    pastSize += text.length;
    for (const [old, kept] of past) {
      if (old > second - SECONDS_KEPT && pastSize <= TEXT_KEPT) { break; }
      past.delete(old);
      pastSize -= kept.length;
    }
    for (const subject of data.subjects) {
      for (const s of subject.sources || []) {
        const id = subject.kind + s.label + s.name, trend = trends.get(id) || trends.set(id, []).get(id);
        trend.push(s.pending);
        if (trend.length > 60) { trend.shift(); }
      }
    }
  }
  showState();
  if (paused) { return; }
  if (moment !== null && !snapshot) {
    const wanted = clock(moment * 1000);
    toNow();
    set($('moment-hint'), 'The link leads to ' + wanted + '. This page was not open then, and shows what is now.');
  }
  if (moment === null) { snapshot = data; shownAt = heardAt; }
  render();
}

/* ---- subjects; service and tasks may be seen together ---- */
const TOGETHER = 'service and tasks';
function addUp(lists) { return lists[0].map((_, i) => lists.reduce((sum, list) => sum + (list[i] || 0), 0)); }
function addUpFields(objects) {
  const sum = {};
  for (const o of objects) { for (const key of Object.keys(o)) { sum[key] = (sum[key] || 0) + o[key]; } }
  return sum;
}
function withKind(list, kind) { return (list || []).map((item) => Object.assign({ kind: kind }, item)); }
function together(parts) {
  return { kind: 'all', name: TOGETHER, now_ns: parts[0].now_ns, late99_ns: Math.max(...parts.map((p) => p.late99_ns)),
    stats: addUpFields(parts.map((p) => p.stats)), rates: addUpFields(parts.map((p) => p.rates)),
    sources: parts.flatMap((p) => withKind(p.sources, p.kind)), coming: addUp(parts.map((p) => p.coming)),
    workers: parts.flatMap((p) => withKind(p.workers, p.kind)), stuck: parts.flatMap((p) => withKind(p.stuck, p.kind)),
    wheels: parts.flatMap((p) => p.wheels.map((w) => Object.assign({}, w, { name: p.kind + ', ' + w.name }))) };
}
function subjectsOf(data) {
  const services = data.subjects.filter((s) => s.kind !== 'wheel');
  return services.length > 1 ? [together(services)].concat(data.subjects) : data.subjects;
}
function subjectOf(data) {
  const all = subjectsOf(data);
  return all.find((s) => s.name === subjectName) || all[0] || { kind: '', name: '', stats: {} };
}
function subject() { return subjectOf(snapshot); }
let joined = { late: [], seconds: [] }, joinedAt = '';
function historyOf(kind) {
  if (kind !== 'all') { return history[kind] || { late: [], seconds: [] }; }
  const id = [history.service, history.tasks].map((h) => h.seconds.length && h.seconds[h.seconds.length - 1][0]).join();
  if (id !== joinedAt) {
    joinedAt = id;
    joined = {};
    for (const name of ['late', 'seconds']) {
      const others = new Map(history.tasks[name].map((item) => [item[0], item]));
      joined[name] = history.service[name].map((item) => {
        const other = others.get(item[0]);
        return other ? [item[0]].concat(addUp([item.slice(1), other.slice(1)])) : item;
      });
    }
  }
  return joined;
}
function choose(select, names, chosen) {
  const have = Array.from(select.options, (o) => o.value);
  if (have.join('\n') !== names.join('\n')) {
    select.replaceChildren(...names.map((n) => new Option(plain(n), n)));
  }
  if (names.includes(chosen)) { select.value = chosen; }
}

/* ---- trouble ---- */
let announced = '';
const begun = new Map(); /* each trouble that there was, numbered in the order in which they began */
/* Troubles of a kind stay in the order in which they began. So a line moves only if one before it ends. */
function inOrder(troubles) {
  const kinds = troubles.map((t) => t.kind), at = (t) => {
    const id = [t.kind, t.subject, t.culprit === undefined ? t.which : 'behind ' + t.culprit].join();
    return begun.get(id) || begun.set(id, begun.size + 1).get(id);
  };
  return troubles.map((t) => [kinds.indexOf(t.kind), at(t), t]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((x) => x[2]);
}
function place(trouble) {
  return { stuck: '#workers', was: '#stuck-log', overdue: '#sources', late: '#sources', leak: '#sources',
    lost: '#figures' }[trouble.kind] || '#panel-' + trouble.which;
}
/* One line for all workers that were stuck in the ten minutes before the snapshot, and are not any more. */
function pastTroubles() {
  const from = snapshot.time_ms - SECONDS_KEPT * 1000;
  const events = snapshot.subjects.flatMap((s) => (s.stuck || []).filter((e) => !e.now && e.since_ms >= from)
    .map((e) => Object.assign({ subject: s.kind, who: s.kind + e.worker }, e)));
  if (!events.length) { return []; }
  const last = events.reduce((a, b) => a.since_ms > b.since_ms ? a : b), workers = new Set(events.map((e) => e.who)).size;
  const text = (workers === 1 ? 'worker ' + last.worker + ' was' : workers + ' workers were') + ' stuck ' +
    (events.length === 1 ? 'once' : events.length + ' times') + ' in ten minutes, last at ' + clock(last.since_ms);
  return [{ kind: 'was', subject: last.subject, which: last.worker, text: text }];
}
function showTroubles(found, more, passed) {
  const troubles = inOrder(found), list = $('trouble').firstElementChild, all = troubles.concat(passed || []);
  $('trouble').hidden = !all.length;
  $('trouble').classList.toggle('calm', !troubles.length);
  while (list.children.length > all.length) { list.lastChild.remove(); }
  while (list.children.length < all.length) {
    const link = make('a', make('li', list));
    link.addEventListener('click', (event) => { event.preventDefault(); goTo(link.trouble); });
  }
  all.forEach((trouble, i) => {
    const link = list.children[i].firstChild;
    attribute(list.children[i], 'class', trouble.kind);
    link.trouble = trouble;
    attribute(link, 'href', place(trouble));
    set(link, plain(trouble.text) + (more && i === troubles.length - 1 ? ' (and ' + more + ' more)' : ''));
  });
  if (moment !== null && !isLost) { return; }
  /* Announce the list only if its troubles or their sources have changed, not for a new figure or reason. */
  const known = troubles.map((t) => t.kind + t.subject + t.which + t.text.replace(/\(.*|[\d.]+/g, '')).join();
  if (known !== announced) {
    announced = known;
    set($('announce'), troubles.length ? troubles.map((t) => plain(t.text)).join('. ') : 'All is well again.');
  }
}
/* Goes to the row, panel or view that a trouble is about. If it is a source, its timers are shown, too. */
function goTo(trouble) {
  if (!snapshot) { return; }
  if (trouble.subject && subject().kind !== trouble.subject && subject().kind !== 'all') {
    subjectName = trouble.subject;
  }
  $('filter').value = '';
  if (place(trouble) === '#sources') {
    const s = (subject().sources || []).find((x) => x.id === trouble.which && (x.kind || subject().kind) === trouble.subject);
    opened.delete(wantedRow); /* the last link opened it, and the program gives details of few sources only */
    if (s) { wantedRow = rowId(s); opened.add(wantedRow); openGroups.add(pattern(s.name)); }
  }
  render();
  let node = document.querySelector(place(trouble));
  if (trouble.kind === 'stuck') { node = document.querySelector('tr[data-worker="' + trouble.subject + trouble.which + '"]') || node; }
  if (place(trouble) === '#sources' && wantedRow) { node = (rows.get(wantedRow) || {}).row || node; }
  for (const old of document.querySelectorAll('.found')) { old.classList.remove('found'); }
  if (!node) { return; }
  node.classList.add('found');
  node.tabIndex = -1;
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: 'center', inline: 'nearest' });
  keep();
}

/* ---- figures, with ten minutes of each ---- */
const figures = { list: $('tiles'), tiles: new Map() };
function tile(at, title, value, more) {
  let node = at.tiles.get(title);
  if (!node) {
    const box = make('div', at.list);
    make('dt', box, '', title);
    node = { value: document.createTextNode(''), more: document.createElement('small'), box: box };
    make('dd', box).append(node.value, node.more);
    at.tiles.set(title, node);
  }
  node.box.hidden = value === null;
  set(node.value, value === null ? '' : String(value));
  set(node.more, more ? ' ' + more : '');
  return node;
}
function quantile(rows, q) {
  let left = rows.reduce((a, b) => a + b, 0) * q;
  if (!left) { return 0; }
  for (let i = 0; i < rows.length; i++) { left -= rows[i]; if (left <= 0) { return bound(i); } }
  return 0;
}
function lastSecond(kind) { const list = historyOf(kind).seconds; return list.length ? list[list.length - 1][0] : 0; }
/* How many seconds a line has: 2, 5 or 10 minutes, depending on how many there are. */
function spanOf(kind) { const n = historyOf(kind).seconds.length; return n <= 115 ? 120 : n <= 290 ? 300 : SECONDS_KEPT; }
function drawLine(node, values, title) {
  if (!node.line) {
    const picture = svg('svg', node.box);
    attribute(picture, 'viewBox', '0 0 600 26');
    attribute(picture, 'preserveAspectRatio', 'none');
    attribute(picture, 'role', 'img');
    node.line = svg('polyline', picture);
    node.hand = svg('line', picture);
    node.picture = picture;
    picture.addEventListener('pointermove', (event) => {
      const box = picture.getBoundingClientRect();
      const back = (1 - (event.clientX - box.left) / box.width) * (spanOf(subject().kind) - 1);
      glance(lastSecond(subject().kind) - Math.round(back));
    });
    picture.addEventListener('pointerleave', endGlance);
    picture.addEventListener('click', pin);
  }
  const last = lastSecond(subject().kind), key = last + ',' + values.length + ',' + subject().name;
  const span = spanOf(subject().kind) - 1, at = (second) => ((1 - (last - second) / span) * 599).toFixed(1);
  if (node.drawn !== key) {
    node.drawn = key;
    const most = Math.max(1, ...values.map((v) => v[1]));
    attribute(node.line, 'points', values.map((v) => at(v[0]) + ',' + (24 - v[1] / most * 22).toFixed(1)).join(' '));
    attribute(node.picture, 'aria-label', title + ', the last ' + (span + 1) / 60 + ' minutes: at most ' + count(most));
  }
  const x = moment === null ? -9 : at(moment);
  for (const [name, value] of [['x1', x], ['x2', x], ['y1', 0], ['y2', 26]]) { attribute(node.hand, name, String(value)); }
}
function renderFigures(now) {
  const stats = now.stats, rates = now.rates || {}, list = historyOf(now.kind).seconds;
  const tasks = now.kind === 'tasks' || now.kind === 'all' ? snapshot.tasks : null, isWheel = now.kind === 'wheel';
  const stuck = (now.workers || []).filter((w) => w.state === 'stuck').length;
  const before = compared && subjectOf(compared);
  const change = (key, show) => before ? signed((stats[key] || 0) - (before.stats[key] || 0), show) + ' since ' + clock(compared.time_ms) : '';
  const perSecond = (key) => change(key, count) || (rates[key] === undefined ? '' : rate(rates[key]) + '/s');
  const draw = (node, name) => { if (!isWheel) { drawLine(node, list.map((s) => [s[0], s[SECOND[name]]]), name); } };
  draw(tile(figures, 'Pending', count(stats.pending || 0), change('pending', count)), 'pending');
  draw(tile(figures, 'Started', count(stats.started || 0), perSecond('started')), 'started');
  draw(tile(figures, 'Fired', count(stats.fired || 0), perSecond('fired')), 'fired');
  draw(tile(figures, 'Cancelled', count(stats.cancelled || 0), perSecond('cancelled')), 'cancelled');
  const lateTile = tile(figures, 'Late, 99 %', isWheel ? null : duration(now.late99_ns), 'of the last 10 s');
  if (!isWheel) {
    drawLine(lateTile, historyOf(now.kind).late.map((c) => [c[0], Math.log2(1 + quantile(c.slice(1), 0.99))]), 'lateness');
  }
  const workers = tile(figures, 'Workers', stats.workers === undefined ? null : stuck ? stuck + ' of ' + stats.workers : String(stats.workers),
    stuck ? 'stuck now' : (now.stuck || []).length ? several(now.stuck.length, 'time', 'times') + ' stuck so far' : '');
  workers.box.className = stuck ? 'bad' : '';
  draw(workers, 'stuck');
  tile(figures, 'Tasks', tasks ? count(tasks.tasks) : null, tasks ? count(tasks.spawned) + ' spawned' : '');
  draw(tile(figures, 'Memory', bytes(stats.bytes || 0), change('bytes', bytes)), 'bytes');
}

/* ---- moments of the past, of which the page has kept snapshots ---- */
/* The last moment up to this second or, for a step > 0, the first from it on. If there is none, the nearest moment. */
function kept(second, step) {
  const all = Array.from(past.keys()), found = step > 0 ? all.find((s) => s >= second) : all.reverse().find((s) => s <= second);
  return found === undefined ? all[all.length - 1] : found;
}
function pointAt(second, pinned, step) {
  const first = past.keys().next().value;
  moment = kept(second, step);
  if (moment === undefined) { toNow(); return; }
  isPinned = pinned || isPinned;
  snapshot = JSON.parse(past.get(moment));
  shownAt = performance.now();
  set($('moment-hint'), second < first ? 'This page was opened at ' + clock(first * 1000) + ', and has no moment before that.' : '');
  render();
}
function toNow() {
  moment = null;
  isPinned = false;
  snapshot = live;
  set($('moment-hint'), '');
  keep();
  if (snapshot) { render(); }
}
function glance(second) { if (!isPinned && snapshot) { pointAt(second, false); } }
function endGlance() { if (!isPinned && moment !== null) { toNow(); } }
function pin() { if (moment !== null) { isPinned = !isPinned; keep(); if (!isPinned) { toNow(); } else { renderMoment(); } } }
function renderMoment() {
  const [first = 0] = past.keys(), last = kept(Infinity) || 0, isNow = moment === null;
  attribute($('moment'), 'min', String(first - last));
  if (document.activeElement !== $('moment') || isNow) { $('moment').value = isNow ? 0 : moment - last; }
  const text = isNow ? 'now' : clock(moment * 1000) + ', ' + (last - moment) + ' s ago';
  set($('moment-text'), text);
  attribute($('moment'), 'aria-valuetext', text);
  $('to-now').disabled = isNow;
  $('figures').classList.toggle('then', !isNow);
  showState();
  attribute($('compare'), 'aria-pressed', String(compared !== null));
  set($('compare'), compared ? 'End comparison with ' + clock(compared.time_ms) : 'Compare with this moment');
}
function compare() { compared = compared || !snapshot ? null : snapshot; if (snapshot) { render(); } }
function exportAll() {
  const data = { snapshot: snapshot, compared_with: compared, history: history };
  const link = make('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], { type: 'application/json' }));
  link.download = 'verge-scope-' + (snapshot ? snapshot.pid : 0) + '.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
async function copyLink() {
  keep();
  try {
    await navigator.clipboard.writeText(location.href);
    set($('link'), 'Copied');
  } catch (e) { set($('link'), 'It is in the address bar'); }
  setTimeout(() => set($('link'), 'Copy link'), 2000);
}
