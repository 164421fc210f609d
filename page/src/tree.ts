// The tree of the tasks: who joins, at which lambda. Branches with many tasks are shown closed; opening one shows it alone.
import { hierarchy, type HierarchyNode } from "d3-hierarchy";
import { asNumber } from "./data";
import { clipped, datum, h, plural, s, short } from "./dom";
import { Figure } from "./figure";
import { groupLook } from "./looks";
import { opened, treeOf, type Branch } from "./nodes";
import { shapePath } from "./tasks";
import type { State } from "./state";
import type { TableSpec } from "./table";

const kMostEnds = 60, kRow = 20, kLeft = 44, kTop = 26;

export function treeFigure(state: State): Figure {
  const { data } = state;
  const all = treeOf(data);
  let view = all.root;
  const above: Branch[] = [];
  let focused: Branch | null = null;
  let keepFocus = false;

  const tasksOf = (branch: Branch) => data.order.slice(branch.from, branch.to);
  const open = (branch: Branch) => {
    above.push(view);
    view = branch;
    focused = branch;
    keepFocus = true;
    figure.refresh();
  };
  const back = () => {
    focused = view;
    view = above.pop() ?? all.root;
    keepFocus = true;
    figure.refresh();
  };

  function draw(place: HTMLElement): void {
    const shown = opened(view, kMostEnds);
    const tree = hierarchy(view, (branch) => (shown.has(branch) ? branch.children : null));
    const ends = tree.leaves();
    const textOf = (branch: Branch) => {
      const size = branch.to - branch.from, marked = tasksOf(branch).filter((task) => state.marked.has(task)).length;
      return size === 1 ? clipped(state.name(data.order[branch.from]), 30) : `${plural(size, "task")}${marked > 0 && marked < size ? `, ${marked} marked` : ""} ▸`;
    };
    const kNames = Math.max(90, Math.min(240, 36 + 7.5 * Math.max(...ends.map((end) => [...textOf(end.data)].length))));
    const width = Math.max(460, place.clientWidth || 640);
    const height = kTop + ends.length * kRow + 8;

    // Shares of lambda on a log scale; what joins below the smallest of them stands at the left end.
    const shares = data.points.map((point) => asNumber(point.share)).filter((share) => share > 0 && Number.isFinite(share));
    const smallest = Math.min(...shares, 1), largest = Math.max(...shares, 1);
    const right = width - kNames, span = Math.log(largest / smallest) || 1;
    // Lambda grows to the left, away from the names.
    const x = (share: number) => right - (right - kLeft) * (share <= 0 ? 0 : Math.max(0, Math.min(1, Math.log(share / smallest) / span)));
    const y = new Map<Branch, number>();
    ends.forEach((end, index) => y.set(end.data, kTop + (index + 0.5) * kRow));
    const heightOf = (node: HierarchyNode<Branch>): number => {
      const known = y.get(node.data);
      if (known !== undefined) return known;
      const inner = node.children!.map(heightOf);
      const middle = (inner[0] + inner[inner.length - 1]) / 2;
      y.set(node.data, middle);
      return middle;
    };
    heightOf(tree);

    const { point } = state;
    const sizes = state.groups().map((group) => group.length);
    const groupOf = (branch: Branch) => {
      const first = point.group[data.order[branch.from]];
      for (let k = branch.from + 1; k < branch.to; ++k) if (point.group[data.order[k]] !== first) return 0;
      return first;
    };
    const lookOf = (branch: Branch) => {
      const group = groupOf(branch);
      return group > 0 ? groupLook(group, sizes[group - 1]) : null;
    };

    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "tree", role: "tree", "aria-label": "Tree of the tasks", "aria-multiselectable": "true" });
    const axis = s("g", { class: "axis", "aria-hidden": "true" });
    for (let power = Math.ceil(Math.log10(smallest)); power <= Math.log10(largest) + 1e-9; ++power) {
      const at = x(10 ** power);
      axis.append(s("line", { x1: at, x2: at, y1: kTop - 4, y2: height }), s("text", { x: at, y: 12, "text-anchor": "middle" }, power === 0 ? "lambda_max" : String(Number((10 ** power).toPrecision(1)))));
    }
    svg.append(axis);

    const items: { branch: Branch; element: SVGElement; parent: Branch | null }[] = [];
    const drawNode = (node: HierarchyNode<Branch>, parent: HierarchyNode<Branch> | null) => {
      const branch = node.data, isEnd = !node.children, closed = isEnd && branch.children.length > 0;
      const look = lookOf(branch), size = branch.to - branch.from;
      const marked = tasksOf(branch).filter((task) => state.marked.has(task)).length;
      const height0 = y.get(branch)!, at = branch.children.length === 0 ? right : x(branch.share);
      const stroke = look?.colour ?? "var(--soft)";
      const words = size === 1 ? clipped(state.name(data.order[branch.from]), 30)
        : `${plural(size, "task")}${branch.made ? "" : `, join at ${short(branch.share)} of lambda_max`}${branch.support !== null ? `, support ${branch.support.toFixed(2)}` : ""}${closed ? ", closed" : ""}`;
      const group = groupOf(branch);
      const item = s("g", {
        role: "treeitem", tabindex: -1, "aria-level": node.depth + 1, "aria-selected": marked === size ? "true" : "false", "aria-expanded": branch.children.length === 0 ? undefined : closed ? "false" : "true",
        "aria-label": `${words}${group > 0 && sizes[group - 1] > 1 ? `, group ${group}` : ""}`, class: marked === size ? "marked" : undefined, "data-task": size === 1 ? data.order[branch.from] : undefined, "data-node": branch.id,
      });
      if (parent) {
        const from = parent.data.made && !Number.isFinite(parent.data.share) ? kLeft : x(parent.data.share);
        item.append(s("path", { class: parent.data.forGood ? "branch" : "branch broken", d: `M${from},${height0}H${at}`, stroke }));
      }
      if (node.children) {
        const inner = node.children.map((child) => y.get(child.data)!);
        if (Number.isFinite(branch.share)) item.append(s("path", { class: branch.forGood ? "branch" : "branch broken", d: `M${at},${inner[0]}V${inner[inner.length - 1]}`, stroke }));
        if (!branch.made) {
          const sure = branch.support === null ? 1 : branch.support;
          item.append(s("circle", { cx: at, cy: height0, r: 4, fill: sure >= 0.75 ? stroke : "var(--paper)", stroke, "stroke-width": 1.5, class: "knot" }));
          const room = parent && Number.isFinite(parent.data.share) ? at - x(parent.data.share) : 99;
          if (branch.support !== null && room > 34) item.append(s("text", { class: "support", x: at - 6, y: height0 - 4, "text-anchor": "end" }, branch.support.toFixed(2)));
        }
      } else {
        if (closed) item.append(s("path", { d: `M${at},${height0}L${right},${height0 - 7}V${height0 + 7}Z`, fill: stroke, "fill-opacity": 0.35, stroke }));
        item.append(s("path", { d: shapePath(look?.shape ?? "circle", 4), transform: `translate(${right + 9},${height0})`, fill: look ? look.colour : "none", stroke }));
        item.append(s("text", { class: "name", x: right + 20, y: height0 + 4 }, textOf(branch)));
        if (size === 1) item.append(s("title", {}, state.name(data.order[branch.from])));
        item.append(s("rect", { x: right, y: height0 - kRow / 2, width: kNames, height: kRow, fill: "transparent" }));
      }
      item.addEventListener("click", (event) => {
        event.stopPropagation();
        focused = branch;
        if (closed) open(branch);
        else state.toggle(tasksOf(branch));
      });
      svg.append(item);
      items.push({ branch, element: item, parent: parent?.data ?? null });
      for (const child of node.children ?? []) drawNode(child, node);
    };
    drawNode(tree, null);

    const share = asNumber(point.share);
    if (data.points.length > 1) svg.append(s("line", { class: "cut", x1: x(Number.isNaN(share) ? 1 : share), x2: x(Number.isNaN(share) ? 1 : share), y1: kTop - 6, y2: height, "aria-hidden": "true" }));

    // One item takes the tab key; arrows go on from it.
    let current = items.find((item) => item.branch === focused) ?? items[0];
    const hadFocus = keepFocus || place.contains(document.activeElement);
    keepFocus = false;
    current.element.setAttribute("tabindex", "0");
    const go = (to: (typeof items)[number] | undefined) => {
      if (!to) return;
      for (const item of items) item.element.setAttribute("tabindex", "-1");
      current = to;
      focused = to.branch;
      to.element.setAttribute("tabindex", "0");
      to.element.focus();
    };
    svg.addEventListener("keydown", (event) => {
      current = items.find((item) => item.element === event.target) ?? current;
      const here = items.indexOf(current), { branch, parent } = current;
      const isClosed = branch.children.length > 0 && !shown.has(branch);
      if (event.key === "ArrowDown") go(items[here + 1]);
      else if (event.key === "ArrowUp") go(items[here - 1]);
      else if (event.key === "Home") go(items[0]);
      else if (event.key === "End") go(items[items.length - 1]);
      else if (event.key === "ArrowRight") { if (isClosed) open(branch); else if (branch.children.length > 0) go(items[here + 1]); }
      else if (event.key === "ArrowLeft") { if (parent) go(items.find((item) => item.branch === parent)); else if (above.length > 0) back(); }
      else if (event.key === "Enter" || event.key === " ") { focused = branch; state.toggle(tasksOf(branch)); }
      else return;
      event.preventDefault();
    });
    const crumbs = h("div", { class: "crumbs" });
    if (above.length > 0) crumbs.append(h("button", { type: "button", click: back }, "◂ the whole above"), `${plural(view.to - view.from, "task")} of ${state.count}`);
    place.replaceChildren(crumbs, svg);
    if (hadFocus) current.element.focus({ preventScroll: true });
  }

  function table(): TableSpec {
    const nodes = data.tree ?? [];
    const T = state.count;
    const part = (child: number) => (child < T ? state.name(child) : `[${child - T + 1}]`);
    return {
      id: "tree-table", caption: "What joins, and where", rows: nodes.length,
      columns: [
        { name: "node", value: (row) => row + 1, cell: (row) => `[${row + 1}]` },
        { name: "parts", value: (row) => nodes[row].children.slice(0, 12).map(part).join(" + ") + (nodes[row].children.length > 12 ? ` + ${nodes[row].children.length - 12} more` : "") },
        { name: "lambda", value: (row) => asNumber(nodes[row].lambda), cell: (row) => datum(nodes[row].lambda) },
        { name: "of lambda_max", value: (row) => asNumber(nodes[row].share), cell: (row) => datum(nodes[row].share) },
        { name: "together", value: (row) => nodes[row].together, cell: (row) => datum(nodes[row].together), help: "share of the path, in log lambda, that the parts spend in one group" },
        ...(data.resamples ? [{ name: "support", value: (row: number) => asNumber(nodes[row].support), cell: (row: number) => datum(nodes[row].support) }] : []),
        { name: "for good", value: (row) => (nodes[row].for_good ? "yes" : "in pieces") },
      ],
    };
  }

  const figure = new Figure({
    id: "tree", title: "Tree of the tasks", wide: true, draw, table,
    words: "Tasks join where their branches meet; lambda grows to the left. The dashed line is the slider's lambda, colours and shapes are its groups. " +
      "A click marks the tasks of a branch or opens one that is closed (arrow keys move, Enter marks, right arrow opens, left arrow closes)." +
      (data.resamples ? " Numbers are the support of the group in resamples; full circles have 0.75 or more." : ""),
  });
  state.on(() => figure.refresh());
  return figure;
}
