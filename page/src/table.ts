// A table that sorts and filters. Of many rows only those in the window are in the document.
import { h, plural } from "./dom";

export interface Column {
  name: string;
  /** What it is sorted by: numbers by size, words as people order them. */
  value: (row: number) => number | string;
  /** What is shown; default: the value as it is. */
  cell?: (row: number) => Node | string;
  help?: string;
}

export interface TableSpec {
  id: string;
  caption: string;
  rows: number;
  columns: Column[];
  /** Words to search in; none: no field for it. */
  search?: (row: number) => string;
  /** Rows with a box to tick. */
  ticks?: { name: (row: number) => string; has: (row: number) => boolean; toggle: (row: number) => void };
  onShown?: (rows: number[]) => void;
}

const kRowHeight = 30, kMargin = 12, kAll = 80;

export class Table {
  readonly element: HTMLElement;
  private order: number[] = [];
  private sorted: { column: number; down: boolean } | null = null;
  private wanted = "";
  private body = h("tbody");
  private table: HTMLTableElement;
  private scroll: HTMLElement;
  private status = h("p", { class: "status", role: "status" });
  private heads: { head: HTMLElement; button: HTMLElement }[] = [];
  private first = -1;
  private last = -1;

  constructor(private spec: TableSpec) {
    const heads = spec.columns.map((column, index) => {
      const button = h("button", { type: "button", title: column.help, click: () => this.sortBy(index) }, column.name);
      const head = h("th", { scope: "col", "aria-sort": "none", class: spec.rows > 0 && typeof column.value(0) === "number" ? "number" : undefined }, button);
      this.heads.push({ head, button });
      return head;
    });
    if (spec.ticks) heads.unshift(h("th", { scope: "col" }, h("span", { class: "hidden" }, "marked")));
    this.table = h("table", { id: spec.id }, h("caption", {}, spec.caption), h("thead", {}, h("tr", { "aria-rowindex": 1 }, ...heads)), this.body);
    this.scroll = h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": spec.caption }, this.table);
    this.scroll.addEventListener("scroll", () => this.show());
    this.element = h("div", { class: "table" }, this.tools(), this.scroll, this.status);
    window.addEventListener("beforeprint", () => this.show(400));
    window.addEventListener("afterprint", () => this.show());
    this.arrange();
  }

  /** The same table of other numbers. */
  renew(spec: TableSpec): void {
    this.spec = spec;
    this.arrange();
  }

  /** Cells again, in the same order. */
  refresh(): void {
    this.first = -1;
    this.show();
  }

  private tools(): HTMLElement | null {
    if (!this.spec.search) return null;
    const field = h("input", { type: "search", id: `${this.spec.id}-search`, autocomplete: "off", spellcheck: "false" });
    field.addEventListener("input", () => {
      this.wanted = field.value.trim().toLowerCase();
      this.arrange();
      this.scroll.scrollTop = 0;
    });
    return h("p", { class: "tools" }, h("label", { for: field.id }, "Show tasks with "), field);
  }

  private sortBy(column: number): void {
    const down = this.sorted?.column === column ? !this.sorted.down : typeof this.spec.columns[column].value(0) === "number";
    this.sorted = { column, down };
    this.heads.forEach(({ head }, index) => head.setAttribute("aria-sort", index === column ? (down ? "descending" : "ascending") : "none"));
    this.arrange();
    this.scroll.scrollTop = 0;
  }

  private arrange(): void {
    const { spec } = this;
    this.order = [];
    for (let row = 0; row < spec.rows; ++row)
      if (!this.wanted || !spec.search || spec.search(row).toLowerCase().includes(this.wanted)) this.order.push(row);
    if (this.sorted) {
      const { column, down } = this.sorted;
      const value = spec.columns[column].value;
      const keys = new Map(this.order.map((row) => [row, value(row)]));
      const words = new Intl.Collator("en", { numeric: true });
      const unknown = (key: number | string) => typeof key === "number" && Number.isNaN(key);
      this.order.sort((a, b) => {
        const x = keys.get(a)!, y = keys.get(b)!;
        if (unknown(x) || unknown(y)) return Number(unknown(x)) - Number(unknown(y)) || a - b; // last, whatever the order
        const less = typeof x === "number" && typeof y === "number" ? x - y : words.compare(String(x), String(y));
        return (down ? -less : less) || a - b;
      });
    }
    const shown = this.order.length;
    this.status.textContent = shown === spec.rows ? "" : `${plural(shown, "row")} of ${spec.rows}`;
    this.table.setAttribute("aria-rowcount", String(shown + 1));
    spec.onShown?.(this.order);
    this.first = -1;
    this.show();
  }

  private show(most?: number): void {
    const count = this.order.length;
    let first = 0, last = count;
    if (most !== undefined) {
      last = Math.min(count, most);
    } else if (count > kAll) {
      const seen = Math.ceil((this.scroll.clientHeight || 480) / kRowHeight);
      first = Math.max(0, Math.floor(this.scroll.scrollTop / kRowHeight) - kMargin);
      last = Math.min(count, first + seen + 2 * kMargin);
    }
    if (first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const focused = document.activeElement instanceof HTMLInputElement && this.body.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    const lines: Node[] = [];
    if (first > 0) lines.push(this.spacer(first));
    for (let place = first; place < last; ++place) lines.push(this.line(place));
    if (last < count) lines.push(this.spacer(count - last));
    if (count === 0) lines.push(h("tr", {}, h("td", { colspan: this.heads.length + 1 }, "nothing to show")));
    this.body.replaceChildren(...lines);
    if (focused !== undefined) this.body.querySelector<HTMLInputElement>(`input[data-row="${focused}"]`)?.focus({ preventScroll: true });
  }

  private spacer(rows: number): HTMLElement {
    const cell = h("td", { colspan: this.heads.length + 1 });
    cell.style.height = `${rows * kRowHeight}px`;
    return h("tr", { class: "spacer", "aria-hidden": "true" }, cell);
  }

  private line(place: number): HTMLElement {
    const { spec } = this;
    const row = this.order[place];
    const cells = spec.columns.map((column, index) => {
      const shown = column.cell ? column.cell(row) : String(column.value(row));
      const numeric = typeof column.value(row) === "number";
      const cell = h(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : undefined, class: numeric ? "number" : undefined }, shown);
      if (!numeric) cell.title = cell.textContent ?? "";
      return cell;
    });
    const marked = spec.ticks?.has(row) ?? false;
    if (spec.ticks) {
      const ticks = spec.ticks;
      const box = h("input", { type: "checkbox", "aria-label": `mark ${ticks.name(row)}`, "data-row": row });
      box.checked = marked;
      box.addEventListener("change", () => ticks.toggle(row));
      cells.unshift(h("td", {}, box));
    }
    return h("tr", { "aria-rowindex": place + 2, class: marked ? "marked" : undefined, "data-row": row }, ...cells);
  }
}
