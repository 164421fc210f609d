// The tree of the tasks: nodes of the program's list, and what of them is shown.
import { asNumber, type Explorer } from "./data";

/** A task, a node of the tree, or some neighbours that join at once. `from` to `to`: its tasks in the order of the tree. */
export interface Branch {
  id: number;
  from: number;
  to: number;
  share: number;
  children: Branch[];
  support: number | null;
  forGood: boolean;
  /** Neighbours that the page put together because they are many. */
  made: boolean;
}

function build(data: Explorer): { root: Branch; spans: Map<string, Branch> } {
  const T = data.tasks.name.length;
  const place: number[] = [];
  data.order.forEach((task, index) => (place[task] = index));
  const branches: Branch[] = data.tasks.name.map((_, task) => ({ id: task, from: place[task], to: place[task] + 1, share: 0, children: [], support: null, forGood: true, made: false }));
  const top = new Set<number>(branches.keys());
  const spans = new Map<string, Branch>();
  for (const [k, node] of (data.tree ?? []).entries()) {
    const children = node.children.map((child) => branches[child]).sort((a, b) => a.from - b.from);
    for (const child of node.children) top.delete(child);
    const branch: Branch = { id: T + k, from: children[0].from, to: children[children.length - 1].to, share: asNumber(node.share), children, support: node.support === undefined ? null : asNumber(node.support), forGood: node.for_good, made: false };
    branches.push(branch);
    spans.set(`${branch.from}-${branch.to}`, branch);
    top.add(T + k);
  }
  const roots = [...top].map((id) => branches[id]).sort((a, b) => a.from - b.from);
  const root = roots.length === 1 ? roots[0] : { id: -1, from: 0, to: T, share: Infinity, children: roots, support: null, forGood: true, made: true };
  return { root, spans };
}

const built = new WeakMap<Explorer, ReturnType<typeof build>>();
export function treeOf(data: Explorer): ReturnType<typeof build> {
  let tree = built.get(data);
  if (!tree) built.set(data, (tree = build(data)));
  return tree;
}

const places = new WeakMap<Explorer, number[]>();
export function placesOf(data: Explorer): number[] {
  let place = places.get(data);
  if (!place) {
    place = [];
    data.order.forEach((task, index) => (place![task] = index));
    places.set(data, place);
  }
  return place;
}

/** Of a group that is a node of the tree; null where it is none. */
export function supportOf(data: Explorer, group: number[]): number | null {
  const place = placesOf(data);
  let from = Infinity, to = -1;
  for (const task of group) {
    from = Math.min(from, place[task]);
    to = Math.max(to, place[task] + 1);
  }
  return to - from === group.length ? (treeOf(data).spans.get(`${from}-${to}`)?.support ?? null) : null;
}

/** The branches below `root` that are opened so that at most `most` ends are shown: those of the largest lambda first. */
export function opened(root: Branch, most: number): Set<Branch> {
  const open = new Set<Branch>();
  const waiting: Branch[] = [];
  let ends = 1;
  const add = (branch: Branch) => {
    if (branch.children.length > 0) waiting.push(branch);
  };
  add(root);
  while (waiting.length > 0) {
    let next = 0;
    for (let k = 1; k < waiting.length; ++k) {
      const a = waiting[k], b = waiting[next];
      if (a.share > b.share || (a.share === b.share && a.to - a.from > b.to - b.from)) next = k;
    }
    const [branch] = waiting.splice(next, 1);
    if (branch === root && branch.children.length > most) branch.children = bundled(branch.children, most);
    if (ends + branch.children.length - 1 > most) continue;
    ends += branch.children.length - 1;
    open.add(branch);
    branch.children.forEach(add);
  }
  return open;
}

/** So many neighbours that they cannot all be shown, in as many bundles as can. */
function bundled(children: Branch[], most: number): Branch[] {
  const size = Math.ceil(children.length / most);
  const out: Branch[] = [];
  for (let k = 0; k < children.length; k += size) {
    const part = children.slice(k, k + size);
    out.push(part.length === 1 ? part[0] : { id: -2 - out.length, from: part[0].from, to: part[part.length - 1].to, share: Math.max(...part.map((one) => one.share)), children: part, support: null, forGood: true, made: true });
  }
  return out;
}
