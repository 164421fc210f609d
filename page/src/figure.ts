// A picture with a heading, words, and its numbers as a table behind it. It is drawn when it comes near the window, and anew once per frame.
import { h } from "./dom";
import { Table, type TableSpec } from "./table";

export interface FigureSpec {
  id: string;
  title: string;
  words?: string;
  /** Puts the picture into its place. */
  draw: (place: HTMLElement) => void;
  /** What stands in the picture, as numbers. */
  table?: () => TableSpec;
  wide?: boolean;
}

const drawings = new WeakMap<Element, () => void>();
const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries)
      if (entry.isIntersecting) {
        near.unobserve(entry.target); // from now on it is drawn when something changes
        drawings.get(entry.target)?.();
      }
  },
  { rootMargin: "300px" },
);
const all = new Set<() => void>();
const again = new Set<() => void>(); // of them, those that are drawn
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth !== width) requestAnimationFrame(() => again.forEach((draw) => draw()));
  width = window.innerWidth;
});
window.addEventListener("beforeprint", () => all.forEach((draw) => draw()));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => again.forEach((draw) => draw()));

export class Figure {
  readonly element: HTMLElement;
  private place: HTMLElement;
  private words: HTMLElement;
  private numbers?: Table;
  private drawn = false;
  private waiting = false;

  constructor(private spec: FigureSpec) {
    this.place = h("div", { class: "picture" });
    this.words = h("p", { class: "words", id: `${spec.id}-words` }, spec.words ?? "");
    this.element = h("section", { class: spec.wide ? "figure wide" : "figure", id: spec.id, "aria-labelledby": `${spec.id}-title` },
      h("h2", { id: `${spec.id}-title` }, spec.title), this.words, this.place);
    if (spec.table) this.element.append(this.behind(spec.table));
    const draw = () => this.draw();
    drawings.set(this.element, draw);
    all.add(draw);
    again.add(() => this.refresh());
    near.observe(this.element);
  }

  /** After a change of what is chosen. */
  refresh(): void {
    if (!this.drawn || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  say(words: string): void {
    this.words.textContent = words;
  }

  private draw(): void {
    this.drawn = true;
    this.spec.draw(this.place);
    if (this.numbers && this.spec.table) this.numbers.renew(this.spec.table());
  }

  private behind(table: () => TableSpec): HTMLElement {
    const details = h("details", { class: "numbers" }, h("summary", {}, "Numbers of this picture"));
    details.addEventListener("toggle", () => {
      if (!details.open || this.numbers) return;
      this.numbers = new Table(table());
      details.append(this.numbers.element);
    });
    return details;
  }
}
