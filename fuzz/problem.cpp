// Small problems, fitted and verified from end to end. The bytes are the random numbers that the problem is drawn with, as far as they
// go: to change one is to change one size, label, feature or setting.
#include <cstdio>
#include <cstdlib>

#include "coterie/io/model_file.hpp"
#include "coterie/model/random_problem.hpp"
#include "coterie/model/verify.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

constexpr ProblemRange small{.tasks = 4, .samples = 12, .kernels = 6, .all_settings = true};

// Numbers out of bytes, and when these are used up out of a generator that they seed.
class ByteSource {
 public:
  explicit ByteSource(Bytes bytes) : left_(bytes), random_(std::hash<std::string_view>{}(bytes)) {}

  double uniform() { return static_cast<double>(word()) / 65536; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal() {  // in steps of 1/32 up to 4: equal features are not rare
    return static_cast<double>(static_cast<signed char>(byte())) / 32;
  }
  Index below(Index bound) { return byte() % bound; }

 private:
  unsigned byte() {
    if (left_.empty()) return static_cast<unsigned>(random_.next() & 0xff);
    const auto value = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return value;
  }
  unsigned word() {
    const unsigned high = byte();
    return high << 8 | byte();
  }

  Bytes left_;
  Random random_;
};

void fuzz_problem(Bytes bytes) {
  ByteSource source(bytes);
  const auto oddity = static_cast<Oddity>(source.below(static_cast<Index>(Oddity::count)));
  const RandomProblem problem = draw_problem(source, oddity, small);
  accepts([&] {
    const Prepared prepared = prepare(problem.data, problem.settings, problem.extras, 1);
    const Fitted fitted = fit_prepared(prepared, problem.settings, 1);
    const Model model = make_model(prepared, problem.settings, fitted, "");
    require(model_from_bytes(model_to_bytes(model), "model") == model, "a fit gives a sound model");
    require(fitted.fit.status == Status::converged || fitted.fit.status == Status::precision,
            "a fit converges, or rounding is in the way");
    if (fitted.fit.status != Status::converged) return;
    require(fitted.fit.gap + fitted.fit.bound <= problem.settings.tolerance,
            "what has converged has a small gap, rounding included");
    const Verification check = verify_training(model, problem.data);
    if (check.findings.empty()) return;
    std::fprintf(stderr, "%s\n", problem.description.c_str());
    for (const std::string& finding : check.findings)
      std::fprintf(stderr, "verify: %s\n", finding.c_str());
    require(false, "verify finds nothing wrong with a fit that has converged");
  });
}

const Target problem_target("problem", fuzz_problem);

}  // namespace
}  // namespace coterie::fuzz
