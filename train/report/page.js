// Draws a panel for each of curves: a list of {name, series: [{name, values}]}, a value for each epoch, null where there is none.
// The checkboxes switch axes to logarithms; an address that ends in #log-y or #log-x,log-y begins so.
const colors = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd"];
const width = 420, height = 260; // of a panel
const margin = { left: 60, right: 12, top: 40, bottom: 28 };

// element makes an SVG element in parent.
function element(parent, name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
}

// scale maps the range of values to pixels from `from` to `to`. Logarithms leave out values that are not positive.
function scale(values, log, from, to) {
  const shown = values.filter(v => v !== null && (!log || v > 0));
  let low = Math.min(...shown), high = Math.max(...shown);
  if (!(low < high)) { low = log ? low / 2 : low - 0.5; high = log ? high * 2 : high + 0.5; }
  const of = log ? Math.log : v => v;
  const map = v => from + (to - from) * (of(v) - of(low)) / (of(high) - of(low));
  const ticks = [];
  for (let i = 0; i <= 4; i++) ticks.push(log ? low * Math.pow(high / low, i / 4) : low + (high - low) * i / 4);
  return { map, ticks, shows: v => v !== null && (!log || v > 0) };
}

function draw() {
  const logX = document.getElementById("log-x").checked, logY = document.getElementById("log-y").checked;
  const panels = document.getElementById("panels");
  panels.replaceChildren();
  for (const curve of curves) {
    const figure = document.createElement("figure");
    panels.append(figure);
    const svg = element(figure, "svg", { width, height, role: "img", "aria-label": curve.name });
    const epochs = Math.max(...curve.series.map(s => s.values.length));
    const x = scale([1, Math.max(2, epochs)], logX, margin.left, width - margin.right);
    const y = scale(curve.series.flatMap(s => s.values), logY, height - margin.bottom, margin.top);
    for (const tick of y.ticks.filter(isFinite)) {
      element(svg, "line", { x1: margin.left, x2: width - margin.right, y1: y.map(tick), y2: y.map(tick), stroke: "#eee" });
      element(svg, "text", { x: margin.left - 6, y: y.map(tick) + 4, "text-anchor": "end" }, tick.toPrecision(3));
    }
    for (const tick of [1, epochs]) element(svg, "text", { x: x.map(tick), y: height - 10, "text-anchor": "middle" }, tick);
    element(svg, "text", { x: margin.left, y: 14 }, curve.name);
    curve.series.forEach((series, k) => {
      const color = colors[k % colors.length];
      let path = "";
      series.values.forEach((v, i) => {
        if (!y.shows(v)) return;
        path += (path && y.shows(series.values[i - 1] ?? null) ? "L" : "M") + x.map(i + 1).toFixed(1) + " " + y.map(v).toFixed(1);
        element(svg, "circle", { cx: x.map(i + 1), cy: y.map(v), r: 2, fill: color });
      });
      element(svg, "path", { d: path, fill: "none", stroke: color, "stroke-width": 1.5 });
      element(svg, "text", { x: width - margin.right, y: 14 + 12 * k, "text-anchor": "end", style: "fill: " + color }, series.name);
    });
  }
}

if (curves.length > 0) {
  for (const id of ["log-x", "log-y"]) {
    const box = document.getElementById(id);
    box.checked = location.hash.includes(id);
    box.addEventListener("change", draw);
  }
  draw();
}
