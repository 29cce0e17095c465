'use strict';
/*
 * Every quarter of a second the page asks for the next snapshot (docs/SCOPE.md has the format), and shows it. It keeps
 * one snapshot a second, so that it can show a moment of the last ten minutes. The headline figures and the lateness of
 * that time come from the program itself, also from before the page was opened.
 */
(function () {
  const $ = (id) => document.getElementById(id);
  const COMING = ['overdue', '1 ms', '10 ms', '100 ms', '1 s', '10 s', '1 min', '10 min', '1 h', '1 day', 'later'];
  const SECONDS_KEPT = 600, TEXT_KEPT = 48e6, HEAT_ROWS = 26, HEAT_FIRST_BIT = 10, ROWS_SHOWN = 20, GROUP_FROM = 5;
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
    { key: 'time_ns', title: 'In callback', show: (s) => duration(s.time_ns) },
    { key: 'busy', title: 'Of a core', show: (s) => s.busy > 0 ? percent(s.busy) : '\u2013' },
    { key: 'late50_ns', title: 'Late, median', show: (s) => duration(s.late50_ns) },
    { key: 'late99_ns', title: 'Late, 99 %', show: (s) => duration(s.late99_ns) }
  ];
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  let live = null, snapshot = null; /* the last that came, and the one that is shown */
  let paused = false, isLost = true, heardAt = 0, shownAt = 0, run = '';
  let sortKey = 'pending', descending = true, allRows = false, subjectName = '', wheelName = '';
  let moment = null, isPinned = false, compared = null; /* moment: a second since scope began; null: now */
  const history = { service: { late: [], seconds: [] }, tasks: { late: [], seconds: [] } };
  const past = new Map(), trends = new Map(), opened = new Set(), openGroups = new Set();
  let pastSize = 0, trendSecond = -1;

  /* ---- text ---- */
  const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 }), collator = new Intl.Collator();
  /* Characters that control, hide or turn round what stands beside them are shown by their number. */
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
  /* A rate with a range comes from samples: about so much, or only the range if that is wide. */
  function guess(n, range) {
    if (!range) { return rate(n); }
    if (n === 0) { return '~0'; }
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
  /* A time of scope's, on the clock of the wall. */
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

  /* ---- what is kept: in the address, so that a link restores it, and in the browser ---- */
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
    try { localStorage.setItem(KEPT, JSON.stringify(kept)); } catch (e) { /* as above */ }
  }

  /* ---- the connection: requests, as a browser has six connections for all pages of an address ---- */
  function say(text, lost) {
    set($('state'), text);
    $('state').className = lost ? 'lost' : '';
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
        if (!run) { takeHistory(JSON.parse(await ask('history'))); }
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
    say('lost', true);
    document.body.classList.add('stale');
    const when = live ? ' These figures are of ' + clock(live.time_ms) + '.' : '';
    const what = error.status && error.status !== 502 ? 'The program answers with an error (' + error.status + ').' :
      silent ? 'The program does not answer.' : 'The program has ended, or serves this page no more.';
    showTroubles([{ kind: 'lost', text: what + when + ' Trying again.' }]);
  }

  /* ---- what has come ---- */
  function takeHistory(data) {
    for (const kind of Object.keys(history)) {
      history[kind] = { late: (data[kind] || {}).late || [], seconds: (data[kind] || {}).seconds || [] };
    }
  }
  function push(list, item) {
    if (item[0] > 0 && (!list.length || list[list.length - 1][0] < item[0])) {
      list.push(item);
      while (list.length > SECONDS_KEPT) { list.shift(); }
    }
  }
  function forget() {
    past.clear(); trends.clear(); opened.clear();
    pastSize = 0; trendSecond = -1; compared = null; moment = null; isPinned = false;
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
    if (paused) { return; }
    if (moment === null) { snapshot = data; shownAt = heardAt; }
    say(moment === null ? 'live' : 'then', false);
    if (moment !== null && !snapshot) { pointAt(moment, true); }
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
    return { kind: 'all', name: TOGETHER, now_ns: parts[0].now_ns,
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
  function place(trouble) {
    return { stuck: '#workers', overdue: '#sources', late: '#sources', leak: '#sources', lost: '#figures' }[trouble.kind] ||
      '#panel-' + trouble.which;
  }
  function showTroubles(troubles, more) {
    const list = $('trouble').firstElementChild;
    $('trouble').hidden = !troubles.length;
    while (list.children.length > troubles.length) { list.lastChild.remove(); }
    while (list.children.length < troubles.length) {
      const link = make('a', make('li', list));
      link.addEventListener('click', (event) => { event.preventDefault(); goTo(link.trouble); });
    }
    troubles.forEach((trouble, i) => {
      const link = list.children[i].firstChild;
      link.trouble = trouble;
      attribute(link, 'href', place(trouble));
      set(link, plain(trouble.text) + (more && i === troubles.length - 1 ? ' (and ' + more + ' more)' : ''));
    });
    /* Not each time that a second more has passed. */
    const known = troubles.map((t) => t.kind + t.subject + t.which).join();
    if (known !== announced) {
      announced = known;
      set($('announce'), troubles.length ? troubles.map((t) => plain(t.text)).join('. ') : 'All is well again.');
    }
  }
  /* To the row, panel or view that a trouble is about. */
  function goTo(trouble) {
    if (!snapshot) { return; }
    if (trouble.subject && subject().kind !== trouble.subject && subject().kind !== 'all') {
      subjectName = trouble.subject;
    }
    $('filter').value = '';
    if (place(trouble) === '#sources') {
      const s = (subject().sources || []).find((x) => x.id === trouble.which && (x.kind || subject().kind) === trouble.subject);
      if (s) { wantedRow = rowId(s); openGroups.add(pattern(s.name)); }
    }
    render();
    let node = document.querySelector(place(trouble));
    if (trouble.kind === 'stuck') { node = document.querySelector('tr[data-worker="' + trouble.subject + trouble.which + '"]') || node; }
    if (wantedRow) { node = (rows.get(wantedRow) || {}).row || node; }
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
  function late99(list, second) {
    const near = list.filter((c) => c[0] > second - 10 && c[0] <= second);
    return near.length ? quantile(addUp(near.map((c) => c.slice(1))), 0.99) : 0;
  }
  function lastSecond(kind) { const list = historyOf(kind).seconds; return list.length ? list[list.length - 1][0] : 0; }
  /* How many seconds are drawn: more, as they pass. */
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
    const second = moment === null ? lastSecond(now.kind) : moment, late = late99(historyOf(now.kind).late, second);
    const stuck = (now.workers || []).filter((w) => w.state === 'stuck').length;
    const before = compared && subjectOf(compared);
    const change = (key, show) => before ? signed((stats[key] || 0) - (before.stats[key] || 0), show) + ' since ' + clock(compared.time_ms) : '';
    const perSecond = (key) => change(key, count) || (rates[key] === undefined ? '' : rate(rates[key]) + '/s');
    const draw = (node, name) => { if (!isWheel) { drawLine(node, list.map((s) => [s[0], s[SECOND[name]]]), name); } };
    draw(tile(figures, 'Pending', count(stats.pending || 0), change('pending', count)), 'pending');
    draw(tile(figures, 'Started', count(stats.started || 0), perSecond('started')), 'started');
    draw(tile(figures, 'Fired', count(stats.fired || 0), perSecond('fired')), 'fired');
    draw(tile(figures, 'Cancelled', count(stats.cancelled || 0), perSecond('cancelled')), 'cancelled');
    const lateTile = tile(figures, 'Late, 99 %', isWheel ? null : late ? '< ' + duration(late) : '\u2013', 'in 10 s');
    if (!isWheel) {
      drawLine(lateTile, historyOf(now.kind).late.map((c) => [c[0], Math.log2(1 + quantile(c.slice(1), 0.99))]), 'lateness');
    }
    const workers = tile(figures, 'Workers', stats.workers === undefined ? null : String(stats.workers),
      stuck ? stuck + ' stuck now' : (now.stuck || []).length ? several(now.stuck.length, 'time', 'times') + ' stuck so far' : '');
    workers.box.className = stuck ? 'bad' : '';
    draw(workers, 'stuck');
    tile(figures, 'Tasks', tasks ? count(tasks.tasks) : null, tasks ? count(tasks.spawned) + ' spawned' : '');
    draw(tile(figures, 'Memory', bytes(stats.bytes || 0), change('bytes', bytes)), 'bytes');
  }

  /* ---- a moment of the past ---- */
  function pointAt(second, pinned) {
    const last = lastSecond(snapshot ? subject().kind : 'service'), first = last - SECONDS_KEPT + 1;
    moment = Math.min(last, Math.max(first, second, 1));
    isPinned = pinned || isPinned;
    const kept = past.get(moment) || past.get(moment + 1);
    snapshot = kept ? JSON.parse(kept) : live;
    shownAt = performance.now();
    set($('moment-hint'), kept ? '' : 'The page was not open then: only the figures above, as lines, and the lateness are known of this moment. The rest is of now.');
    if (snapshot) { render(); }
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
    const last = lastSecond(subject().kind), isNow = moment === null;
    if (document.activeElement !== $('moment') || isNow) { $('moment').value = isNow ? 0 : moment - last; }
    const text = isNow ? 'now' : clock(moment * 1000) + ', ' + (last - moment) + ' s ago';
    set($('moment-text'), text);
    attribute($('moment'), 'aria-valuetext', text);
    $('to-now').disabled = isNow;
    $('figures').classList.toggle('then', !isNow);
    if (!isLost && !paused) { say(isNow ? 'live' : 'then', false); }
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

  /* ---- panels: figures of others ---- */
  const panels = new Map();
  function makePanel(id, name) {
    const box = make('section', $('main'), 'panel'), link = make('a', $('nav'), '', plain(name.split(':')[0]));
    link.href = '#';
    make('h2', box, '', plain(name));
    const panel = { box: box, link: link, list: make('dl', box, 'tiles'), tiles: new Map(), parts: make('ul', box, 'parts') };
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
  function renderPanels() {
    const seen = new Set();
    (snapshot.panels || []).forEach((p, i) => {
      const id = i + p.name, panel = panels.get(id) || makePanel(id, p.name);
      seen.add(id);
      panel.box.id = 'panel-' + i;
      attribute(panel.link, 'href', '#panel-' + i);
      for (const f of p.figures) { if (f.unit !== 'part') { showFigure(panel, f); } }
      showParts(panel, p.figures.filter((f) => f.unit === 'part'));
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
  function rowId(s) { return (s.kind || subject().kind) + s.label + s.name; }
  /* Names that differ only in their numbers are a group. */
  function pattern(name) { return name.replace(/[0-9a-f]{8,}|\d+/gi, '#'); }
  function addUpGroup(name, list) {
    const group = { name: name, label: list[0].label, group: list, leak: list.some((s) => s.leak), kind: list[0].kind };
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
      flag = make('span', cells[0], 'flag', '\u25b2 only grows: a leak?');
    name.type = 'button';
    const picture = svg('svg', cells[2]);
    attribute(picture, 'viewBox', '0 0 84 20');
    attribute(picture, 'role', 'img');
    const entry = { row: row, cells: cells, name: name, tag: tag, flag: flag, line: svg('polyline', picture), picture: picture,
      values: columns.map((_, i) => i > 0 && i !== 2 ? cells[i].appendChild(document.createTextNode('')) : null),
      change: make('span', cells[1], 'change'), trendAt: -1 };
    name.addEventListener('click', () => toggle(entry));
    return entry;
  }
  function toggle(entry) {
    const set = entry.source.group ? openGroups : opened, id = entry.source.group ? entry.source.name : entry.id;
    if (set.has(id)) { set.delete(id); } else { set.add(id); }
    if (snapshot) { renderSources(subject()); }
  }
  function drawTrend(entry, trend) {
    if (entry.trendAt === trendSecond || !trend) { return; }
    entry.trendAt = trendSecond;
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
    entry.flag.hidden = !s.leak;
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
      /* What leaks, or was asked for, is never folded away. */
      if (i < limit || s.leak || rowId(s) === wantedRow || (s.group && s.group.some((m) => rowId(m) === wantedRow))) {
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
    if (!entry.asked || performance.now() - entry.asked > 2000) { fillDetail(entry); }
    return entry.detail;
  }
  async function fillDetail(entry) {
    const s = entry.source;
    entry.asked = performance.now();
    if (isLost || moment !== null) { return; }
    try {
      const data = JSON.parse(await ask('source/' + (s.kind || subject().kind) + '/' + s.id, 15000));
      if (entry.detail && data.name === s.name) { showDetail(entry.detail.firstChild.firstChild, data); }
    } catch (e) {
      if (entry.detail && e.status) { entry.detail.firstChild.firstChild.textContent = 'Its timers cannot be seen now.'; }
    }
  }
  function barList(parent, title, list) {
    const box = make('div', parent), bars = make('div', null, 'bars'), most = Math.log2(1 + Math.max(1, ...list.map((x) => x[1])));
    make('h3', box, '', title);
    for (const [name, n] of list) {
      make('span', bars, '', name);
      const track = make('span', bars, 'track');
      make('i', track).style.width = Math.log2(1 + n) / most * 100 + '%';
      make('span', bars, 'count', n < 10 && n % 1 ? n.toFixed(1) : count(n));
    }
    box.append(list.length ? bars : make('p', null, 'hint', 'None.'));
  }
  function showDetail(box, data) {
    const late = new Map(), round = (ns) => Math.pow(2, Math.ceil(Math.log2(ns)));
    for (const [ns, n] of data.late) { late.set(round(ns), (late.get(round(ns)) || 0) + n); }
    box.replaceChildren();
    barList(box, 'When they are due', data.coming.map((n, i) => [COMING[i], n]).filter((x) => x[1]));
    barList(box, 'How late they were, in about ten seconds', Array.from(late, ([ns, n]) => ['< ' + duration(ns), n]));
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
      const texts = [t.timer, due, t.period_ns ? longTime(t.period_ns) : '\u2013', (t.older ? '\u2265 ' : '') + seconds(t.age_s), String(t.worker)];
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
      set(row.cells[1], isStuck ? 'stuck for ' + (w.stuck_ms / 1000).toFixed(1) + ' s in ' + plain(w.callback) : w.state);
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
  function drawQuantile(draw, list, last, q, colour, dashes) {
    const [low, high] = heatRange, w = draw.canvas.width / heatSpan, h = draw.canvas.height / (high - low + 1);
    let before = -2;
    draw.beginPath();
    for (const column of list) {
      const ns = quantile(column.slice(1), q), x = heatSpan - 1 - (last - column[0]);
      if (!ns || x < 0) { continue; }
      const y = (high - Math.log2(ns) + HEAT_FIRST_BIT + 0.5) * h;
      if (x === before + 1) { draw.lineTo((x + 0.5) * w, y); } else { draw.moveTo((x + 0.5) * w, y); }
      before = x;
    }
    draw.strokeStyle = colour; draw.lineWidth = 1.5 * devicePixelRatio; draw.setLineDash(dashes); draw.stroke(); draw.setLineDash([]);
  }
  /* At 1 us, 10 us and so on, wherever that is between the rows. */
  function drawAxis(low, high) {
    const labels = [];
    for (let ns = 1e3; ns <= 1e11; ns *= 10) {
      const place = high - (Math.log2(ns) - HEAT_FIRST_BIT), height = high - low + 1;
      if (place < -1 || place > height - 0.3) { continue; }
      const label = make('span', null, '', duration(ns));
      label.style.top = Math.max(2, (place + 1) / height * 100) + '%';
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
    drawAxis(low, high);
  }
  function readHeat() {
    if (!snapshot || moment === null) { set($('heat-read'), ''); return; }
    const list = historyOf(subject().kind).late, column = list.find((c) => c[0] === moment);
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
    pointAt((moment === null ? lastSecond(subject().kind) : moment) + step[0], true);
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
  function levelText(level, shown, i) {
    const slot = shown.tick_ns * Math.pow(2, level.shift), entries = level.cells.reduce((a, b) => a + b, 0);
    const long = slot < 1e9 ? duration(slot) : seconds(Math.round(slot / 1e9));
    return 'Level ' + i + ': ' + count(level.slots) + ' slots of ' + long + ', ' + several(entries, 'entry', 'entries');
  }
  function renderWheel(now) {
    choose($('wheel-choice'), (now.wheels || []).map((w) => w.name), wheelName);
    const shown = wheel(), list = $('levels');
    $('wheel-label').hidden = (now.wheels || []).length < 2;
    const texts = shown ? shown.levels.map((level, i) => levelText(level, shown, i)) : ['Nothing was published yet.'];
    while (list.children.length > texts.length) { list.lastChild.remove(); }
    texts.forEach((text, i) => { set(list.children[i] || make('li', list), text); });
    attribute($('rings'), 'aria-label', 'Rings of the levels. ' + texts.join('. '));
  }
  function clockOf(now, shown) {
    const base = now.now_ns === undefined ? shown.now_ns : now.now_ns, stands = paused || isLost || moment !== null || calm.matches;
    return stands || now.kind === 'wheel' ? base : base + Math.min(performance.now() - shownAt, 2000) * 1e6;
  }
  /* The slots are drawn when news come, the hands sixty times a second; or with the news, where motion is not wanted. */
  const slots = document.createElement('canvas');
  let ringsDrawn = '', handColour = '', handsAt = 0;
  function ring(shown, size, n) {
    const thick = Math.min(size * 0.085, (size * 0.42) / shown.levels.length), outer = size * 0.4925 - n * thick;
    return { outer: outer, inner: outer - thick * 0.84, gap: thick * 0.16 };
  }
  function drawSlots(shown, size) {
    const colour = style('--heat'), line = style('--line');
    const id = [shown.name, shown.tick, shown.entries, shownAt, size, colour].join();
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
    if (shown.levels.length < 9) { draw.fillText(count(shown.entries), middle, middle); }
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
    $('subject-label').hidden = names.length < 2;
    set($('who'), plain(snapshot.name) + ', process ' + snapshot.pid);
    document.title = (live.troubles.length ? '\u25b2 ' : '') + plain(snapshot.name) + ' \u2013 verge scope';
    if (!isLost) { showTroubles(snapshot.troubles, snapshot.trouble_count - snapshot.troubles.length); }
    renderFigures(now); renderMoment(); renderSources(now); renderComing(now); renderWorkers(now); renderHeat(now);
    renderTasks(); renderWheel(now); renderPanels(); readHeat();
  }
  function pause() {
    paused = !paused;
    attribute($('pause'), 'aria-pressed', String(paused));
    set($('pause'), paused ? 'Go on' : 'Pause');
    if (paused) { say('paused', false); }
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
    if (back === 0) { toNow(); } else { pointAt(lastSecond(subject().kind) + back, true); keep(); }
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
    $('task-table').hidden = !tasksOpen;
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
})();
