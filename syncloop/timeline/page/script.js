(() => {
  "use strict";
  const root = document.documentElement;
  const bars = [...document.querySelectorAll("main .bar")];
  const lanes = [...document.querySelectorAll(".lane")].map((l) => [...l.querySelectorAll(".bar")]).filter((l) => l.length);
  const details = document.getElementById("details");
  const most = 200;
  let zoom = 1;
  let current = null; // The bar that Tab comes back to.

  const laneOf = (bar) => lanes.findIndex((l) => l.includes(bar));
  const centre = (bar) => {
    const r = bar.getBoundingClientRect();
    return r.left + r.width / 2;
  };

  function show(bar) {
    details.hidden = !bar;
    if (!bar) return;
    details.children[0].textContent = bar.dataset.title;
    details.children[1].textContent = bar.dataset.span;
    details.children[2].textContent = bar.dataset.details;
  }

  function choose(bar) {
    if (current) {
      current.tabIndex = -1;
      current.classList.remove("chosen");
    }
    current = bar;
    bar.tabIndex = 0;
    bar.classList.add("chosen");
    show(bar);
  }

  function reveal(bar) {
    const chart = bar.closest(".chart");
    const label = chart.querySelector(".name").offsetWidth;
    const b = bar.getBoundingClientRect();
    const c = chart.getBoundingClientRect();
    if (b.left < c.left + label + 8) chart.scrollLeft -= c.left + label + 8 - b.left;
    else if (b.right > c.right - 8) chart.scrollLeft += Math.min(b.right - c.right + 8, b.left - c.left - label - 8);
    const bottom = window.innerHeight - (details.hidden ? 8 : details.offsetHeight + 24);
    if (b.top < 8) window.scrollBy(0, b.top - 8);
    else if (b.bottom > bottom) window.scrollBy(0, b.bottom - bottom);
  }

  function go(bar) {
    if (!bar) return;
    bar.focus({ preventScroll: true });
    reveal(bar);
  }

  function zoomTo(wanted) {
    const before = zoom;
    zoom = Math.min(most, Math.max(1, wanted));
    root.style.setProperty("--zoom", zoom);
    root.dataset.level = zoom >= 25 ? 2 : zoom >= 5 ? 1 : 0;
    for (const chart of document.querySelectorAll(".chart")) {
      const label = chart.querySelector(".name").offsetWidth;
      const half = (chart.clientWidth - label) / 2;
      chart.scrollLeft = ((chart.scrollLeft + half) * zoom) / before - half;
    }
    if (current) reveal(current);
  }

  function nearest(bar, lane) {
    if (!lane) return null;
    const at = centre(bar);
    return lane.reduce((a, b) => (Math.abs(centre(b) - at) < Math.abs(centre(a) - at) ? b : a));
  }

  function next(key, bar) {
    const i = laneOf(bar);
    const lane = lanes[i];
    const at = lane.indexOf(bar);
    switch (key) {
      case "ArrowLeft": return lane[at - 1];
      case "ArrowRight": return lane[at + 1];
      case "ArrowUp": return nearest(bar, lanes[i - 1]);
      case "ArrowDown": return nearest(bar, lanes[i + 1]);
      case "Home": return lane[0];
      case "End": return lane[lane.length - 1];
    }
    return null;
  }

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[e.key];
    if (factor) zoomTo(zoom * factor);
    else if (e.key === "0") zoomTo(1);
    else if (e.key === "Escape") show(null);
    else if (/^Arrow|^Home$|^End$/.test(e.key) && bars.includes(document.activeElement)) go(next(e.key, document.activeElement));
    else return;
    e.preventDefault();
  });
  for (const bar of bars) {
    bar.addEventListener("focus", () => choose(bar));
    bar.addEventListener("click", () => go(bar));
    bar.addEventListener("mouseenter", () => show(bar));
    bar.addEventListener("mouseleave", () => show(document.activeElement === current ? current : null));
    bar.removeAttribute("title"); // The details say it.
  }
  document.getElementById("in").addEventListener("click", () => zoomTo(zoom * 1.5));
  document.getElementById("out").addEventListener("click", () => zoomTo(zoom / 1.5));
  document.getElementById("fit").addEventListener("click", () => zoomTo(1));
  if (bars.length) {
    current = bars[0];
    current.tabIndex = 0;
  }
})();
