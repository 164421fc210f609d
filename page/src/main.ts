// The page: reads the data that stand in the file and puts the views of their kind into it.
import { alongFigure } from "./along";
import { controls } from "./controls";
import type { Explorer, PageData } from "./data";
import { h, percent, plural } from "./dom";
import { gridFigure, methodsTable } from "./grid";
import { mapFigure } from "./map";
import { matrixFigure } from "./matrix";
import { State } from "./state";
import { studyViews } from "./study";
import { groupList, taskTable } from "./tasks";
import { treeFigure } from "./tree";
import { weightsAlong, weightsOfModel } from "./weights";

function explorerViews(data: Explorer, first: HTMLElement[]): HTMLElement[] {
  const state = new State(data);
  const isPath = data.tree !== undefined;
  const short = /ended short/.test(data.certificate);
  const head = [
    h("p", { class: short ? "certificate short" : "certificate", id: "certificate" }, data.certificate),
    data.held_out ? h("p", { id: "held-out" }, `On ${data.held_out.name}: ${data.held_out.n - data.held_out.errors} of ${plural(data.held_out.n, "row")} right, ${percent(data.held_out.accuracy)}.`) : null,
    data.notes.length > 0 ? h("ul", { class: "notes" }, ...data.notes.map((note) => h("li", {}, note))) : null,
    h("details", {}, h("summary", {}, "Settings"), h("ul", { class: "facts" }, ...data.facts.map(([name, value]) => h("li", {}, `${name}: `, h("code", {}, value))))),
  ].filter((node): node is NonNullable<typeof node> => node !== null);
  const views = h("div", { class: "views" }, ...first);
  const figures = [
    isPath && data.tree!.length > 0 ? treeFigure(state).element : null,
    groupList(state),
    isPath ? weightsAlong(state).element : weightsOfModel(state).element,
    mapFigure(state)?.element ?? null,
    state.count > 1 ? matrixFigure(state).element : null,
    isPath ? alongFigure(state).element : null,
    taskTable(state),
  ];
  for (const figure of figures) if (figure) views.append(figure);
  return [...head, ...(isPath && data.points.length > 1 ? [controls(state)] : []), views];
}

function start(): void {
  const page = document.getElementById("page")!;
  const data = JSON.parse(document.getElementById("data")!.textContent!) as PageData;
  const kinds = { model: "Model", path: "Path of lambda", selection: "Search", study: "" };
  page.replaceChildren(h("h1", {}, kinds[data.kind] ? `${kinds[data.kind]}: ${data.title}` : data.title));
  if (data.kind === "study") page.append(...studyViews(data.study));
  else if (data.kind === "selection") page.append(...explorerViews(data, [gridFigure(data.selection).element, methodsTable(data.selection)].filter((one): one is HTMLElement => one !== null)));
  else page.append(...explorerViews(data, []));
  page.append(h("p", {}, h("small", {}, `Made by ${data.made_by}. This file holds all that it shows and asks no network for anything.`)));
  page.dataset.ready = performance.now().toFixed(0); // milliseconds; a test reads it
}

start();
