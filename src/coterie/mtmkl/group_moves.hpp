// Newton's matrix, docs/maths.md (36), on the moves that are common to each group, factorised. The unknowns of a group are its kernels
// that are free in every member, without the pivot, which yields to them. With every task a group of its own this is (36) itself.
#pragma once

#include <vector>

#include "coterie/mtmkl/newton_matrix.hpp"

namespace coterie {

class GroupMoves {
 public:
  // False: there are so many that a factor would cost more than it saves.
  bool factorise(const NewtonMatrix& H, const Groups& groups);

  // y += the common moves that solve for the right-hand side x; groups as factorised
  void add_solution(const Groups& groups, const Matrix& x, Matrix& y);

 private:
  struct Basis {
    std::vector<Index> kernels;
    std::vector<double> share;  // what the pivot yields
    Index pivot = -1;
    Index first = 0;  // unknown of the system
  };

  Index choose_bases(const NewtonMatrix& H, const Groups& groups);
  void add_tasks(const NewtonMatrix& H, const Groups& groups);
  void add_edges(const NewtonMatrix& H, const Groups& groups);
  void add_block(const Basis& a, const Matrix& own);
  void add_pair(Index g, Index h, double w, double linear);
  void add_edge(const Basis& a, const std::vector<double>& d_a, const Basis& b,
                const std::vector<double>& d_b, double w, double linear);

  std::vector<Basis> basis_;     // [group]
  std::vector<Index> group_of_;  // [task]
  Matrix mean_;                  // groups x padded M, of theta
  Eigen::MatrixXd matrix_;       // the lower half
  Vector scale_;                 // of its unknowns
  Eigen::MatrixXd factor_;
  Vector solution_;
  Eigen::RowVectorXd d_;           // between the means of a pair
  std::vector<double> d_a_, d_b_;  // along the moves of its ends
};

}  // namespace coterie
