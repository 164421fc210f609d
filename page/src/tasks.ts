// The table of tasks, and the list of groups.
import { asNumber, type Explorer, type Value } from "./data";
import { bdi, clipped, datum, h, listed, percent, plural, s, short } from "./dom";
import { groupLook } from "./looks";
import type { State } from "./state";
import { Table, type Column } from "./table";
import { supportOf } from "./nodes";

/** "gauss:16 0.89  gauss:32 0.11": the largest first. */
export function kernelWords(kernels: string[], weights: number[], most = 10): string {
  const order = kernels.map((_, k) => k).sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]) || a - b);
  const shown = order.filter((k) => Math.abs(weights[k]) >= 0.005).slice(0, most);
  return shown.map((k) => `${kernels[k]} ${weights[k].toFixed(2)}`).join("  ") || "none";
}

const kScoreNames: Record<string, string> = {
  n: "test rows", errors: "errors", accuracy: "accuracy", balanced_accuracy: "balanced", auc: "AUC", log_loss: "log loss",
  uncalibrated_log_loss: "log loss, uncalibrated", brier_score: "Brier score",
};

function numeric(name: string, values: Value[], text?: (value: Value | undefined) => string, help?: string): Column {
  return { name, help, value: (row) => asNumber(values[row]), cell: (row) => datum(values[row], text) };
}

export function taskTable(state: State): HTMLElement {
  const { data } = state;
  const { tasks } = data;
  const columns: Column[] = [
    { name: "task", value: (row) => tasks.name[row], cell: (row) => bdi(tasks.name[row]) },
    numeric("rows", tasks.n, undefined, "training rows"),
    { name: "group", value: (row) => state.point.group[row], cell: (row) => datum(state.point.group[row]), help: "the group that the task is in" },
    { name: data.weights_of === "kernels" ? "kernel" : "largest weights", value: (row) => kernelWords(data.kernels, state.weights(row), 6) },
  ];
  for (const [key, values] of Object.entries(tasks.scores ?? {}))
    columns.push(numeric(kScoreNames[key] ?? key, values, key.includes("accuracy") ? percent : undefined, `on ${data.held_out?.name ?? "held-out rows"}`));
  if (tasks.support_vectors) columns.push(numeric("support vectors", tasks.support_vectors));
  if (tasks.objective) columns.push(numeric("objective", tasks.objective));
  if (tasks.gap) columns.push(numeric("certified gap", tasks.gap, (value) => short(value, 2), "how far the objective of the fit that the task is part of may be above the smallest possible, as a share"));
  if (tasks.status) columns.push({ name: "status", value: (row) => tasks.status![row] });
  let shown: number[] = [];
  const table = new Table({
    id: "tasks-table", caption: "Tasks", rows: state.count, columns,
    search: (row) => `${tasks.name[row]} ${kernelWords(data.kernels, state.weights(row))}`,
    ticks: { name: (row) => tasks.name[row], has: (row) => state.marked.has(row), toggle: (row) => state.toggle([row]) },
    onShown: (rows) => (shown = rows),
  });
  const said = h("span", { role: "status", id: "marked-said" });
  const tell = () => (said.textContent = state.marked.size === 0 ? "no task is marked" : `${plural(state.marked.size, "task")} marked`);
  state.on(() => {
    table.refresh();
    tell();
  });
  tell();
  return h("section", { class: "figure wide", id: "tasks", "aria-labelledby": "tasks-title" },
    h("h2", { id: "tasks-title" }, "Tasks"),
    h("p", { class: "words" }, "Marked tasks are marked in every picture. Headings sort."),
    h("p", { class: "tools" },
      h("button", { type: "button", click: () => state.mark(shown) }, "Mark all shown"),
      h("button", { type: "button", click: () => state.mark([]) }, "Mark none"), said),
    table.element);
}

/** The sign of a group: its shape in its colour. */
export function sign(group: number, size: number): SVGElement {
  const look = groupLook(group, size);
  return s("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" }, s("path", { d: shapePath(look.shape), fill: look.colour, stroke: look.colour }));
}

/** Paths of about the same area. */
export function shapePath(shape: string, r = 5): string {
  const polygon = (points: number[][]) => `M${points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join("L")}Z`;
  const turn = (count: number, radius: (k: number) => number, from = -Math.PI / 2) =>
    polygon(Array.from({ length: count }, (_, k) => [radius(k) * Math.cos(from + (2 * Math.PI * k) / count), radius(k) * Math.sin(from + (2 * Math.PI * k) / count)]));
  switch (shape) {
    case "square2": return polygon([[-r, -r], [r, -r], [r, r], [-r, r]]);
    case "triangle": return turn(3, () => 1.35 * r);
    case "diamond2": return turn(4, () => 1.35 * r);
    case "star": return turn(10, (k) => (k % 2 ? 0.6 * r : 1.5 * r));
    case "cross": { const a = 1.3 * r, b = 0.45 * r; return polygon([[-b, -a], [b, -a], [b, -b], [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b]]); }
    case "wye": return turn(3, () => 1.35 * r, Math.PI / 2);
    case "asterisk": return turn(6, () => 1.2 * r);
    default: return `M${-r},0A${r},${r} 0 1 1 ${r},0A${r},${r} 0 1 1 ${-r},0Z`;
  }
}

const kMostGroups = 60;

export function groupList(state: State): HTMLElement {
  const { data } = state;
  const words = h("p", { class: "words" });
  const list = h("ul", { class: "groups" });
  const draw = () => {
    const groups = state.groups();
    const alone = groups.filter((group) => group.length === 1).length;
    const shared = groups.length - alone;
    words.textContent = (shared === 0 ? `${plural(state.count, "task")}, each with a kernel of its own.` : `${plural(state.count, "task")}: ${state.count - alone} in ${plural(shared, data.exact_groups ? "group" : "cluster")}, ${alone} alone.`) +
      (data.exact_groups && shared > 0 ? ` Tasks of a group share ${data.shared_in_group}.` : "") + (data.resamples ? " Support: how well the group is found again in resamples, at most 1; above 0.75 is commonly called stable." : "");
    list.replaceChildren(...groups.slice(0, kMostGroups).map((group, index) => item(group, index + 1)));
    if (groups.length > kMostGroups) list.append(h("li", {}, `and ${groups.length - kMostGroups} more, of at most ${plural(groups[kMostGroups].length, "task")}`));
  };
  const item = (group: number[], number: number) => {
    const support = data.resamples ? supportOf(data as Explorer, group) : null;
    const all = group.every((task) => state.marked.has(task));
    const names = group.slice(0, 20).map((task) => state.name(task));
    const button = h("button", { type: "button", "aria-pressed": all ? "true" : "false", title: listed(names, 20), click: () => state.toggle(group) },
      sign(number, group.length),
      h("b", {}, group.length > 1 ? `${number}` : "alone"),
      group.length > 1 ? h("small", { class: "own" }, plural(group.length, "task")) : null,
      support !== null ? h("small", { class: "own" }, "support ", datum(support, (value) => asNumber(value).toFixed(2))) : null,
      data.weights_of === "kernels" && data.exact_groups ? h("small", { class: "own" }, clipped(kernelWords(data.kernels, state.weights(group[0]), 2), 44)) : null,
      h("span", { class: group.length > 1 ? "who" : "who one" }, bdi(listed(names, 12))));
    return h("li", { "data-group": number }, button);
  };
  state.on(() => requestAnimationFrame(draw));
  draw();
  return h("section", { class: "figure", id: "groups", "aria-labelledby": "groups-title" }, h("h2", { id: "groups-title" }, data.exact_groups ? "Groups" : "Clusters"), words, list);
}
