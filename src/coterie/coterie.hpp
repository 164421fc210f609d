// Everything of coterie that users need, in one header.
#pragma once

#include "coterie/data/dataset.hpp"      // Samples, Task, Dataset, cast_into_tasks
#include "coterie/data/fingerprint.hpp"  // fingerprint
#include "coterie/data/planted.hpp"      // plant_groups: data to try things on
#include "coterie/data/scaling.hpp"      // Scaling
#include "coterie/data/split.hpp"        // split_samples, select_rows
#include "coterie/io/model_file.hpp"     // write_model, read_model
#include "coterie/io/table.hpp"          // read_samples
#include "coterie/io/write_table.hpp"    // write_samples
#include "coterie/kernel/gram.hpp"       // compute_grams
#include "coterie/kernel/kernel.hpp"     // parse_kernels
#include "coterie/mtmkl/fit.hpp"         // fit: the solver on given Gram matrices
#include "coterie/mtmkl/model.hpp"       // Model
#include "coterie/mtmkl/predict.hpp"     // decision_values, vote
#include "coterie/mtmkl/settings.hpp"    // TrainSettings
#include "coterie/mtmkl/train.hpp"       // prepare, fit_prepared, make_model
#include "coterie/mtmkl/verify.hpp"      // verify: the separate check of the proof
#include "coterie/svm/svm.hpp"           // solve_svm
