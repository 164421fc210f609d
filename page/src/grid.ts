// The scores of a search: a heat map with the choice, and what is within one standard error of the best.
import * as Plot from "@observablehq/plot";
import { asNumber, type Grid } from "./data";
import { datum, h, percent, plural, s, short } from "./dom";
import { Figure } from "./figure";
import { kPlotStyle, plain, ramp } from "./looks";
import { shapePath } from "./tasks";
import { Table } from "./table";

const kNames: Record<string, string> = { accuracy: "accuracy", balanced: "balanced accuracy", balanced_accuracy: "balanced accuracy", auc: "AUC", logloss: "log loss", log_loss: "log loss" };

export function scoreText(grid: Grid): (value: number | "inf" | "-inf" | null | undefined) => string {
  return grid.score === "accuracy" || grid.score.startsWith("balanced") ? percent : short;
}

/** Which columns go across, up, and into panels. Others are summed up by their best value. */
function axes(grid: Grid): { x: number; y: number | null; panels: number[]; best: number[] } {
  const long = grid.columns.map((column, index) => ({ index, name: column.name, count: column.values.length })).filter(({ count }) => count > 1);
  const named = (name: string) => long.find((column) => column.name === name)?.index;
  const order = [...long].sort((a, b) => b.count - a.count).map(({ index }) => index);
  const x = named("lambda") ?? order[0] ?? 0;
  const y = named("C") !== undefined && named("C") !== x ? named("C")! : (order.find((index) => index !== x) ?? null);
  const rest = order.filter((index) => index !== x && index !== y);
  return { x, y, panels: rest.slice(0, 2), best: rest.slice(2) };
}

export function gridFigure(grid: Grid): Figure {
  const text = scoreText(grid);
  const { x, y, panels, best } = axes(grid);
  const column = (index: number) => grid.columns[index];
  const at = (point: Grid["points"][number], index: number | null) => (index === null ? "" : column(index).values[point.at[index]]);
  const chosen = grid.points[grid.chosen];
  const setting = (point: Grid["points"][number]) => grid.columns.map(({ name }, index) => `${name} ${at(point, index)}`).join(", ");
  // Points are ranked, the best first: of a cell with several, the first is the best.
  const cells = new Map<string, { point: Grid["points"][number]; index: number; x: string; y: string; fx: string; fy: string }>();
  grid.points.forEach((point, index) => {
    const cell = { point, index, x: at(point, x), y: at(point, y), fx: panels.length > 0 ? `${column(panels[0]).name} ${at(point, panels[0])}` : "", fy: panels.length > 1 ? `${column(panels[1]).name} ${at(point, panels[1])}` : "" };
    const key = JSON.stringify([cell.x, cell.y, cell.fx, cell.fy]);
    if (!cells.has(key)) cells.set(key, cell);
  });
  const list = [...cells.values()];
  const scores = list.map(({ point }) => asNumber(point.score)).filter(Number.isFinite);
  const low = Math.min(...scores), high = Math.max(...scores);
  const shade = (score: number) => ramp(high > low ? (grid.higher_is_better ? score - low : high - score) / (high - low) : 0.5);
  const isChosen = (cell: (typeof list)[number]) => cell.index === grid.chosen;

  const draw = (place: HTMLElement) => {
    const across = new Set(list.map(({ fx }) => fx)).size, down = new Set(list.map(({ fy }) => fy)).size;
    const width = Math.max(380, place.clientWidth || 800);
    const rows = y === null ? 1 : column(y).values.length;
    const facet = { fx: panels.length > 0 ? "fx" : undefined, fy: panels.length > 1 ? "fy" : undefined };
    const plot = Plot.plot({
      width, height: 90 + down * (rows * Math.max(14, Math.min(26, 420 / rows)) + 24), style: kPlotStyle, className: "plot", marginLeft: 64, marginBottom: 54, marginRight: panels.length > 1 ? 110 : 20, marginTop: panels.length > 0 ? 44 : 24,
      x: { type: "band", domain: column(x).values, label: column(x).name, tickRotate: column(x).values.length * across > 16 ? -60 : 0 },
      y: { type: "band", domain: y === null ? [""] : [...column(y).values].reverse(), label: y === null ? null : column(y).name },
      fx: { label: null }, fy: { label: null },
      marks: [
        Plot.cell(list, { x: "x", y: "y", ...facet, fill: (d: (typeof list)[number]) => (Number.isFinite(asNumber(d.point.score)) ? shade(asNumber(d.point.score)) : "var(--line)"), inset: 0.5, title: (d: (typeof list)[number]) => `${setting(d.point)}\n${text(d.point.score)}${d.point.within ? "\nwithin one standard error of the best" : ""}` }),
        Plot.dot(list.filter(({ point }) => point.within), { x: "x", y: "y", ...facet, r: 2.6, fill: "#fff", stroke: "#000", strokeWidth: 1, pointerEvents: "none" }),
        Plot.dot(list.filter(isChosen), { x: "x", y: "y", ...facet, symbol: "star", r: 7, fill: "#fff", stroke: "#000", strokeWidth: 1.5, pointerEvents: "none" }),
      ],
    });
    const scale = h("canvas", { width: 192, height: 10, "aria-hidden": "true" }), ink = scale.getContext("2d")!;
    for (let k = 0; k < 192; ++k) {
      ink.fillStyle = ramp(k / 191);
      ink.fillRect(k, 0, 1, 10);
    }
    const shape = (kind: "star" | "circle") => s("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true", class: "swatch" }, s("path", { d: shapePath(kind, kind === "star" ? 5 : 3), fill: "#fff", stroke: "#000" }));
    place.replaceChildren(
      h("ul", { class: "legend" }, h("li", { class: "scale" }, text(grid.higher_is_better ? low : high), scale, text(grid.higher_is_better ? high : low)), h("li", {}, shape("star"), "chosen"), h("li", {}, shape("circle"), "within one standard error of the best")),
      plain(plot, `Heat map of ${kNames[grid.score] ?? grid.score}; chosen: ${setting(chosen)}`));
  };
  return new Figure({
    id: "grid", title: `${kNames[grid.score] ?? grid.score} by ${grid.judged_by}`, wide: true, draw,
    words: `Chosen: ${setting(chosen)}: ${text(chosen.score)}${chosen.standard_error === null ? "" : `, standard error ${text(chosen.standard_error)}`}. ${plural(grid.within, "point")} of ${grid.points.length} ${grid.within === 1 ? "is" : "are"} within one standard error of the best` +
      (grid.one_se ? "; of these the one of the strongest sharing was asked for" : "") +
      `. In ${grid.resamples} resamples of the scores this point is best in ${(100 * asNumber(grid.chosen_again)).toFixed(0)} %, it or a neighbour in ${(100 * asNumber(grid.near)).toFixed(0)} %.` +
      (best.length > 0 ? ` Each cell has the best over ${best.map((index) => column(index).name).join(" and ")}.` : ""),
    table: () => ({
      id: "grid-table", caption: "Points of the search, the best first", rows: grid.points.length,
      columns: [
        { name: "rank", value: (row) => row + 1 },
        ...grid.columns.map(({ name }, index) => ({ name, value: (row: number) => at(grid.points[row], index) })),
        { name: kNames[grid.score] ?? grid.score, value: (row) => asNumber(grid.points[row].score), cell: (row) => datum(grid.points[row].score, text) },
        { name: "standard error", value: (row) => asNumber(grid.points[row].standard_error), cell: (row) => datum(grid.points[row].standard_error, text) },
        { name: "within one", value: (row) => (grid.points[row].within ? "yes" : "no") },
        { name: "chosen", value: (row) => (row === grid.chosen ? "yes" : "") },
      ],
    }),
  });
}

export function methodsTable(grid: Grid): HTMLElement | null {
  if (grid.methods.length === 0) return null;
  const text = scoreText(grid), { methods } = grid;
  const table = new Table({
    id: "methods-table", caption: "Methods, each at its best point, on the same folds", rows: methods.length,
    columns: [
      { name: "method", value: (row) => methods[row].name, cell: (row) => h(methods[row].best ? "b" : "span", {}, methods[row].name + (methods[row].best ? " (best)" : "")) },
      { name: kNames[grid.score] ?? grid.score, value: (row) => asNumber(methods[row].value), cell: (row) => datum(methods[row].value, text) },
      { name: "standard error", value: (row) => asNumber(methods[row].standard_error), cell: (row) => datum(methods[row].standard_error, text) },
      { name: "behind the best", value: (row) => asNumber(methods[row].behind), cell: (row) => datum(methods[row].behind, text) },
      { name: "standard error of that", value: (row) => asNumber(methods[row].behind_error), cell: (row) => datum(methods[row].behind_error, text) },
    ],
  });
  return h("section", { class: "figure wide", id: "methods", "aria-labelledby": "methods-title" }, h("h2", { id: "methods-title" }, "Methods side by side"), table.element);
}
