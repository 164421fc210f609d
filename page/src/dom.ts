// Elements, numbers and words.
import { asNumber, type Value } from "./data";

type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
}

export function h<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function s<Tag extends keyof SVGElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** Six digits at most, and no more zeros than needed. */
export function short(value: Value | undefined, digits = 4): string {
  const number = asNumber(value);
  if (Number.isNaN(number)) return "–";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size < 1e-4 || size >= 1e7) return number.toExponential(digits - 2).replace("e+", "e").replace(/\.?0+e/, "e").replace("-", "−");
  return String(Number(number.toPrecision(digits))).replace("-", "−");
}

export function percent(value: Value | undefined): string {
  const number = asNumber(value);
  return Number.isNaN(number) ? "–" : `${(100 * number).toFixed(2)} %`;
}

/** A number as people read it, with all its digits for machines. */
export function datum(value: Value | undefined, text: (value: Value | undefined) => string = short): HTMLElement {
  return h("data", { value: value === null || value === undefined ? "" : String(value) }, text(value));
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A name that may hold anything, in either direction of writing. */
export function bdi(name: string): HTMLElement {
  return h("bdi", {}, name);
}

export function clipped(name: string, length = 28): string {
  const letters = [...name];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : name;
}

/** "a, b, c and 4 more". */
export function listed(names: string[], most = 6): string {
  const shown = names.slice(0, most).map((name) => clipped(name));
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
