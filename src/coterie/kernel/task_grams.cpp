#include "coterie/kernel/task_grams.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>

#include "coterie/math/lanes.hpp"

namespace coterie {

namespace {

constexpr Index kRowsTogether = 64;  // rows of roots that are fetched together

// Sixteen entries: their powers stay in registers from the root to the end of a chain.
constexpr Index kChunk = 4 * kLanes;
struct Chunk {
  std::array<Lanes, 4> part;

  static Chunk zero() { return {{Lanes{}, Lanes{}, Lanes{}, Lanes{}}}; }
  static Chunk read(const double* from) {
    return {{load(from), load(from + kLanes), load(from + 2 * kLanes), load(from + 3 * kLanes)}};
  }
  void write(double* to) const {
    for (std::size_t k = 0; k < 4; ++k) store(to + static_cast<Index>(k) * kLanes, part[k]);
  }
  void operator*=(const Chunk& other) {
    for (std::size_t k = 0; k < 4; ++k) part[k] *= other.part[k];
  }
  void add(double weight, const Chunk& other) {
    for (std::size_t k = 0; k < 4; ++k) part[k] += weight * other.part[k];
  }
};

[[gnu::always_inline]] inline void raise(Chunk& x, Index exponent) {
  if (exponent == 4) {  // the next Gaussian of a chain
    x *= x;
    x *= x;
    return;
  }
  for (; exponent % 2 == 0; exponent /= 2) x *= x;
  if (exponent == 1) return;
  Chunk power = x;
  for (exponent /= 2; exponent > 0; exponent /= 2) {
    power *= power;
    if (exponent % 2 == 1) x *= power;
  }
}

// Calls body(begin, chunk_of) for all chunks of `count` entries: chunk_of(values) reads them, with zeros after the end.
template <typename Body>
[[gnu::always_inline]] inline void for_each_chunk(Index count, const Body& body) {
  Index begin = 0;
  for (; begin + kChunk <= count; begin += kChunk)
    body(begin, kChunk, [&](const double* values) { return Chunk::read(values + begin); });
  if (begin == count) return;
  body(begin, count - begin, [&](const double* values) {
    std::array<double, kChunk> rest{};
    std::copy(values + begin, values + count, rest.begin());
    return Chunk::read(rest.data());
  });
}

}  // namespace

KernelPowers::KernelPowers(std::vector<KernelTerm> terms) : terms_(std::move(terms)) {
  assert(
      std::all_of(terms_.begin(), terms_.end(), [](const KernelTerm& t) { return t.power >= 1; }));
  Index roots = 0;
  for (const KernelTerm& term : terms_) roots = std::max(roots, term.root + 1);
  chains_.resize(static_cast<std::size_t>(roots));
  std::vector<Index> order(terms_.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return term(a).power < term(b).power; });
  for (const Index m : order) {
    std::vector<Link>& chain = chains_[static_cast<std::size_t>(term(m).root)];
    const Index before = chain.empty() ? 1 : term(chain.back().kernel).power;
    const bool follows = term(m).power % before == 0;
    chain.push_back(
        {m, follows ? term(m).power / before : term(m).power, !follows || chain.empty(), 0});
  }
  std::size_t place = 0;
  for (std::vector<Link>& chain : chains_)
    for (Link& link : chain) link.place = place++;
}

KernelPowers::Recipe KernelPowers::recipe(ConstVectorRef theta) const {
  Recipe recipe;
  recipe.weight.resize(terms_.size());
  for (const std::vector<Link>& chain : chains_) {
    Index length = 0;
    for (std::size_t k = 0; k < chain.size(); ++k) {
      const double weight = theta[chain[k].kernel];
      recipe.weight[chain[k].place] = weight > 0 ? weight / term(chain[k].kernel).divisor : 0;
      if (weight > 0) length = static_cast<Index>(k) + 1;
    }
    recipe.length.push_back(length);
  }
  return recipe;
}

void KernelPowers::mix(const Recipe& recipe, const double* const* values, Index count,
                       double* out) const {
  const FlushSubnormals guard;
  for_each_chunk(
      count, [&](Index begin, Index size, const auto& chunk_of) __attribute__((always_inline)) {
        Chunk sum = Chunk::zero();
        for (std::size_t r = 0; r < chains_.size(); ++r) {
          if (recipe.length[r] == 0) continue;
          const Chunk root = chunk_of(values[r]);
          Chunk x = root;
          for (std::size_t k = 0; k < static_cast<std::size_t>(recipe.length[r]); ++k) {
            const Link& link = chains_[r][k];
            if (link.from_root) x = root;
            raise(x, link.exponent);
            const double weight = recipe.weight[link.place];
            if (weight > 0) sum.add(weight, x);
          }
        }
        if (size == kChunk) {
          sum.write(out + begin);
        } else {
          std::array<double, kChunk> rest;
          sum.write(rest.data());
          std::copy_n(rest.begin(), size, out + begin);
        }
      });
}

void KernelPowers::products(const double* const* values, const double* beta, Index count,
                            double* out) const {
  const FlushSubnormals guard;
  constexpr Index kMany = 32;
  assert(M() <= 1 << 20);
  std::array<Lanes, kMany> few;
  std::vector<Lanes> many;
  Lanes* sums = few.data();
  if (M() > kMany) {
    many.resize(terms_.size());
    sums = many.data();
  }
  std::fill_n(sums, terms_.size(), Lanes{});
  for_each_chunk(count, [&](Index, Index, const auto& chunk_of) {
    const Chunk b = chunk_of(beta);
    for (std::size_t r = 0; r < chains_.size(); ++r) {
      const Chunk root = chunk_of(values[r]);
      Chunk x = root;
      for (const Link& link : chains_[r]) {
        if (link.from_root) x = root;
        raise(x, link.exponent);
        sums[link.kernel] += (x.part[0] * b.part[0] + x.part[1] * b.part[1]) +
                             (x.part[2] * b.part[2] + x.part[3] * b.part[3]);
      }
    }
  });
  for (Index m = 0; m < M(); ++m) out[m] = sum_of(sums[m]) / term(m).divisor;
}

TaskGrams::TaskGrams(std::vector<Matrix> matrices) {
  std::vector<KernelTerm> terms;
  for (Index m = 0; m < std::ssize(matrices); ++m) terms.push_back({.root = m});
  samples_.resize(matrices.empty() ? 0 : static_cast<std::size_t>(matrices.front().rows()));
  std::iota(samples_.begin(), samples_.end(), Index{0});
  in_order_ = true;
  powers_ = std::make_shared<KernelPowers>(std::move(terms));
  source_ = std::make_shared<StoredRoots>(std::move(matrices));
  find_largest_roots();
}

TaskGrams::TaskGrams(std::shared_ptr<const RootSource> source,
                     std::shared_ptr<const KernelPowers> powers, std::vector<Index> samples)
    : source_(std::move(source)), powers_(std::move(powers)), samples_(std::move(samples)) {
  in_order_ = true;
  for (std::size_t i = 0; i < samples_.size(); ++i)
    in_order_ = in_order_ && samples_[i] == static_cast<Index>(i);
  find_largest_roots();
}

std::vector<Index> TaskGrams::places(std::span<const Index> samples) const {
  std::vector<Index> out(samples.size());
  std::transform(samples.begin(), samples.end(), out.begin(),
                 [&](Index i) { return samples_[static_cast<std::size_t>(i)]; });
  return out;
}

void TaskGrams::root_values(std::span<const Index> rows, std::span<const Index> columns,
                            double* const* out, Index stride) const {
  source_->values(places(rows), places(columns), out, stride);
}

void TaskGrams::root_diagonals(std::span<const Index> rows, double* const* out) const {
  source_->diagonals(places(rows), out);
}

void TaskGrams::find_largest_roots() {
  std::vector<std::vector<double>> roots(static_cast<std::size_t>(powers_->roots()),
                                         std::vector<double>(samples_.size()));
  std::vector<double*> out;
  for (std::vector<double>& root : roots) out.push_back(root.data());
  source_->diagonals(samples_, out.data());
  for (const std::vector<double>& root : roots) {
    double most = 0;
    for (const double value : root)
      most = std::isnan(value) ? value : std::max(most, std::abs(value));
    largest_roots_.push_back(most);
  }
}

Vector TaskGrams::largest_values() const {
  Vector values(M());
  for (Index m = 0; m < M(); ++m) {
    const KernelTerm& term = powers_->term(m);
    const double root = largest_roots_[static_cast<std::size_t>(term.root)];
    values[m] = std::pow(root, static_cast<double>(term.power)) / std::abs(term.divisor);
  }
  return values;
}

void TaskGrams::inherit(const TaskGrams& whole, std::span<const Index> samples) {
  const auto some_of = [&](const std::vector<Index>& all) {
    std::vector<Index> some;
    for (const Index i : samples) some.push_back(all[static_cast<std::size_t>(i)]);
    return some;
  };
  if (whole.exact_) define_by(whole.exact_, some_of(whole.exact_rows_));
  if (!whole.part_.empty()) part_ = some_of(whole.part_);
  across_ = whole.across_;
  indefinite_ = whole.indefinite_;
}

TaskGrams TaskGrams::parted(std::vector<Index> part, double across) const {
  assert(std::ssize(part) == n() && across >= 0 && across <= 1);
  TaskGrams out = *this;
  if (across == 1) return out;
  out.part_ = std::move(part);
  out.across_ = across;
  return out;
}

Matrix TaskGrams::kernel(Index m) const {
  Vector unit = Vector::Zero(M());
  unit[m] = 1;
  return mixed(unit);
}

Matrix TaskGrams::mixed(ConstVectorRef theta) const {
  const KernelPowers::Recipe recipe = powers_->recipe(theta);
  Matrix K(n(), n());
  std::vector<Matrix> roots(static_cast<std::size_t>(powers_->roots()));
  std::vector<double*> out(roots.size(), nullptr);
  std::vector<const double*> values(roots.size(), nullptr);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    if (!recipe.needs(static_cast<Index>(r))) continue;
    roots[r].resize(std::min(kRowsTogether, n()), n());
    out[r] = roots[r].data();
  }
  for (Index top = 0; top < n(); top += kRowsTogether) {
    const Index count = std::min(kRowsTogether, n() - top);
    const auto some = std::span<const Index>(samples_).subspan(static_cast<std::size_t>(top),
                                                               static_cast<std::size_t>(count));
    source_->values(some, samples_, out.data(), n());
    for (Index k = 0; k < count; ++k) {
      for (std::size_t r = 0; r < roots.size(); ++r)
        values[r] = out[r] ? out[r] + k * n() : nullptr;
      powers_->mix(recipe, values.data(), n(), K.row(top + k).data());
      part_row(top + k, K.row(top + k).data());
    }
  }
  return K;
}

TaskGrams slice(const TaskGrams& whole, std::span<const Index> samples) {
  std::vector<Index> places;
  for (const Index i : samples) places.push_back(whole.samples()[static_cast<std::size_t>(i)]);
  const bool stored = whole.n() > 0 && whole.source().stored_row(0, 0) != nullptr;
  if (!stored) {
    TaskGrams some(whole.shared_source(), whole.shared_powers(), std::move(places));
    some.inherit(whole, samples);
    return some;
  }
  const Index n = std::ssize(places);
  std::vector<Matrix> roots(static_cast<std::size_t>(whole.powers().roots()), Matrix(n, n));
  std::vector<double*> out;
  for (Matrix& root : roots) out.push_back(root.data());
  whole.source().values(places, places, out.data(), n);
  std::iota(places.begin(), places.end(), Index{0});
  TaskGrams some(std::make_shared<StoredRoots>(std::move(roots)), whole.shared_powers(),
                 std::move(places));
  some.inherit(whole, samples);
  return some;
}

Vector cross_decisions(const TaskGrams& whole, std::span<const Index> rows,
                       std::span<const Index> columns, ConstVectorRef theta, ConstVectorRef beta) {
  const KernelPowers& powers = whole.powers();
  const KernelPowers::Recipe recipe = powers.recipe(theta);
  const Index count = std::ssize(columns);
  std::vector<Matrix> roots(static_cast<std::size_t>(powers.roots()));
  std::vector<double*> out(roots.size(), nullptr);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    if (!recipe.needs(static_cast<Index>(r))) continue;
    roots[r].resize(std::min(kRowsTogether, std::ssize(rows)), count);
    out[r] = roots[r].data();
  }
  Vector decisions(std::ssize(rows));
  Vector mixed(count);
  std::vector<const double*> values(roots.size(), nullptr);
  for (Index i = 0; i < decisions.size(); ++i) {
    if (i % kRowsTogether == 0)
      whole.root_values(
          rows.subspan(static_cast<std::size_t>(i),
                       static_cast<std::size_t>(std::min(kRowsTogether, decisions.size() - i))),
          columns, out.data(), count);
    for (std::size_t r = 0; r < roots.size(); ++r)
      values[r] = out[r] ? out[r] + (i % kRowsTogether) * count : nullptr;
    powers.mix(recipe, values.data(), count, mixed.data());
    whole.part_values(rows[static_cast<std::size_t>(i)], columns, mixed.data());
    decisions[i] = mixed.dot(beta);
  }
  return decisions;
}

void StoredRoots::values(std::span<const Index> rows, std::span<const Index> columns,
                         double* const* out, Index stride) const {
  const bool together =
      !columns.empty() && columns.back() - columns.front() + 1 == std::ssize(columns) &&
      std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) == columns.end();
  for (std::size_t r = 0; r < roots_.size(); ++r) {
    if (!out[r]) continue;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double* row = roots_[r].row(rows[k]).data();
      double* to = out[r] + static_cast<Index>(k) * stride;
      if (together)
        std::copy_n(row + columns.front(), columns.size(), to);
      else
        for (std::size_t l = 0; l < columns.size(); ++l) to[l] = row[columns[l]];
    }
  }
}

void StoredRoots::diagonals(std::span<const Index> rows, double* const* out) const {
  for (std::size_t r = 0; r < roots_.size(); ++r)
    for (std::size_t k = 0; k < rows.size(); ++k) out[r][k] = roots_[r](rows[k], rows[k]);
}

double StoredRoots::bytes() const {
  double sum = 0;
  for (const Matrix& R : roots_)
    sum += static_cast<double>(sizeof(double)) * static_cast<double>(R.size());
  return sum;
}

}  // namespace coterie
