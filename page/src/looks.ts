// Colours, shapes and dashes. Nothing is said by colour alone: groups have numbers and shapes, kernels have dashes.
import * as Plot from "@observablehq/plot";
import { s } from "./dom";

const kColours = 8;
export const kShapes = ["circle", "square2", "triangle", "diamond2", "star", "cross", "wye", "asterisk"] as const;

export function colour(index: number): string {
  return `var(--c${(index % kColours) + 1})`;
}

export interface Look {
  colour: string;
  shape: (typeof kShapes)[number];
}

/** Of a group by its number, from 1; tasks that are alone are grey, and so are groups beyond those with colours. */
export function groupLook(group: number, size: number): Look {
  if (size < 2 || group > kColours) return { colour: "var(--alone)", shape: "circle" };
  return { colour: colour(group - 1), shape: kShapes[group - 1] };
}

export function dash(index: number): string | undefined {
  return ["", "7 3", "2 3", "9 3 2 3"][Math.floor(index / 4) % 4] || undefined;
}

export const viridis = Plot.scale({ color: { type: "linear", scheme: "viridis", domain: [0, 1] } });

export function ramp(share: number): string {
  return String(viridis.apply(Math.max(0, Math.min(1, share))));
}

/** The line that stands for a kernel in a legend. */
export function swatch(index: number): SVGElement {
  return s("svg", { width: 30, height: 12, "aria-hidden": "true", class: "swatch" },
    s("line", { x1: 1, x2: 29, y1: 6, y2: 6, stroke: colour(index), "stroke-width": 2.5, "stroke-dasharray": dash(index) }));
}

/** A drawing of Plot, ready for the page: its own style element, which the page's policy bars, stands in style.css. */
export function plain(plot: (SVGSVGElement | HTMLElement) & Partial<Plot.Plot>, label: string): SVGSVGElement | HTMLElement {
  for (const style of [...plot.querySelectorAll("style")]) style.remove();
  for (const part of plot.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // names of marks, on groups without a role
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", label);
  return plot;
}

export const kPlotStyle = { background: "none", fontSize: "12px", fontFamily: "inherit", overflow: "visible" } as const;
