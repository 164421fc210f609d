// What is chosen: a point of the path and some tasks. Every view draws itself anew when these change.
import { asNumber, type Explorer, type Point } from "./data";

export type Change = "point" | "marked";

export class State {
  readonly count: number;
  private place: number;
  private chosen = new Set<number>();
  private listeners: ((change: Change) => void)[] = [];

  constructor(readonly data: Explorer) {
    this.count = data.tasks.name.length;
    this.place = data.chosen ?? data.best ?? Math.floor((data.points.length - 1) / 2);
  }

  get point(): Point {
    return this.data.points[this.place];
  }
  get index(): number {
    return this.place;
  }
  set index(place: number) {
    const next = Math.max(0, Math.min(this.data.points.length - 1, place));
    if (next === this.place) return;
    this.place = next;
    this.tell("point");
  }

  get marked(): ReadonlySet<number> {
    return this.chosen;
  }
  mark(tasks: Iterable<number>): void {
    this.chosen = new Set(tasks);
    this.tell("marked");
  }
  /** Marks all of them; when all are marked already, none. */
  toggle(tasks: number[]): void {
    const next = new Set(this.chosen);
    const all = tasks.every((task) => next.has(task));
    for (const task of tasks) {
      if (all) next.delete(task);
      else next.add(task);
    }
    this.mark(next);
  }

  name(task: number): string {
    return this.data.tasks.name[task];
  }
  weights(task: number, point: Point = this.point): number[] {
    return point.weights[point.row[task]].map(asNumber);
  }
  /** Members of every group at a point, the largest first: groups[0] is group 1. */
  groups(point: Point = this.point): number[][] {
    const groups: number[][] = Array.from({ length: point.groups }, () => []);
    point.group.forEach((group, task) => groups[group - 1].push(task));
    return groups;
  }

  on(listener: (change: Change) => void): void {
    this.listeners.push(listener);
  }
  private tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }
}
