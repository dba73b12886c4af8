// Measures a report in the browser, and returns the measurements.
(function () {
  var seen = { charts: 0, empty: 0, dark: matchMedia('(prefers-color-scheme: dark)').matches };
  document.querySelectorAll('svg.chart').forEach(function (svg) {
    var box = svg.getBoundingClientRect();
    seen.charts += 1;
    if (box.width < 100 || box.height < 20 || svg.querySelectorAll('path,circle,rect').length === 0) seen.empty += 1;
  });
  // Charts are part of the page and are drawn with its first contentful paint.
  seen.milliseconds = performance.getEntriesByName('first-contentful-paint').map(function (paint) { return paint.startTime; })[0];
  seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  seen.paper = getComputedStyle(document.body).backgroundColor;
  seen.sections = Array.from(document.querySelectorAll('section')).map(function (section) { return section.id; });
  seen.resources = performance.getEntriesByType('resource').map(function (entry) { return entry.name; });
  var map = document.querySelector('svg.map'), tip = document.getElementById('tip');
  if (map) {
    var circle = map.querySelectorAll('circle')[17];
    seen.expected = circle.querySelector('title').textContent;
    var box = circle.getBoundingClientRect();
    map.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true }));
    seen.told = tip.hidden ? null : tip.textContent;
    seen.tipInside = tip.getBoundingClientRect().right <= document.documentElement.clientWidth + 1;
    map.dispatchEvent(new PointerEvent('pointerleave'));
    seen.hiddenAfter = tip.hidden;
  }
  return seen;
})()
