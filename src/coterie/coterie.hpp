// Everything of coterie that users need, in one header.
#pragma once

#include "coterie/model/method.hpp"         // the methods to compare with, and their parameters
#include "coterie/model/train.hpp"   // prepare_method, fit_method, make_model
#include "coterie/model/verify_method.hpp"  // the separate check of any method's proof
#include "coterie/data/dataset.hpp"            // Samples, Task, Dataset, cast_into_tasks
#include "coterie/data/fingerprint.hpp"        // fingerprint
#include "coterie/data/planted.hpp"            // plant_groups: data to try things on
#include "coterie/data/planted_weights.hpp"    // plant_weights: structure in the weights of tasks
#include "coterie/data/scaling.hpp"            // Scaling
#include "coterie/data/split.hpp"              // split_samples, select_rows
#include "coterie/io/model_file.hpp"           // write_model, read_model
#include "coterie/io/table.hpp"                // read_samples
#include "coterie/io/write_table.hpp"          // write_samples
#include "coterie/kernel/gram.hpp"             // compute_grams
#include "coterie/kernel/kernel.hpp"           // parse_kernels
#include "coterie/model/calibrate.hpp"         // calibrate: probabilities
#include "coterie/model/extend.hpp"            // extend: new tasks against a fitted model
#include "coterie/mtmkl/fit.hpp"               // fit: the solver on given Gram matrices
#include "coterie/model/model.hpp"             // Model
#include "coterie/model/predict.hpp"           // decision_values, vote
#include "coterie/model/settings.hpp"          // Settings
#include "coterie/model/train.hpp"             // prepare, fit_prepared, make_model
#include "coterie/model/verify.hpp"            // verify: the separate check of the proof
#include "coterie/report/affinity.hpp"         // pictures as SVG text: as_svg
#include "coterie/report/dendrogram.hpp"
#include "coterie/report/heat_map.hpp"
#include "coterie/report/weight_paths.hpp"
#include "coterie/search/choice.hpp"  // rank_points, judge_choice
#include "coterie/search/cross_validation.hpp"
#include "coterie/search/grid_scores.hpp"  // score_points: cross-validated scores of a grid
#include "coterie/stats/calibration.hpp"   // fit_platt, fit_isotonic
#include "coterie/stats/coupling.hpp"      // couple_pairs
#include "coterie/stats/partitions.hpp"    // adjusted_rand_index
#include "coterie/stats/scores.hpp"        // accuracy, auc, log_loss
#include "coterie/svm/svm.hpp"             // solve_svm
