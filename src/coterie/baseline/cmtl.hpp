// CMTL: clustered multi-task learning of Jacob, Bach and Vert (2008), its convex relaxation with the matrix of clusters eliminated,
// docs/methods.md (12).
//
// With M the projector on the indicators of r clusters and U = 11'/T that on constants, clusters that are known cost
//
//   tr W' (mean U + between (M - U) + within (I - M)) W:
//
// the size of the mean of all w_t, of the differences of cluster means from it, and of those of tasks from their cluster's mean.
// Unknown clusters are relaxed to a matrix Sigma between 1/within and 1/between with the trace that r clusters would give it,
//
//   R(W) = lambda ( mean T ||w_mean||^2 + min_Sigma tr (W - U W)' Sigma^-1 (W - U W) ).
//
// The best Sigma shares its eigenvectors with W: the minimum is the squared box norm (math/clip.hpp) of the T - 1 singular values of
// the centred W, with alpha = 1/within, beta = 1/between and budget (T - r) alpha + (r - 1) beta.
#pragma once

#include "coterie/baseline/linear.hpp"
#include "coterie/math/clip.hpp"

namespace coterie {

struct CmtlParameters {
  double lambda = 0.1;
  Index clusters = 2;  // r
  double mean = 1, between = 1, within = 10;
  bool centred = true;  // false: the form of MALSAR, with `clusters` directions of the whole of W
  Index seed = 1;       // of the k-means that reads the clusters
};

// Throws InputError for parameters that T tasks cannot have.
class CmtlPenalty : public Penalty {
 public:
  CmtlPenalty(const CmtlParameters& parameters, Index T);
  double value(const Matrix& W) override;
  Matrix prox(const Matrix& Z, double step, double accuracy) override;
  double conjugate(const Matrix& Z, double slack) override;
  PenaltyProof prove(const Matrix& W, const Matrix& Z) override;
  // Eigenvalues (descending) and eigenvectors (columns) of the relaxed matrix of clusters, Sigma^-1 = between M + within (I - M), on
  // the directions that W has.
  struct Relaxed {
    Vector values;
    Matrix vectors;
  };
  Relaxed matrix_of_clusters(const Matrix& W) const;

 private:
  void add_box(const Matrix& W, const Matrix& Z, PenaltyProof& proof) const;

  CmtlParameters parameters_;
  Index directions_;  // T - 1, or T when not centred
  Box box_;
};

// Clusters are read by k-means from the rows of the leading eigenvectors of M, each by the root of its eigenvalue.
LinearFit fit_cmtl(const LinearProblem& problem, const CmtlParameters& parameters,
                   const LinearSettings& settings, const LinearStart& start = {},
                   const ProgressCallback& progress = {});

}  // namespace coterie
