// The path in numbers: groups and accuracies along lambda.
import * as Plot from "@observablehq/plot";
import { asNumber } from "./data";
import { datum, h, percent, plural, s, short } from "./dom";
import { Figure } from "./figure";
import { kPlotStyle, plain } from "./looks";
import type { State } from "./state";

export function alongFigure(state: State): Figure {
  const { data } = state;
  const rows = data.points.map((point) => ({ ...point, x: asNumber(point.share) })).filter(({ x }) => x > 0 && Number.isFinite(x)).reverse();
  const scores = [
    { name: "training rows", dash: "6 3", colour: "var(--c1)", of: (row: (typeof rows)[number]) => asNumber(row.train_accuracy) },
    { name: "held-out rows", dash: undefined, colour: "var(--c2)", of: (row: (typeof rows)[number]) => asNumber(row.held_out_accuracy) },
  ].filter(({ of }) => rows.some((row) => Number.isFinite(of(row))));
  const draw = (place: HTMLElement) => {
    const room = place.clientWidth || 560, width = Math.max(360, scores.length > 0 && room > 800 ? room / 2 - 12 : room);
    const share = asNumber(state.point.share);
    const here = Number.isFinite(share) && share > 0 ? [Plot.ruleX([share], { stroke: "var(--marked)", strokeDasharray: "5 3" })] : [];
    const x = { type: "log" as const, label: "lambda / lambda_max", ticks: 4, tickFormat: (d: number) => String(Number(d.toPrecision(2))) };
    const common = { width, marginLeft: 50, marginTop: 24, marginBottom: 48, style: kPlotStyle, className: "plot" };
    const groups = Plot.plot({ ...common, height: 190, x, y: { type: "log", label: "groups", ticks: 4, tickFormat: (d: number) => String(d), domain: [1, Math.max(2, state.count)] }, marks: [Plot.gridY({ stroke: "var(--line)" }), Plot.lineY(rows, { x: "x", y: "groups", curve: "step", stroke: "var(--ink)" }), ...here] });
    const nodes: Node[] = [h("div", {}, plain(groups, "Number of groups along lambda"))];
    if (scores.length > 0) {
      const values = rows.flatMap((row) => scores.map(({ of }) => 100 * of(row))).filter(Number.isFinite);
      const span = [Math.min(...values) - 0.5, Math.min(100, Math.max(...values) + 0.5)];
      const accuracy = Plot.plot({
        ...common, height: 190, x, y: { label: "accuracy, mean over tasks (%)", domain: span, nice: true, ticks: 4, tickFormat: (d: number) => String(Number(d.toPrecision(4))) },
        marks: [Plot.gridY({ stroke: "var(--line)" }), ...scores.map(({ of, dash, colour }) => Plot.lineY(rows, { x: "x", y: (row: (typeof rows)[number]) => 100 * of(row), stroke: colour, strokeDasharray: dash, strokeWidth: 2 })), ...here],
      });
      nodes.push(h("div", {}, h("ul", { class: "legend" }, ...scores.map(({ name, dash, colour }) => h("li", {}, s("svg", { width: 30, height: 12, "aria-hidden": "true", class: "swatch" }, s("line", { x1: 1, x2: 29, y1: 6, y2: 6, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash })), name))), plain(accuracy, "Accuracy along lambda")));
    }
    place.replaceChildren(h("div", { class: "beside" }, ...nodes));
  };
  const figure = new Figure({
    id: "along", wide: true, title: "Groups and accuracy along lambda", words: `${plural(data.points.length, "point")}. The upright line is the slider's lambda.`, draw,
    table: () => ({
      id: "points-table", caption: "Points of the path, as in path.csv", rows: data.points.length,
      columns: [
        { name: "lambda", value: (row) => asNumber(data.points[row].lambda), cell: (row) => datum(data.points[row].lambda) },
        { name: "of lambda_max", value: (row) => asNumber(data.points[row].share), cell: (row) => datum(data.points[row].share) },
        { name: "groups", value: (row) => data.points[row].groups, cell: (row) => datum(data.points[row].groups) },
        { name: "objective", value: (row) => asNumber(data.points[row].objective), cell: (row) => datum(data.points[row].objective, (value) => short(value, 7)) },
        { name: "dual", value: (row) => asNumber(data.points[row].dual), cell: (row) => datum(data.points[row].dual, (value) => short(value, 7)) },
        { name: "gap", value: (row) => asNumber(data.points[row].gap), cell: (row) => datum(data.points[row].gap, (value) => short(value, 2)) },
        { name: "training", value: (row) => asNumber(data.points[row].train_accuracy), cell: (row) => datum(data.points[row].train_accuracy, percent) },
        { name: "held out", value: (row) => asNumber(data.points[row].held_out_accuracy), cell: (row) => datum(data.points[row].held_out_accuracy, percent) },
        { name: "status", value: (row) => data.points[row].status },
      ],
    }),
  });
  state.on((change) => {
    if (change === "point") figure.refresh();
  });
  return figure;
}
