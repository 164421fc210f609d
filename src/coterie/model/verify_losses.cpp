#include "coterie/model/verify_losses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coterie/model/verify_sums.hpp"

namespace coterie::linear_check {

namespace {

// Loss and pull at a margin.
struct LossAt {
  Known value, pull;
};

LossAt loss_at(Loss loss, const Known& margin) {
  const Real m = margin.value;
  const double e = margin.off;
  if (loss == Loss::logistic) {
    const Real value = m < -60 ? -m : std::log1p(std::exp(-m)), pull = 1 / (1 + std::exp(m));
    // A margin that is lower by e has a pull that is larger by a factor of exp(e) at most.
    const double steepest = std::min(1.0, small(pull) * std::exp(std::min(e, 700.0)));
    return {{value, steepest * e + 32 * u_long * small(value)},
            {pull, steepest * e + 32 * u_long * small(pull)}};
  }
  const Real left = 1 - m;
  const double off = e + 2 * u_long * small(std::abs(left));
  if (loss != Loss::square && left < -off) return {};
  const Real pull = loss == Loss::square ? left : std::max<Real>(0, left);
  const double size = small(std::abs(pull));
  return {{pull * pull / 2, (size + off) * off + 2 * u_long * size * size}, {pull, off}};
}

// phi*(-s)
Known conjugate_of_loss(Loss loss, const Known& s) {
  const Real x = s.value;
  const double size = small(std::abs(x)), off = s.off;
  if (loss != Loss::logistic)
    return {x * x / 2 - x,
            (small(std::abs(x - 1)) + off) * off + 4 * u_long * (size * size + size)};
  const Real value = (x > 0 ? x * std::log(x) : 0) + (x < 1 ? (1 - x) * std::log1p(-x) : 0);
  // Within [x - off, x + off] the slope is at most the logit at its ends; where these leave (0, 1), entropies bound the change.
  const double low = size - off, high = size + off;
  double change = 0;
  if (low > 0 && high < 1) {
    change =
        off * std::max(std::abs(std::log(low / (1 - low))), std::abs(std::log(high / (1 - high))));
  } else {
    const double range = std::min(0.5, 2 * off);
    if (range > 0) change = -range * std::log(range) - (1 - range) * std::log1p(-range);
  }
  return {value, change + 16 * u_long * small(std::abs(value))};
}
// Pulls that balance.
void balance(Loss loss, const Vector& y, const std::vector<double>& c, std::vector<Known>& s) {
  const double rounding = (static_cast<double>(s.size()) + 8) * u_long;
  Known positive, negative;
  Real weight = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    Known& side = y[static_cast<Index>(i)] > 0 ? positive : negative;
    side.value += c[i] * s[i].value;
    side.off += c[i] * (s[i].off + rounding * small(std::abs(s[i].value)));
    weight += c[i];
  }
  const double both = positive.off + negative.off;
  const Real mean = (positive.value - negative.value) / weight;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double sign = y[static_cast<Index>(i)];
    if (loss == Loss::square) {
      s[i].off += both / small(weight) + rounding * small(std::abs(mean) + std::abs(s[i].value));
      s[i].value -= sign * mean;
      continue;
    }
    const Known& own = sign > 0 ? positive : negative;
    const Known& other = sign > 0 ? negative : positive;
    const Real factor = own.value > other.value ? other.value / own.value : 1;
    double factor_off = 0;
    if (own.value + both > other.value) {
      const double surely = small(own.value) - own.off;
      factor_off = surely > 0 ? std::min(1.0, (other.off + small(factor) * own.off) / surely) : 1;
    }
    const double size = small(s[i].value) + s[i].off;
    s[i].value *= factor;
    s[i].off = small(factor) * s[i].off + size * factor_off + 4 * u_long * small(s[i].value);
  }
}

// Of one task: its loss, and the pulls of its samples before they balance.
struct TaskLoss {
  Known primal;
  std::vector<Known> pull;
};

TaskLoss loss_of_task(const Model& model, const Stated& stated, Index t) {
  const Loss loss = model.settings.loss;
  const Index d = stated.W.cols();
  const bool inexact = !stated.feature_error.empty();
  const Task& samples = stated.data->tasks[at(t)];
  const std::vector<double>& c = stated.c[at(t)];
  const double w_size = small(std::sqrt(product(stated.W, t, stated.W, t)));
  TaskLoss out;
  for (Index i = 0; i < samples.size(); ++i) {
    const Index row = samples.rows[at(i)];
    Real f = model.tasks[at(t)].bias, size = std::abs(f), squared = 0;
    for (Index k = 0; k < d; ++k) {
      const Real x = stated.x(row, k), term = x * stated.W(t, k);
      f += term;
      size += std::abs(term);
      if (inexact) squared += x * x;
    }
    Known margin{samples.y[i] * f, (static_cast<double>(d) + 4) * u_long * small(size)};
    if (inexact)
      margin.off +=
          w_size * stated.feature_error[at(row)] +
          stated.weight_error[at(t)] * (small(std::sqrt(squared)) + stated.feature_error[at(row)]);
    const LossAt here = loss_at(loss, margin);
    out.primal.value += c[at(i)] * here.value.value;
    out.primal.off += c[at(i)] * here.value.off;
    out.pull.push_back(here.pull);
  }
  out.primal.off += (static_cast<double>(samples.size()) + 8) * u_long * small(out.primal.value);
  return out;
}

// The dual value of balanced pulls s, and row t of Z. Returns how far that row may be off, as a length.
Real add_pulls(Loss loss, const Stated& stated, Index t, const std::vector<Known>& s, Losses& all) {
  const Index T = stated.W.rows(), d = stated.W.cols();
  const Task& samples = stated.data->tasks[at(t)];
  const std::vector<double>& c = stated.c[at(t)];
  const double n = static_cast<double>(samples.size());
  std::vector<double> z_off(at(d), 0);
  double from_features = 0;
  for (Index i = 0; i < samples.size(); ++i) {
    const Index row = samples.rows[at(i)];
    const Known here = conjugate_of_loss(loss, s[at(i)]);
    all.dual.value -= c[at(i)] * here.value;
    all.dual.off += c[at(i)] * (here.off + (n + static_cast<double>(T) + 8) * u_long *
                                               small(std::abs(here.value)));
    const double pull = small(std::abs(s[at(i)].value));
    const double off = s[at(i)].off + (n + 8) * u_long * pull;
    for (Index k = 0; k < d; ++k) {
      const Real x = stated.x(row, k);
      all.Z(t, k) += c[at(i)] * s[at(i)].value * samples.y[i] * x;
      z_off[at(k)] += c[at(i)] * off * small(std::abs(x));
    }
    if (!stated.feature_error.empty())
      from_features += c[at(i)] * (pull + off) * stated.feature_error[at(row)];
  }
  Real squared = 0;
  for (const double off : z_off) squared += static_cast<Real>(off) * off;
  return std::sqrt(squared) + from_features;
}

void check_loss(const Model& model, Index t, const Known& primal, Verification& check) {
  const TaskModel& task = model.tasks[at(t)];
  const Certificate& proof = model.certificate();
  const double own = primal.off + 4 * u * small(primal.value);
  if (!(std::abs(small(primal.value) - task.objective) <=
        compared_within(proof, proof.bound * proof.scale(), own)))
    check.findings.push_back(fmt::format("the loss of task '{}' is {:.10g}, not {:.10g} as stated",
                                         task.name, small(primal.value), task.objective));
}
}  // namespace

Losses losses_of(const Model& model, const Stated& stated, Verification& check) {
  const Loss loss = model.settings.loss;
  Losses all;
  all.Z = Table::Zero(stated.W.rows(), stated.W.cols());
  Real Z_off = 0;
  for (Index t = 0; t < stated.W.rows(); ++t) {
    auto [primal, pull] = loss_of_task(model, stated, t);
    balance(loss, stated.data->tasks[at(t)].y, stated.c[at(t)], pull);
    const Real off = add_pulls(loss, stated, t, pull, all);
    Z_off += off * off;
    all.primal.value += primal.value;
    all.primal.off += primal.off;
    check_loss(model, t, primal, check);
  }
  all.Z_off = small(std::sqrt(Z_off));
  return all;
}

}  // namespace coterie::linear_check
