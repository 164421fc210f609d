// How alike the tasks are, two by two, in the order of the tree.
import { asNumber } from "./data";
import { clipped, datum, h, plural, short } from "./dom";
import { Figure } from "./figure";
import { ramp } from "./looks";
import { placesOf } from "./nodes";
import type { State } from "./state";

export function matrixFigure(state: State): Figure {
  const { data } = state;
  const { block, rows, below_zero: belowZero } = data.affinity;
  const n = rows.length, T = state.count;
  const least = Math.min(1, ...rows.map((row) => Math.min(...row.map((cell) => asNumber(cell) || 0))));
  // A path fills the scale; likenesses of weights may all be near 1.
  const low = data.tree || least < 0.5 ? (belowZero ? -1 : 0) : Math.floor(10 * least - 1e-9) / 10;
  const value = (i: number, j: number) => asNumber(i >= j ? rows[i][j] : rows[j][i]);
  const tasksOf = (i: number) => data.order.slice(i * block, Math.min((i + 1) * block, T));
  const nameOf = (i: number) => {
    const tasks = tasksOf(i);
    return tasks.length === 1 ? clipped(state.name(tasks[0]), 40) : `${plural(tasks.length, "task")} from ${clipped(state.name(tasks[0]), 24)}`;
  };
  let cursor: [number, number] = [0, 0];
  const said = h("p", { class: "status", role: "status" });
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "matrix", "aria-label": "Matrix of the tasks; arrow keys move over its cells, Enter marks the two tasks" });

  const tell = () => {
    const [i, j] = cursor;
    said.textContent = i === j && tasksOf(i).length === 1 ? nameOf(i) : `${nameOf(i)} and ${nameOf(j)}: ${short(value(i, j))}`;
  };
  let side = 1, cell = 1;
  function paint(): void {
    const css = getComputedStyle(document.documentElement);
    const scale = Math.max(1, Math.round(window.devicePixelRatio || 1));
    const room = Math.max(240, Math.min(560, (canvas.parentElement?.clientWidth || 560) - 12));
    cell = Math.max(1, Math.floor((room * scale) / n));
    side = cell * n;
    const gutter = 8 * scale;
    canvas.width = canvas.height = side + gutter;
    canvas.style.width = canvas.style.height = `${(side + gutter) / scale}px`;
    const draw = canvas.getContext("2d")!;
    draw.clearRect(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < n; ++i)
      for (let j = 0; j <= i; ++j) {
        const here = value(i, j);
        draw.fillStyle = Number.isNaN(here) ? css.getPropertyValue("--line") : ramp((here - low) / Math.max(1e-9, 1 - low));
        draw.fillRect(gutter + j * cell, i * cell, cell, cell);
        draw.fillRect(gutter + i * cell, j * cell, cell, cell);
      }
    // Groups at the slider's lambda: neighbours in one group.
    draw.strokeStyle = css.getPropertyValue("--c2").trim();
    draw.lineWidth = 2 * scale;
    const { group } = state.point;
    for (let from = 0; from < T; ) {
      let to = from + 1;
      while (to < T && group[data.order[to]] === group[data.order[from]]) ++to;
      if (to - from > 1) {
        const a = (from / block) * cell, b = (Math.min(to / block, n)) * cell;
        draw.strokeRect(gutter + a, a, b - a, b - a);
      }
      from = to;
    }
    draw.fillStyle = css.getPropertyValue("--marked").trim();
    const place = placesOf(data);
    for (const task of state.marked) {
      const at = Math.floor(place[task] / block) * cell;
      draw.fillRect(0, at, gutter - 2 * scale, Math.max(cell, 2 * scale));
      draw.fillRect(gutter + at, side + 2 * scale, Math.max(cell, 2 * scale), gutter - 2 * scale);
    }
    if (document.activeElement === canvas) {
      draw.strokeStyle = css.getPropertyValue("--marked").trim();
      draw.lineWidth = 2 * scale;
      draw.strokeRect(gutter + cursor[1] * cell, cursor[0] * cell, Math.max(cell, 4), Math.max(cell, 4));
    }
  }
  const cellAt = (event: MouseEvent): [number, number] | null => {
    const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width, gutter = canvas.width - side;
    const i = Math.floor(((event.clientY - box.top) * scale) / cell), j = Math.floor(((event.clientX - box.left) * scale - gutter) / cell);
    return i >= 0 && j >= 0 && i < n && j < n ? [i, j] : null;
  };
  canvas.addEventListener("mousemove", (event) => {
    const found = cellAt(event);
    if (!found) return;
    cursor = found;
    tell();
  });
  const markCursor = () => state.toggle([...new Set([...tasksOf(cursor[0]), ...tasksOf(cursor[1])])]);
  canvas.addEventListener("click", (event) => {
    const found = cellAt(event);
    if (!found) return;
    cursor = found;
    tell();
    markCursor();
  });
  canvas.addEventListener("keydown", (event) => {
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (move) cursor = [Math.max(0, Math.min(n - 1, cursor[0] + move[0])), Math.max(0, Math.min(n - 1, cursor[1] + move[1]))];
    else if (event.key === "Enter" || event.key === " ") markCursor();
    else return;
    event.preventDefault();
    tell();
    paint();
  });
  canvas.addEventListener("focus", () => { tell(); paint(); });
  canvas.addEventListener("blur", paint);

  const legend = h("canvas", { width: 192, height: 10, "aria-hidden": "true" });
  const draw = (place: HTMLElement) => {
    if (!place.contains(canvas)) {
      const ink = legend.getContext("2d")!;
      for (let x = 0; x < 192; ++x) {
        ink.fillStyle = ramp(x / 191);
        ink.fillRect(x, 0, 1, 10);
      }
      place.replaceChildren(h("div", { class: "matrix" }, h("div", { class: "scale" }, String(low).replace("-", "−"), legend, "1"), canvas), said);
    }
    paint();
  };
  const figure = new Figure({
    id: "matrix", title: "How alike the tasks are", draw,
    words: `Colour: ${data.affinity.of}${block > 1 ? `, in the mean over blocks of ${block} neighbours` : ""}. Frames are groups${data.tree ? " at the slider's lambda" : ""}; the order is that of ${data.tree ? "the tree" : "likeness"}.`,
    table: () => {
      const pairs: [number, number][] = [];
      for (let i = 0; i < n; ++i) for (let j = 0; j < (block > 1 ? i + 1 : i); ++j) pairs.push([i, j]);
      return {
        id: "matrix-table", caption: `Pairs: ${data.affinity.of}`, rows: pairs.length,
        columns: [
          { name: "one", value: (row) => nameOf(pairs[row][1]) },
          { name: "other", value: (row) => nameOf(pairs[row][0]) },
          { name: "value", value: (row) => value(...pairs[row]), cell: (row) => datum(value(...pairs[row])) },
        ],
      };
    },
  });
  state.on(() => figure.refresh());
  return figure;
}
