(function () {
  'use strict';
  var tip = document.getElementById('tip');
  function hide(svg) {
    tip.hidden = true;
    var ring = svg.querySelector('.here');
    if (ring) ring.remove();
  }
  document.querySelectorAll('svg.hover').forEach(function (svg) {
    var points = null;
    // Titles become the tip's, so that the browser does not show them a second time.
    function collect() {
      points = [];
      svg.querySelectorAll('circle').forEach(function (circle) {
        var title = circle.querySelector('title');
        if (!title) return;
        points.push({ x: +circle.getAttribute('cx'), y: +circle.getAttribute('cy'), r: +circle.getAttribute('r'), text: title.textContent });
        title.remove();
      });
    }
    function move(event) {
      if (!points) collect();
      var box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal, scale = view.width / box.width;
      var x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      var reach = (event.pointerType === 'touch' ? 26 : 16) * scale, best = null, least = reach * reach;
      points.forEach(function (point) {
        var dx = point.x - x, dy = point.y - y, square = dx * dx + dy * dy;
        if (square < least) { least = square; best = point; }
      });
      hide(svg);
      if (!best) return;
      var ring = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
      ring.setAttribute('class', 'here');
      ring.setAttribute('cx', best.x);
      ring.setAttribute('cy', best.y);
      ring.setAttribute('r', best.r + 3);
      svg.appendChild(ring);
      tip.textContent = best.text;
      tip.hidden = false;
      var left = box.left + best.x / scale + 12, top = box.top + best.y / scale - 10;
      left = Math.max(4, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 8));
      top = Math.max(4, top - tip.offsetHeight);
      tip.style.left = left + window.scrollX + 'px';
      tip.style.top = top + window.scrollY + 'px';
    }
    svg.addEventListener('pointermove', move);
    svg.addEventListener('pointerdown', move);
    svg.addEventListener('pointerleave', function () { hide(svg); });
  });
})();
