// A study: scores, ranks and differences of methods.
import * as Plot from "@observablehq/plot";
import { asNumber, type Study } from "./data";
import { datum, h, plural, short } from "./dom";
import { Figure } from "./figure";
import { kPlotStyle, plain } from "./looks";
import { Table } from "./table";

type Block = Study["blocks"][number];

function scores(table: Study["tables"][number], id: string): HTMLElement {
  const view = new Table({
    id: `${id}-table`, caption: `Training share ${short(100 * table.share)} %`, rows: table.rows.length,
    columns: [
      { name: "data set", value: (row) => table.rows[row].dataset },
      { name: "training rows", value: (row) => table.rows[row].train, cell: (row) => `${table.rows[row].train} of ${table.rows[row].all}` },
      ...table.methods.map((method, m) => ({
        name: method,
        value: (row: number) => asNumber(table.rows[row].cells[m]?.mean),
        cell: (row: number) => {
          const cell = table.rows[row].cells[m];
          if (!cell) return "";
          const mean = h("data", { value: String(cell.mean) }, cell.text);
          return h("span", {}, cell.best ? h("b", { class: "best" }, mean) : mean, cell.error_text ? h("small", {}, ` ± ${cell.error_text}`) : null);
        },
      })),
      { name: "N", value: (row) => table.rows[row].repetitions },
    ],
  });
  return h("section", { class: "figure wide", id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, `Scores, training share ${short(100 * table.share)} %`), view.element);
}

function ranks(block: Block, id: string, alpha: number): HTMLElement | null {
  if (block.ranks.length === 0) return null;
  const rows = [...block.ranks].sort((a, b) => asNumber(a.rank) - asNumber(b.rank));
  const critical = asNumber(block.critical_difference);
  const control = rows.find(({ method }) => method === block.control);
  return new Figure({
    id, title: `Average ranks, ${block.name}`, wide: true,
    words: `${plural(rows.length, "method")} on ${plural(block.datasets.length, "data set")} (${block.datasets.join(", ")}); 1 is the best. Friedman p ${short(block.friedman_p, 3)}. Methods within the bar's length, ${short(critical, 3)}, of ${block.control} are not told apart from it by Nemenyi's test at ${alpha}.`,
    draw: (place) => {
      const from = asNumber(control?.rank);
      const plot = Plot.plot({
        width: Math.max(360, Math.min(760, place.clientWidth || 560)), height: 70 + rows.length * 24, marginBottom: 48, marginLeft: 130, style: kPlotStyle, className: "plot",
        x: { label: "average rank", domain: [1, Math.max(rows.length, 2)], grid: true }, y: { domain: rows.map(({ method }) => method), label: null },
        marks: [
          Number.isFinite(from) && Number.isFinite(critical) ? Plot.rect([0], { x1: Math.max(1, from - critical), x2: Math.min(rows.length, from + critical), fill: "var(--c1)", fillOpacity: 0.12 }) : null,
          Plot.ruleX([from], { stroke: "var(--c1)", strokeDasharray: "4 3" }),
          Plot.dot(rows, { x: (d: (typeof rows)[number]) => asNumber(d.rank), y: "method", r: 5, fill: (d: (typeof rows)[number]) => (d.method === block.control ? "var(--c2)" : "var(--c1)"), symbol: (d: (typeof rows)[number]) => (d.method === block.control ? "diamond" : "circle"), title: (d: (typeof rows)[number]) => `${d.method}: ${short(d.rank)}` }),
        ],
        symbol: { domain: ["circle", "diamond"], range: ["circle", "diamond"] },
      });
      place.replaceChildren(plain(plot, `Average ranks: ${rows.map(({ method, rank }) => `${method} ${short(rank, 3)}`).join(", ")}`));
    },
    table: () => ({
      id: `${id}-table`, caption: `Average ranks, ${block.name}`, rows: rows.length,
      columns: [
        { name: "method", value: (row) => rows[row].method },
        { name: "average rank", value: (row) => asNumber(rows[row].rank), cell: (row) => datum(rows[row].rank) },
        { name: `p against ${block.control} (Holm)`, value: (row) => asNumber(rows[row].adjusted_p), cell: (row) => datum(rows[row].adjusted_p, (value) => short(value, 3)) },
      ],
    }),
  }).element;
}

function differences(block: Block, id: string): HTMLElement | null {
  const rows = block.differences;
  if (rows.length === 0) return null;
  const datasets = [...new Set(rows.map(({ dataset }) => dataset))], methods = [...new Set(rows.map(({ method }) => method))];
  const drawn = rows.filter(({ measure }) => measure !== "logloss" && measure !== "log_loss").map((row) => ({ ...row, m: asNumber(row.mean), l: asNumber(row.low), h: asNumber(row.high) }));
  return new Figure({
    id, title: `What ${block.control} has more, ${block.name}`, wide: true,
    words: "In points, with 95 % intervals of the corrected resampled t-test of Nadeau and Bengio (none where there is one repetition). To the right of 0 the control is better. Full dots: the interval leaves out 0.",
    draw: (place) => {
      const width = Math.max(480, place.clientWidth || 900), across = Math.max(1, Math.min(datasets.length, Math.floor((width - 120) / 170)));
      const where = (name: string) => datasets.indexOf(name);
      const facet = { fx: (d: { dataset: string }) => where(d.dataset) % across, fy: (d: { dataset: string }) => Math.floor(where(d.dataset) / across) };
      const down = Math.ceil(datasets.length / across);
      const reach = Math.max(1, ...drawn.flatMap(({ m, l, h }) => [m, l, h].filter(Number.isFinite).map(Math.abs)));
      const bound = Math.min(reach, 2 * Math.max(1, ...drawn.map(({ m }) => Math.abs(m))));
      const plot = Plot.plot({
        width, marginBottom: 48, height: 70 + down * (methods.length * 17 + 34), marginLeft: 110, marginTop: 26, style: kPlotStyle, className: "plot",
        x: { domain: [-bound, bound], label: "points", grid: true, ticks: 4, clamp: true }, y: { domain: methods, label: null }, fx: { axis: null, padding: 0.08 }, fy: { axis: null, padding: 0.14 },
        marks: [
          Plot.frame({ stroke: "var(--line)" }),
          Plot.text(datasets, { fx: (_, k) => k % across, fy: (_, k) => Math.floor(k / across), text: (name: string) => name, frameAnchor: "top-left", dy: -15, fontWeight: 600 }),
          Plot.ruleX([0]),
          Plot.ruleY(drawn.filter(({ l }) => Number.isFinite(l)), { ...facet, x1: "l", x2: "h", y: "method", stroke: "var(--c1)", strokeWidth: 2 }),
          Plot.dot(drawn, { ...facet, x: "m", y: "method", r: 3.5, stroke: "var(--c1)", fill: (d: (typeof drawn)[number]) => (d.l > 0 || d.h < 0 ? "var(--c1)" : "var(--paper)"), title: (d: (typeof drawn)[number]) => `${d.dataset}, ${d.method}: ${short(d.m)} (${short(d.l)} to ${short(d.h)})` }),
        ],
      });
      place.replaceChildren(plain(plot, `Differences to ${block.control} on ${datasets.join(", ")}`));
    },
    table: () => ({
      id: `${id}-table`, caption: `What ${block.control} has more, ${block.name}`, rows: rows.length,
      columns: [
        { name: "data set", value: (row) => rows[row].dataset },
        { name: "method", value: (row) => rows[row].method },
        { name: "measure", value: (row) => rows[row].measure },
        { name: "N", value: (row) => rows[row].repetitions },
        { name: "more", value: (row) => asNumber(rows[row].mean), cell: (row) => datum(rows[row].mean) },
        { name: "from", value: (row) => asNumber(rows[row].low), cell: (row) => datum(rows[row].low) },
        { name: "to", value: (row) => asNumber(rows[row].high), cell: (row) => datum(rows[row].high) },
        { name: "p", value: (row) => asNumber(rows[row].p), cell: (row) => datum(rows[row].p, (value) => short(value, 3)) },
      ],
    }),
  }).element;
}

export function studyViews(study: Study): HTMLElement[] {
  const head = h("p", {}, study.remark, study.done < study.cells ? ` Not finished: ${study.done} of ${study.cells} cells are done.` : "");
  const views = h("div", { class: "views" });
  study.blocks.forEach((block, b) => {
    const table = study.tables.findIndex(({ share }) => share === block.share);
    if (table >= 0) views.append(scores(study.tables[table], `scores-${table}`));
    const notes = block.notes.length > 0 ? h("ul", { class: "notes" }, ...block.notes.map((note) => h("li", {}, note))) : null;
    for (const view of [ranks(block, `ranks-${b}`, study.alpha), differences(block, `differences-${b}`), notes]) if (view) views.append(view);
  });
  study.tables.forEach((table, t) => {
    if (!study.blocks.some(({ share }) => share === table.share)) views.append(scores(table, `scores-${t}`));
  });
  return [head, views];
}
