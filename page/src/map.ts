// The tasks by their kernels: where the weights are spread out most, in two directions.
import * as Plot from "@observablehq/plot";
import { asNumber } from "./data";
import { bdi, datum, listed, plural, s } from "./dom";
import { Figure } from "./figure";
import { groupLook, kPlotStyle, plain } from "./looks";
import type { State } from "./state";
import { shapePath } from "./tasks";

interface Dot {
  x: number;
  y: number;
  tasks: number[];
  group: number;
  size: number;
}

function positions(state: State): [number, number][] {
  const { centre, axes } = state.data.map!;
  return state.point.weights.map((row) => {
    const at = (axis: number[]) => axis.reduce((sum, loading, k) => sum + loading * (asNumber(row[k]) - centre[k]), 0);
    return [at(axes[0]), at(axes[1])];
  });
}

export function mapFigure(state: State): Figure | null {
  const { data } = state;
  if (!data.map || data.kernels.length === 0) return null;
  const { share_of_spread: shares, axes } = data.map;
  const loadings = axes.map((axis) =>
    axis.map((value, k) => ({ value, name: data.kernels[k] })).filter(({ value }) => Math.abs(value) > 0.3).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 3));
  const axisWords = (k: number) => {
    const more = loadings[k].filter(({ value }) => value > 0).map(({ name }) => name), less = loadings[k].filter(({ value }) => value < 0).map(({ name }) => name);
    const parts = [more.length ? `more ${more.join(", ")}` : "", less.length ? `less ${less.join(", ")}` : ""].filter(Boolean);
    return `${parts.join("; ")} (${(100 * shares[k]).toFixed(0)} % of the spread)`;
  };
  // The same frame at every lambda.
  let extent: [number, number, number, number] | null = null;
  const frame = () => {
    if (extent) return extent;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const point of data.points)
      for (const row of point.weights) {
        const at = (axis: number[]) => axis.reduce((sum, loading, k) => sum + loading * (asNumber(row[k]) - data.map!.centre[k]), 0);
        const x = at(axes[0]), y = at(axes[1]);
        left = Math.min(left, x); right = Math.max(right, x); low = Math.min(low, y); high = Math.max(high, y);
      }
    const pad = Math.max(0.02, 0.08 * (right - left)), up = Math.max(0.02, 0.08 * (high - low));
    return (extent = [left - pad, right + pad, low - up, high + up]);
  };
  let focused = 0;

  function draw(place: HTMLElement): void {
    const at = positions(state), sizes = state.groups().map((group) => group.length);
    const dots: Dot[] = at.map(([x, y]) => ({ x, y, tasks: [], group: 0, size: 1 }));
    state.point.row.forEach((row, task) => dots[row].tasks.push(task));
    for (const dot of dots) {
      dot.group = state.point.group[dot.tasks[0]];
      dot.size = sizes[dot.group - 1];
    }
    dots.sort((a, b) => a.group - b.group || a.x - b.x);
    const look = (dot: Dot) => groupLook(dot.group, dot.size);
    const radius = (dot: Dot) => Math.min(22, 3.5 + 1.7 * Math.sqrt(dot.tasks.length));
    const [left, right, low, high] = frame();
    const width = Math.max(340, place.clientWidth || 560), height = 400;
    const plot = Plot.plot({
      width, height, marginLeft: 50, marginBottom: 46, marginTop: 30, style: kPlotStyle, className: "plot",
      x: { domain: [left, right], label: axisWords(0), labelAnchor: "center", nice: true }, y: { domain: [low, high], label: axisWords(1), nice: true, labelArrow: "up" },
      marks: [Plot.gridX({ stroke: "var(--line)" }), Plot.gridY({ stroke: "var(--line)" })],
    });
    plain(plot, "");
    plot.removeAttribute("aria-label");
    plot.setAttribute("role", "listbox");
    plot.setAttribute("aria-multiselectable", "true");
    plot.setAttribute("aria-label", "Tasks by their weights");
    for (const child of [...plot.children]) child.setAttribute("aria-hidden", "true");
    const x = plot.scale("x")!, y = plot.scale("y")!;
    const had = place.contains(document.activeElement);
    focused = Math.min(focused, dots.length - 1);
    const items = dots.map((dot, index) => {
      const names = listed(dot.tasks.map((task) => state.name(task)), 8);
      const { colour, shape } = look(dot);
      const marked = dot.tasks.some((task) => state.marked.has(task));
      const words = `${dot.size > 1 ? `group ${dot.group}, ${plural(dot.tasks.length, "task")}: ` : ""}${names}`;
      const item = s("path", {
        d: shapePath(shape, radius(dot)), transform: `translate(${x.apply(dot.x)},${y.apply(dot.y)})`,
        fill: colour, "fill-opacity": dot.size > 1 ? 0.75 : 0.25, stroke: marked ? undefined : colour,
        role: "option", tabindex: index === focused ? 0 : -1, "aria-selected": String(marked), "aria-label": words,
        click: () => {
          focused = index;
          state.toggle(dot.tasks);
        },
      }, s("title", {}, words));
      plot.append(item);
      return item;
    });
    plot.classList.add("map");
    plot.addEventListener("keydown", (event) => {
      const here = items.indexOf(event.target as SVGPathElement);
      if (here >= 0) focused = here;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[(event as KeyboardEvent).key];
      if (step !== undefined) {
        for (const item of items) item.setAttribute("tabindex", "-1");
        focused = (focused + step + items.length) % items.length;
        items[focused].setAttribute("tabindex", "0");
        items[focused].focus();
      } else if ((event as KeyboardEvent).key === "Enter" || (event as KeyboardEvent).key === " ") state.toggle(dots[focused].tasks);
      else return;
      event.preventDefault();
    });
    place.replaceChildren(plot);
    if (had) items[focused].focus({ preventScroll: true });
  }

  const figure = new Figure({
    id: "map", title: `Map of the tasks by their ${data.weights_of === "kernels" ? "kernels" : "weights"}`, draw,
    words: "Tasks that stand together have much the same weights; a large sign is many tasks with the very same. A click marks them.",
    table: () => {
      const at = positions(state);
      const of = (row: number) => at[state.point.row[row]];
      return {
        id: "map-table", caption: "Places on the map", rows: state.count,
        columns: [
          { name: "task", value: (row) => state.name(row), cell: (row) => bdi(state.name(row)) },
          { name: "group", value: (row) => state.point.group[row] },
          { name: "across", value: (row) => of(row)[0], cell: (row) => datum(of(row)[0]) },
          { name: "up", value: (row) => of(row)[1], cell: (row) => datum(of(row)[1]) },
        ],
      };
    },
  });
  state.on(() => figure.refresh());
  return figure;
}
