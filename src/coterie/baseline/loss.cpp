#include "coterie/baseline/loss.hpp"

#include <cmath>
#include <limits>

namespace coterie {

std::string to_string(Loss loss) {
  switch (loss) {
    case Loss::squared_hinge:
      return "squared-hinge";
    case Loss::logistic:
      return "logistic";
    case Loss::square:
      return "square";
  }
  return {};
}

std::optional<Loss> loss_from(const std::string& text) {
  for (const Loss loss : {Loss::squared_hinge, Loss::logistic, Loss::square})
    if (text == to_string(loss)) return loss;
  return std::nullopt;
}

double loss_value(Loss loss, double margin) {
  switch (loss) {
    case Loss::squared_hinge: {
      const double short_by = std::max(0.0, 1 - margin);
      return short_by * short_by / 2;
    }
    case Loss::logistic:
      return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
    case Loss::square:
      return (1 - margin) * (1 - margin) / 2;
  }
  return 0;
}

double loss_pull(Loss loss, double margin) {
  switch (loss) {
    case Loss::squared_hinge:
      return std::max(0.0, 1 - margin);
    case Loss::logistic:
      return margin > 0 ? std::exp(-margin) / (1 + std::exp(-margin)) : 1 / (1 + std::exp(margin));
    case Loss::square:
      return 1 - margin;
  }
  return 0;
}

double loss_curvature(Loss loss, double margin) {
  switch (loss) {
    case Loss::squared_hinge:
      return margin < 1 ? 1 : 0;
    case Loss::logistic: {
      const double e = std::exp(-std::abs(margin));
      return e / ((1 + e) * (1 + e));
    }
    case Loss::square:
      return 1;
  }
  return 0;
}

double loss_conjugate(Loss loss, double pull) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto entropy = [](double p) { return p > 0 ? p * std::log(p) : 0; };
  switch (loss) {
    case Loss::squared_hinge:
      return pull < 0 ? infinity : pull * (pull / 2 - 1);
    case Loss::logistic:
      return pull < 0 || pull > 1 ? infinity : entropy(pull) + entropy(1 - pull);
    case Loss::square:
      return pull * (pull / 2 - 1);
  }
  return 0;
}

}  // namespace coterie
