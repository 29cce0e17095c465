/* SPDX-License-Identifier: MIT */
/* The search of the site. verge_pages comes from search-index.js, which scripts/site makes: title, address, text and rank
 * of each page. It needs no server. */
'use strict';
(function () {
  const field = document.getElementById('words'), list = document.getElementById('results');
  const words = (new URLSearchParams(location.search).get('q') || '').toLowerCase().split(/\s+/).filter((w) => w);
  function score(page) {
    let sum = 0;
    for (const word of words) {
      const times = page.lower.split(word).length - 1, inTitle = page.title.toLowerCase().includes(word);
      if (!times && !inTitle) { return 0; }
      sum += Math.log2(1 + times) + (page.title.toLowerCase() === word ? 40 : inTitle ? 8 : 0);
    }
    return sum * page.rank;
  }
  function excerpt(page, parent) {
    const at = Math.max(0, page.lower.indexOf(words[0])), from = Math.max(0, at - 80), text = page.text.slice(from, from + 220);
    const parts = text.split(new RegExp('(' + words.map((w) => w.replace(/[^\w]/g, '\\$&')).join('|') + ')', 'i'));
    parent.append(from ? '\u2026 ' : '');
    parts.forEach((part, i) => parent.append(i % 2 ? Object.assign(document.createElement('mark'), { textContent: part }) : part));
    parent.append(' \u2026');
  }
  field.value = words.join(' ');
  for (const page of verge_pages) { page.lower = page.text.toLowerCase(); }
  const found = verge_pages.map((page) => [score(page), page]).filter((x) => x[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 40);
  document.getElementById('found').textContent = !words.length ? '' : found.length ? found.length + ' pages' : 'No page has all of these words.';
  for (const [, page] of found) {
    const item = document.createElement('div'), link = document.createElement('a'), text = document.createElement('p');
    item.className = 'found';
    link.href = page.url;
    link.textContent = page.title;
    excerpt(page, text);
    item.append(link, text);
    list.append(item);
  }
})();
