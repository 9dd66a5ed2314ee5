// Charts over samples or time with a cursor and zoom, in place of the still pictures of the server.
const kept = new Map(); // by part: the element that holds the chart, the chart, and whether it is zoomed
const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [4, 2], [12, 4]];
const numbers = new Intl.NumberFormat("en");
const percents = new Intl.NumberFormat("en", { style: "percent" });
let overTime = false;

function colour(name) {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

function read(figure) {
  const data = JSON.parse(figure.dataset.lines);
  data.times = data.times.map((one) => data.start + one);
  return data;
}

function table(data) {
  return [overTime ? data.times : data.pulls, ...data.columns];
}

// What is marked: the evidence that a decision takes, and the moments of decisions.
function marks(chart) {
  const { ctx, bbox } = chart;
  const data = chart.mobai;
  ctx.save();
  ctx.strokeStyle = colour("--quiet");
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  if (data.level !== null) {
    const y = chart.valToPos(data.level, "y", true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.setLineDash([]);
  ctx.strokeStyle = colour("--good");
  ctx.lineWidth = 3 * devicePixelRatio;
  for (const [pull] of data.marks) {
    let place = pull;
    if (overTime) {
      const found = data.pulls.findIndex((one) => one >= pull);
      place = data.times[found < 0 ? data.times.length - 1 : found];
    }
    const x = chart.valToPos(place, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + 10 * devicePixelRatio);
    ctx.stroke();
  }
  ctx.restore();
}

// Times as the rest of the page writes them: UTC, the date where it matters.
function moments(ticks) {
  const days = ticks[ticks.length - 1] - ticks[0] > 86400;
  const form = days
    ? { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }
    : { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const format = new Intl.DateTimeFormat("en-GB", { ...form, timeZone: "UTC" });
  return ticks.map((one) => format.format(1000 * one));
}

function options(data, width) {
  const quiet = colour("--quiet");
  const line = colour("--line");
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width,
    height: 230,
    scales: {
      x: { time: overTime, ...(data.pulls.length < 2 && !overTime ? { range: [0, data.pulls[0]] } : {}) },
      y: { range: [data.low, data.high] },
    },
    legend: { show: true, live: true },
    cursor: { points: { size: 7 }, drag: { x: true, y: false } },
    axes: [
      overTime ? { ...axis, values: (_, ticks) => moments(ticks) } : { ...axis, values: (_, ticks) => ticks.map((one) => numbers.format(one)) },
      { ...axis, size: 52, values: (_, ticks) => ticks.map((one) => percents.format(one)) },
    ],
    series: [
      overTime ? { label: "time", value: (_, one) => (one === null ? "-" : moments([one, one + 1e6])[0]) } : { label: "samples", value: (_, one) => (one === null ? "-" : numbers.format(one)) },
      ...data.names.map((label, n) => ({
        label,
        stroke: colour(`--c${n % dashes.length}`),
        width: 2,
        dash: dashes[n % dashes.length],
        points: { show: data.pulls.length < 2 },
        value: (_, one) => (one === null || one === undefined ? "-" : percents.format(one)),
      })),
    ],
    hooks: {
      draw: [marks],
      setScale: [
        (chart, key) => {
          const values = chart.data[0];
          const { min, max } = chart.scales.x;
          if (key === "x") chart.zoomed = min > values[0] || max < values[values.length - 1];
        },
      ],
    },
  };
}

function make(holder, data) {
  const chart = new uPlot(options(data, Math.max(holder.clientWidth, 200)), table(data), holder);
  chart.mobai = data;
  chart.root.setAttribute("aria-hidden", "true"); // the list and the table below say the same
  return chart;
}

// Take over the charts of a part, or renew them with what the server has made of it now.
export function plot(part) {
  const figure = part.querySelector("figure[data-lines]");
  if (figure === null || typeof uPlot === "undefined") return;
  const data = read(figure);
  let known = kept.get(part);
  if (known === undefined) {
    const holder = document.createElement("div");
    holder.className = "plot";
    known = { holder, chart: null };
    kept.set(part, known);
    new ResizeObserver(() => {
      const width = holder.clientWidth;
      if (known.chart !== null && width > 0 && width !== known.chart.width) known.chart.setSize({ width, height: 230 });
    }).observe(holder);
  }
  figure.classList.add("plotted");
  figure.querySelector("figcaption").after(known.holder);
  const names = JSON.stringify(data.names);
  if (known.chart === null || known.names !== names || known.overTime !== overTime) {
    known.chart?.destroy();
    known.chart = make(known.holder, data);
    known.names = names;
    known.overTime = overTime;
    return;
  }
  known.chart.mobai = data;
  known.chart.scales.y.range = () => [data.low, data.high];
  known.chart.setData(table(data), !known.chart.zoomed);
  if (known.chart.zoomed) known.chart.redraw();
}

function again() {
  for (const [part, known] of kept) {
    known.chart?.destroy();
    known.chart = null;
    plot(part);
  }
}

function addSwitch() {
  const heading = document.getElementById("course");
  if (heading === null || document.querySelector("figure[data-lines]") === null) return;
  const group = document.createElement("fieldset");
  group.className = "choices axis-choice";
  const legend = document.createElement("legend");
  legend.textContent = "Over";
  group.append(legend);
  for (const [value, words] of [["samples", "samples"], ["time", "time"]]) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "radio";
    input.name = "axis";
    input.value = value;
    input.checked = (value === "time") === overTime;
    input.addEventListener("change", () => {
      overTime = value === "time";
      again();
    });
    label.append(input, ` ${words}`);
    group.append(label);
  }
  const hint = document.createElement("span");
  hint.className = "quiet";
  hint.textContent = "Drag to zoom, double-click to see all.";
  group.append(hint);
  heading.after(group);
}

export function plotAll() {
  for (const part of document.querySelectorAll("[data-part]")) plot(part);
  if (document.querySelector(".axis-choice") === null) addSwitch();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
