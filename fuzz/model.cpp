// Model files behind a checksum that is always right, so that changed bytes reach the arrays.
//
// The bytes are a model file ("coterie model" stands in front), or changes of a file that a small model gives: the first byte says which
// model, then each change has three bytes of place and kind and up to eight of value. What is read must survive being written,
// and give predictions.
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <limits>

#include "coterie/io/hdf5_reader.hpp"
#include "coterie/io/model_file.hpp"
#include "coterie/model/calibrate.hpp"
#include "coterie/model/extend.hpp"
#include "coterie/model/predict.hpp"
#include "coterie/model/train.hpp"
#include "target.hpp"

namespace coterie::fuzz {
namespace {

constexpr std::string_view kMagic = "coterie model\n";
constexpr Index most_cells = 4096;  // of a matrix that predictions are made for

Dataset small_data(Index tasks, const std::string& prefix) {
  Dataset data;
  data.features = {"f1", "f2"};
  data.X.resize(4 * tasks, 2);
  for (Index t = 0; t < tasks; ++t) {
    const std::string name = fmt::format("{}{}", prefix, t);
    Task task{{name, "no", "yes", name}, {}, Vector(4)};
    for (Index i = 0; i < 4; ++i) {
      const Index row = 4 * t + i;
      task.rows.push_back(row);
      task.y[i] = i % 2 == 0 ? -1 : 1;
      data.X.row(row) << task.y[i] + 0.25 * static_cast<double>(i), static_cast<double>(row % 3);
    }
    data.tasks.push_back(std::move(task));
  }
  return data;
}

Model small_model(const Lambda& lambda, const Kernels& kernels, const MethodRef& method = {},
                  const Mapping& map = Mapping::none()) {
  Settings settings;
  settings.lambda = lambda;
  settings.kernels = kernels;
  settings.method = method;
  settings.map = map;
  const Dataset data = small_data(3, "t");
  const MethodProblem problem = prepare_method(data, settings, {}, 1);
  return make_model(problem, settings, fit_method(problem, settings, 1), "0123456789abcdef");
}

void calibrate_small(Model& model, Calibration::Kind kind) {
  Vector scores(4), y(4);
  scores << -1, -0.5, 0.5, 2;
  y << -1, 1, -1, 1;
  const std::size_t tasks = model.tasks.size();
  calibrate(model, std::vector<Vector>(tasks, scores), std::vector<Vector>(tasks, y), kind);
}

// Every version of the format and every group of arrays.
std::vector<std::string> small_files() {
  std::vector<Model> models;
  models.push_back(small_model("0.2max", "linear gauss:1@f1"));
  models.push_back(small_model(0, "poly:2:1"));
  calibrate_small(models.back(), Calibration::Kind::platt);
  models.push_back(fit_extension(models[0], small_data(1, "new"), {}, 1));
  calibrate_small(models.back(), Calibration::Kind::isotonic);
  models.push_back(small_model(0, "linear", "cmtl"));
  models.push_back(small_model(0, "linear gauss:1", "coclus", Mapping::kernels(3)));
  models.push_back(small_model(0, "gauss:1", "pooled"));
  std::vector<std::string> files;
  for (const Model& model : models) files.push_back(model_to_bytes(model));
  return files;
}

// The frame of what follows it, of the version that the file itself states.
void correct_frame(std::string& file) {
  if (file.size() < detail::kUserBlock) return;
  const std::string_view version = std::string_view(file).substr(0, file.find('\n', kMagic.size()));
  const std::size_t size = file.size() - detail::kUserBlock;
  const auto* const part = reinterpret_cast<const Bytef*>(file.data() + detail::kUserBlock);
  std::string frame =
      fmt::format("{}\nbytes {}\ncrc32 {:08x}\n", version, size, crc32_z(0, part, size));
  frame.resize(detail::kUserBlock, '\0');
  file.replace(0, detail::kUserBlock, frame);
}

std::string odd_value(std::size_t kind) {
  const auto bytes_of = [](auto value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  static const std::array<std::string, 8> values = {
      std::string(8, '\0'),
      std::string(8, '\xff'),
      bytes_of(std::numeric_limits<double>::quiet_NaN()),
      bytes_of(std::numeric_limits<double>::infinity()),
      bytes_of(-1.0),
      bytes_of(1e300),
      bytes_of(std::numeric_limits<std::int64_t>::max()),
      bytes_of(std::int64_t{1})};
  return values[kind % values.size()];
}

std::string changed_file(Bytes bytes) {
  static const std::vector<std::string> files = small_files();
  const auto next = [&]() -> std::size_t {
    if (bytes.empty()) return 0;
    const auto value = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return value;
  };
  std::string file = files[next() % files.size()];
  while (!bytes.empty()) {
    const std::size_t first = next(), second = next(), kind = next();
    const std::size_t at =
        detail::kUserBlock + (first << 8 | second) % (file.size() - detail::kUserBlock);
    if (kind >= 128) {  // a value of 8 bytes where one may stand
      file.replace(at / 8 * 8, 8, odd_value(kind));
    } else {
      const std::size_t count = std::min({1 + kind % 8, bytes.size(), file.size() - at});
      file.replace(at, count, bytes.substr(0, count));
      bytes.remove_prefix(count);
    }
    file.resize(std::max(file.size() / 8 * 8, detail::kUserBlock + 8));
  }
  return file;
}

void check_use(const Model& model) {
  require(model_from_bytes(model_to_bytes(model), "again") == model,
          "a model reads as it was written");
  const Index features = std::ssize(model.features_of_data());
  if (2 * features > most_cells) return;
  const Matrix X = Matrix::Ones(2, features);
  for (Index t = 0; t < std::ssize(model.tasks); ++t)
    accepts([&] { require(decision_values(model, t, X).size() == 2, "every row has a value"); });
}

void fuzz_model(Bytes bytes) {
  std::string file = bytes.starts_with(kMagic) ? std::string(bytes) : changed_file(bytes);
  correct_frame(file);
  accepts([&] { check_use(model_from_bytes(file, "model.h5")); });
}

const Target model_target("model", fuzz_model);

}  // namespace
}  // namespace coterie::fuzz
