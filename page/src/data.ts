// The data that the program writes into the page: docs/page.md.

/** Numbers; "inf" and "-inf" are words, what is not known is null. */
export type Value = number | "inf" | "-inf" | null;

export interface Point {
  lambda: Value;
  share: Value;
  objective: Value;
  dual: Value;
  gap: Value;
  status: string;
  train_accuracy: Value;
  held_out_accuracy: Value;
  groups: number;
  /** Of every task: the number of its group, from 1; the largest groups come first. */
  group: number[];
  /** Of every task: its row of the weights. Tasks of equal weights share one. */
  row: number[];
  weights: Value[][];
}

export interface TreeNode {
  children: number[];
  lambda: Value;
  share: Value;
  together: number;
  support?: Value;
  for_good: boolean;
}

export interface Tasks {
  name: string[];
  n: number[];
  support_vectors?: number[];
  objective?: Value[];
  bias?: Value[];
  gap?: Value[];
  status?: string[];
  scores?: Record<string, Value[]>;
}

export interface Explorer {
  certificate: string;
  method: string;
  facts: [string, string][];
  notes: string[];
  exact_groups: boolean;
  shared_in_group: string;
  weights_of: "kernels" | "features";
  kernels: string[];
  tasks: Tasks;
  points: Point[];
  map: { centre: number[]; axes: number[][]; share_of_spread: number[] } | null;
  order: number[];
  affinity: { of: string; block: number; rows: Value[][]; below_zero: boolean };
  held_out?: { name: string; n: number; errors: number; accuracy: Value };
  lambda_max?: Value;
  tree?: TreeNode[];
  by_groups?: [number, Value, number][];
  best?: number;
  chosen?: number;
  command?: string;
  resamples?: number;
}

export interface Grid {
  method: string;
  score: string;
  higher_is_better: boolean;
  judged_by: string;
  columns: { name: string; values: string[] }[];
  points: { at: number[]; score: Value; standard_error: Value; within: boolean }[];
  chosen: number;
  one_se: boolean;
  within: number;
  chosen_again: Value;
  near: Value;
  optimism: Value;
  resamples: number;
  methods: { name: string; value: Value; standard_error: Value; behind: Value; behind_error: Value; best: boolean }[];
}

export interface ScoreCell {
  mean: Value;
  standard_error: Value;
  text: string;
  error_text: string;
  best: boolean;
}

export interface Study {
  remark: string;
  alpha: number;
  cells: number;
  done: number;
  tables: {
    share: number;
    methods: string[];
    rows: { dataset: string; train: number; all: number; repetitions: string; cells: (ScoreCell | null)[] }[];
  }[];
  blocks: {
    name: string;
    share: number | null;
    control: string;
    datasets: string[];
    notes: string[];
    ranks: { method: string; rank: Value; adjusted_p: Value }[];
    critical_difference?: Value;
    friedman_p?: Value;
    differences: {
      dataset: string;
      method: string;
      measure: string;
      repetitions: number;
      mean: Value;
      low: Value;
      high: Value;
      p: Value;
    }[];
  }[];
}

interface Frame {
  version: number;
  title: string;
  made_by: string;
}
export type PageData =
  | (Frame & { kind: "model" | "path" } & Explorer)
  | (Frame & { kind: "selection"; selection: Grid } & Explorer)
  | (Frame & { kind: "study"; study: Study });

/** As a number: infinite where the word says so, NaN where nothing is known. */
export function asNumber(value: Value | undefined): number {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return value ?? NaN;
}
