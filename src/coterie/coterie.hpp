// Everything of coterie that users need, in one header.
#pragma once

// The front door: nouns and verbs.
#include "coterie/data/dataset.hpp"    // Dataset, Samples, cast_into_tasks
#include "coterie/front/bound.hpp"     // bound: what a model is guaranteed on new data
#include "coterie/front/contest.hpp"   // select_among: methods side by side on the same folds
#include "coterie/front/extend.hpp"    // extend: new tasks against a fitted model
#include "coterie/front/files.hpp"     // read_dataset, read_rows, save, load
#include "coterie/front/journals.hpp"  // SearchJournal, PathJournal: runs that can be interrupted
#include "coterie/front/learnt_kernel.hpp"   // learnt_kernel: its values between any rows
#include "coterie/front/path.hpp"            // trace_path: LambdaPath; resample_path
#include "coterie/front/run.hpp"             // Run: threads, memory, time limit, progress
#include "coterie/front/select.hpp"          // select: Selection; grid::paper, grid::best
#include "coterie/front/train.hpp"           // train: Model; calibrate
#include "coterie/front/verify.hpp"          // verify: the separate check of the certificate
#include "coterie/model/column_weights.hpp"  // column_weights: which columns matter, and to whom
#include "coterie/model/evaluation.hpp"      // evaluate: Evaluation
#include "coterie/model/model.hpp"           // Model: tasks, groups, certificate
#include "coterie/model/prediction.hpp"      // predict: Predictions
#include "coterie/model/settings.hpp"        // Settings, Lambda, Kernels, ...

// Studies: plans, cells, the resumable runner, tables.
#include "coterie/experiment/experiment.hpp"  // run_experiment: Experiment
#include "coterie/experiment/statistics.hpp"  // study_statistics: ranks and differences
#include "coterie/experiment/tables.hpp"      // write_tables

// Data to try things on, and data as files.
#include "coterie/data/description.hpp"      // describe: what is in a table
#include "coterie/data/fingerprint.hpp"      // fingerprint
#include "coterie/data/planted.hpp"          // plant_groups
#include "coterie/data/planted_weights.hpp"  // plant_weights: structure in the weights of tasks
#include "coterie/data/split.hpp"            // split_samples, select_rows
#include "coterie/io/matrix_file.hpp"        // matrices of precomputed kernels
#include "coterie/io/task_costs.hpp"         // read_task_costs: C of single tasks
#include "coterie/io/task_graph.hpp"         // read_task_graph: who is drawn to whom
#include "coterie/io/write_table.hpp"        // write_samples

// Comparing methods by their results.
#include "coterie/io/results.hpp"        // read_results: ResultBlock
#include "coterie/stats/comparison.hpp"  // compare_methods: ranks, Friedman, Holm, Nemenyi, Wilcoxon
#include "coterie/stats/paired.hpp"      // mean_interval, resampled_t_test

// Results as files, and pictures as SVG text: as_svg.
#include "coterie/report/affinity.hpp"
#include "coterie/report/comparison.hpp"  // comparison_text
#include "coterie/report/critical_difference.hpp"
#include "coterie/report/dendrogram.hpp"
#include "coterie/report/heat_map.hpp"
#include "coterie/report/path.hpp"  // path_files
#include "coterie/report/score_plot.hpp"
#include "coterie/report/selection.hpp"  // csv_grid, heat_map_of
#include "coterie/report/study.hpp"      // study_files
#include "coterie/report/weight_paths.hpp"
#include "coterie/report/weight_plane.hpp"

// Pages to look at: as_page.
#include "coterie/page/page.hpp"

// For experts: the solver on given Gram matrices (fit), and what searches are made of.
#include "coterie/kernel/gram.hpp"      // compute_grams
#include "coterie/model/calibrate.hpp"  // calibrate, by scores at hand
#include "coterie/model/predict.hpp"    // decision_values, vote
#include "coterie/mtmkl/fit.hpp"        // fit
#include "coterie/search/cross_validation.hpp"
#include "coterie/search/grid_scores.hpp"
#include "coterie/search/merge_tree.hpp"
#include "coterie/search/stability.hpp"
#include "coterie/stats/calibration.hpp"
#include "coterie/stats/coupling.hpp"
#include "coterie/stats/partitions.hpp"
#include "coterie/stats/scores.hpp"
#include "coterie/svm/svm.hpp"  // solve_svm
