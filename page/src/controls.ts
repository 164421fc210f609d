// The slider over lambda, "give me k groups", and the command that makes that model.
import { asNumber } from "./data";
import { datum, h, percent, plural, short } from "./dom";
import type { State } from "./state";

/** In words, for people and for screen readers. */
function pointWords(state: State): string {
  const point = state.point;
  const parts = [`lambda ${short(point.lambda)}`];
  const share = asNumber(point.share);
  if (Number.isFinite(share)) parts.push(`${short(share)} of lambda_max`);
  parts.push(plural(point.groups, "group"));
  if (point.held_out_accuracy !== null) parts.push(`held out ${percent(point.held_out_accuracy)}`);
  return parts.join(", ");
}

/** The number of groups nearest to the one asked for, the smaller of two, as the program chooses. */
export function nearestGroups(by: [number, unknown, number][], wanted: number): number {
  let best = 0;
  for (let k = 1; k < by.length; ++k) {
    const gain = Math.abs(by[best][0] - wanted) - Math.abs(by[k][0] - wanted);
    if (gain > 0 || (gain === 0 && by[k][0] < by[best][0])) best = k;
  }
  return best;
}

export function controls(state: State): HTMLElement {
  const { data } = state;
  const last = data.points.length - 1;
  // To the right lambda grows, and tasks join.
  const slider = h("input", { type: "range", id: "lambda", min: 0, max: last, step: 1 });
  const said = h("output", { id: "lambda-said", for: "lambda" });
  slider.addEventListener("input", () => {
    asked = null;
    state.index = last - Number(slider.value);
  });

  const by = data.by_groups ?? [];
  const field = h("input", { type: "number", id: "groups-wanted", min: 1, max: state.count, step: 1 });
  const answer = h("span", { id: "groups-found", role: "status" });
  const command = h("code", { id: "command" });
  const copy = h("button", { type: "button" }, "Copy");
  let asked: { wanted: number; entry: [number, unknown, number] } | null = null;

  const tell = () => {
    slider.value = String(last - state.index);
    const words = pointWords(state);
    slider.setAttribute("aria-valuetext", words);
    said.textContent = words + (data.best === state.index ? " (best on held-out rows)" : "");
    const groups = asked ? asked.entry[0] : state.point.groups;
    const lambda = (asked ? asked.entry[1] : state.point.lambda) as typeof state.point.lambda;
    answer.replaceChildren();
    if (asked) {
      answer.append(asked.wanted !== groups ? `no point has ${asked.wanted}; the nearest is ${plural(groups, "group")} at lambda ` : "at lambda ", datum(lambda));
      if (state.point.lambda !== lambda) answer.append("; the page shows the nearest point that it has");
    } else {
      field.value = String(groups);
    }
    if (data.command) command.textContent = `${data.command} --lambda ${lambda} -o groups-${groups}.h5`;
  };
  field.addEventListener("input", () => {
    const wanted = Math.round(Number(field.value));
    if (!field.value || !(wanted >= 1) || by.length === 0) return;
    asked = { wanted, entry: by[nearestGroups(by, wanted)] };
    state.index = asked.entry[2];
    tell();
  });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent ?? "");
      copy.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(command); // for a copy by hand
      copy.textContent = "Selected";
    }
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  });
  state.on((change) => {
    if (change === "point") tell();
  });
  tell();
  return h("div", { class: "controls", role: "group", "aria-label": "Point of the path" },
    h("div", { class: "slide" }, h("label", { for: "lambda" }, "lambda"), h("small", {}, "each alone"), slider, h("small", {}, "all share"), said),
    h("div", { class: "ask" }, h("label", { for: "groups-wanted" }, "Give me"), field, "groups", answer),
    data.command ? h("div", { class: "ask command" }, h("span", {}, "This model: "), command, copy) : null);
}
