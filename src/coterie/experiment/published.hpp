// A cell under the protocol behind the paper's numbers: the paper's iteration, and the largest test score over its iterates.
//
// The iteration is Algorithm 1 of the paper, from theta_t = 1/M, for k = 1, 2, ..
//
//   C_t      <-  the C whose SVM with kernel sum_m theta_t^m K_t^m has the largest validation score, the smallest of equal ones
//   q_t^m    <-  -1/2 alpha_t' Y_t K_t^m Y_t alpha_t,   alpha_t of that SVM
//   theta    <-  argmin  sum_t q_t'theta_t + lambda sum_{t<s} ||theta_t - theta_s||        theta_t in the simplex            (*)
//
// It takes the minimiser of a linear model as it is, and so goes round between corners; with C chosen anew at every step there is
// not even one objective that it could lower, nor a gap to state. docs/maths.md, "Where the published text differs", has what is wrong with it.
//
// The authors' script (github.com/niloofaryousefi/ECML2015) reports, per split:
//
//   lambda   among its list, the one whose best of 10 iterates has the largest validation score, the smallest of equal ones
//   score    the largest test score of 15 iterates at that lambda
//
// each score the mean over tasks, by SVMs at C = 1: the C that was chosen goes into q alone. So the iterate is chosen on test rows.
//
// What was assumed, where paper and script differ from each other or cannot be followed:
//   - (*) is solved to its optimum, as Algorithm 1 says. Algorithm 2, its solver, diverges as printed, and the solver of the script cannot
//     be run as it is stored: the proximal map returns nothing, and is given the argument of one task of a pair only.
//   - Validation scores are of SVMs and kernels at one theta. The script trains at theta_k and predicts validation rows at theta_{k+1}.
//   - Rows are split as for every other method of the study, and features scaled as the plan says; the script draws rows of every task by
//     themselves, and does not scale.
//   - The score is that of the plan. For landmine the script has accuracies, which cannot be what is printed.
#pragma once

#include <optional>

#include "coterie/experiment/cell.hpp"

namespace coterie {

struct PublishedSettings {
  Index searched = 10;  // iterates that lambda is chosen by
  Index scored = 15;    // iterates whose largest test score counts
};

// The result has the score of the script, and as `readings` what else the same iterates give:
//
//   script            as above
//   last              lambda chosen on validation rows by the last iterate, SVMs at C = 1: the answer of the algorithm, nothing chosen on test rows
//   script, chosen C  as script, by SVMs at the C that validation rows choose, for every task and iterate
//   last, chosen C    as last, in the same way
//   validation        lambda, C and iterate chosen on validation rows
//   largest           over all lambdas and iterates, and C of every task: all chosen on test rows. No other reading is larger.
//
// Nothing when the run said stop. The method is the paper's; its grid has numbers for lambda and one norm and normalisation.
std::optional<CellResult> run_published_cell(const Samples& samples, const Parts& parts,
                                             const DatasetPlan& dataset, const MethodPlan& method,
                                             const Run& run = {},
                                             const PublishedSettings& settings = {});

// Why a method cannot be run so, as a part of a sentence; nothing where it can.
std::optional<std::string> unfit_for_published(const MethodPlan& method);

}  // namespace coterie
