// The weights of tasks: along lambda, or of a single model as bars.
import * as Plot from "@observablehq/plot";
import { asNumber } from "./data";
import { bdi, clipped, datum, h, plural, short } from "./dom";
import { Figure } from "./figure";
import { colour, dash, kPlotStyle, plain, swatch } from "./looks";
import type { State } from "./state";
import type { TableSpec } from "./table";

const kMostPanels = 6, kMostRows = 24;

/** Who is shown: the marked tasks, or the first of each of the largest groups. */
function shownTasks(state: State, most: number): { tasks: number[]; words: string } {
  if (state.marked.size > 0) {
    const tasks = [...state.marked].sort((a, b) => a - b);
    return { tasks: tasks.slice(0, most), words: tasks.length > most ? `The first ${most} of ${plural(tasks.length, "marked task")}.` : `${plural(tasks.length, "marked task")}.` };
  }
  // Tasks of a cluster have weights of their own.
  if (!state.data.exact_groups) return { tasks: state.data.order.slice(0, most), words: state.count > most ? `The first ${most} tasks; mark tasks to see theirs.` : "" };
  const groups = state.groups();
  return {
    tasks: groups.slice(0, most).map((group) => group[0]),
    words: groups.length > most ? `A task of each of the ${most} largest groups; mark tasks to see theirs.` : "A task of each group; mark tasks to see theirs.",
  };
}

function labelOf(state: State, task: number): string {
  const group = state.point.group[task];
  const size = state.point.group.filter((other) => other === group).length;
  return `${clipped(state.name(task), 24)}${size > 1 ? ` (group ${group})` : ""}`;
}

/** Names that differ, for the panels of a picture. */
function labels(state: State, tasks: number[]): string[] {
  const seen = new Map<string, number>();
  return tasks.map((task) => {
    const label = labelOf(state, task), count = seen.get(label) ?? 0;
    seen.set(label, count + 1);
    return label + "\u200b".repeat(count);
  });
}

/** Which of the colours a kernel has: those that matter somewhere come first. */
const ranks = new WeakMap<object, number[]>();
function rankOf(state: State, kernel: number): number {
  let rank = ranks.get(state.data);
  if (!rank) {
    const matters = state.data.kernels.map((_, k) => state.data.points.some((point) => point.weights.some((row) => Math.abs(asNumber(row[k])) > 0.005)));
    const order = matters.map((_, k) => k).sort((a, b) => Number(matters[b]) - Number(matters[a]) || a - b);
    rank = [];
    order.forEach((k, place) => (rank![k] = place));
    ranks.set(state.data, rank);
  }
  return rank[kernel];
}

function legend(state: State, used: number[]): HTMLElement {
  return h("ul", { class: "legend", "aria-label": "Kernels" }, ...used.map((k) => h("li", {}, swatch(rankOf(state, k)), state.data.kernels[k])));
}

function weightsTable(state: State): TableSpec {
  const { data } = state;
  const { tasks } = state.marked.size > 0 ? { tasks: [...state.marked].sort((a, b) => a - b) } : { tasks: data.tasks.name.map((_, task) => task) };
  return {
    id: "weights-table", caption: `Weights at lambda ${short(state.point.lambda)}`, rows: tasks.length,
    columns: [
      { name: "task", value: (row) => state.name(tasks[row]), cell: (row) => bdi(state.name(tasks[row])) },
      { name: "group", value: (row) => state.point.group[tasks[row]] },
      ...data.kernels.map((kernel, k) => ({ name: kernel, value: (row: number) => state.weights(tasks[row])[k], cell: (row: number) => datum(state.point.weights[state.point.row[tasks[row]]][k]) })),
    ],
  };
}

export function weightsAlong(state: State): Figure {
  const { data } = state;
  const drawn = data.points.map((point, index) => ({ point, index, share: asNumber(point.share) })).filter(({ share }) => share > 0 && Number.isFinite(share)).reverse();
  const draw = (place: HTMLElement) => {
    const { tasks, words } = shownTasks(state, kMostPanels);
    const names = labels(state, tasks);
    figure.say(`${words} The upright line is the slider's lambda; the ends, lambda = 0 and infinity, stand in the tables.`);
    const used = data.kernels.map((_, k) => k).filter((k) => tasks.some((task) => drawn.some(({ point }) => asNumber(point.weights[point.row[task]][k]) > 0.005)));
    const rows = tasks.flatMap((task, panel) => drawn.flatMap(({ point, share }) => used.map((k) => ({ panel: names[panel], k, share, weight: asNumber(point.weights[point.row[task]][k]) }))));
    const width = Math.max(360, place.clientWidth || 560), across = Math.min(tasks.length, width > 700 ? 3 : 2), down = Math.ceil(tasks.length / across);
    const where = (name: string) => names.indexOf(name);
    const facet = { fx: (d: { panel: string }) => where(d.panel) % across, fy: (d: { panel: string }) => Math.floor(where(d.panel) / across) };
    const share = asNumber(state.point.share);
    const plot = Plot.plot({
      width, height: 60 + down * 170, marginBottom: 48, marginTop: 26, marginRight: 12, marginLeft: 36, style: kPlotStyle, className: "plot",
      x: { type: "log", label: "lambda / lambda_max", ticks: across > 2 ? 3 : 4, tickFormat: (d: number) => String(Number(d.toPrecision(2))) },
      y: { domain: [0, Math.max(1, ...rows.map((row) => row.weight))], label: null, ticks: 3, grid: true },
      fx: { axis: null, padding: 0.1 }, fy: { axis: null, padding: 0.2 },
      marks: [
        Plot.frame({ stroke: "var(--line)" }),
        Plot.text(names, { fx: (_, index) => index % across, fy: (_, index) => Math.floor(index / across), text: (name: string) => name, frameAnchor: "top-left", dy: -15, fontWeight: 600 }),
        ...used.map((k) => Plot.line(rows.filter((row) => row.k === k), { ...facet, x: "share", y: "weight", z: "panel", stroke: colour(rankOf(state, k)), strokeWidth: 2, strokeDasharray: dash(rankOf(state, k)) })),
        Number.isFinite(share) && share > 0 ? Plot.ruleX([share], { stroke: "var(--marked)", strokeDasharray: "5 3" }) : null,
      ],
    });
    place.replaceChildren(legend(state, used), plain(plot, `Kernel weights along lambda of ${tasks.map((task) => state.name(task)).join(", ")}`));
  };
  const figure = new Figure({ id: "weights", title: "Weights along lambda", draw, table: () => weightsTable(state) });
  state.on(() => figure.refresh());
  return figure;
}

export function weightsOfModel(state: State): Figure {
  const { data } = state;
  const draw = (place: HTMLElement) => {
    const { tasks, words } = shownTasks(state, kMostRows);
    const names = labels(state, tasks);
    figure.say(words);
    const used = data.kernels.map((_, k) => k).filter((k) => tasks.some((task) => Math.abs(state.weights(task)[k]) > 0.005));
    const rows = tasks.flatMap((task, row) => used.map((k) => ({ task: names[row], k, kernel: data.kernels[k], weight: state.weights(task)[k] })));
    const width = Math.max(360, place.clientWidth || 560);
    const left = Math.min(200, 20 + 7 * Math.max(...names.map((name) => name.length)));
    const common = { width, style: kPlotStyle, className: "plot", marginLeft: left, marginTop: 10 };
    if (data.weights_of === "features") {
      const largest = Math.max(1e-12, ...rows.map((row) => Math.abs(row.weight)));
      const plot = Plot.plot({
        ...common, height: 90 + tasks.length * 22, marginBottom: 70,
        x: { domain: used.map((k) => data.kernels[k]), label: null, tickRotate: -40 }, y: { domain: names, label: null, tickSize: 0 },
        color: { type: "diverging", scheme: "PuOr", domain: [-largest, largest] },
        marks: [Plot.cell(rows, { x: "kernel", y: "task", fill: "weight", inset: 0.5, title: (d) => `${d.task}\n${d.kernel}: ${short(d.weight)}` })],
      });
      return place.replaceChildren(plain(plot, `Weights of features of ${plural(tasks.length, "task")}: orange below zero, violet above`));
    }
    const plot = Plot.plot({
      ...common, height: 60 + tasks.length * 24, marginBottom: 48, marginRight: 16,
      x: { label: "weight", domain: [0, Math.max(1, ...tasks.map((task) => state.weights(task).reduce((sum, w) => sum + w, 0)))] }, y: { domain: names, label: null, tickSize: 0 },
      marks: [
        Plot.barX(rows.filter((row) => row.weight > 0), Plot.stackX({ order: "k", x: "weight", y: "task", fill: (d: { k: number }) => colour(rankOf(state, d.k)), stroke: "var(--paper)", title: (d: { task: string; kernel: string; weight: number }) => `${d.task}\n${d.kernel}: ${short(d.weight)}` })),
        Plot.textX(rows.filter((row) => row.weight > 0), Plot.stackX({ order: "k", x: "weight", y: "task", className: "on-bar", text: (d: { kernel: string; weight: number }) => (d.weight * (width - left - 20) > 7 * d.kernel.length ? d.kernel : "") })),
        Plot.ruleX([0]),
      ],
    });
    place.replaceChildren(legend(state, used), plain(plot, `Kernel weights of ${tasks.map((task) => state.name(task)).join(", ")}`));
  };
  const figure = new Figure({ id: "weights", title: data.weights_of === "kernels" ? "Kernel weights" : "Weights of features", draw, table: () => weightsTable(state) });
  state.on(() => figure.refresh());
  return figure;
}
