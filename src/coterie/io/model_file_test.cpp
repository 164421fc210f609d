#include "coterie/io/model_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "coterie/data/planted.hpp"
#include "coterie/io/atomic_file.hpp"
#include "coterie/io/hdf5_reader.hpp"
#include "coterie/io/model_file_arrays.hpp"
#include "coterie/io/model_file_check.hpp"
#include "coterie/math/random.hpp"
#include "coterie/model/first_stage.hpp"
#include "coterie/model/train.hpp"

namespace coterie {
namespace {

using detail::kUserBlock;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr auto none = Calibration::Kind::none, platt = Calibration::Kind::platt,
               isotonic = Calibration::Kind::isotonic;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Shape {
  Index tasks = 3;
  Index features = 4;
  Index support_vectors = 6;
  std::string kernels = "linear gauss:0.1,2@f1-f2+f4 poly:3:0.5:raw";
  bool complete = true;
  double lambda = 0.25;
  Scaling::Kind scaling = Scaling::Kind::standard;
  Index smooth = 2;
  Casting casting = Casting::binary;
  std::vector<Calibration::Kind> calibrations = {};  // of the tasks, in turn; none when empty
  std::vector<Index> added = {};                     // tasks of each extension, the last of all
};

KernelExpansion& expansion(Model& model, std::size_t t) {
  return std::get<KernelExpansion>(model.tasks[t].function);
}

Vector random_vector(Random& random, Index size, double low, double high) {
  Vector values(size);
  for (double& value : values) value = random.uniform(low, high);
  return values;
}

Matrix random_matrix(Random& random, Index rows, Index columns) {
  Matrix values(rows, columns);
  for (Index i = 0; i < values.size(); ++i) values.data()[i] = random.normal();
  return values;
}

Calibration random_calibration(Random& random, Calibration::Kind kind) {
  Vector f(20), y(20);
  for (Index i = 0; i < 20; ++i) f[i] = random.normal() + (y[i] = i % 2 == 0 ? 1 : -1);
  return fit_calibration(kind, f, y);
}

TaskModel random_task(Random& random, const Shape& shape, Index t, Index kernels) {
  TaskModel task;
  task.name = fmt::format("tâche {}", t);
  task.negative = shape.casting == Casting::binary ? "nein" : "a";
  task.positive = shape.casting == Casting::binary ? "да, это длинное имя" : "b";
  task.n = 2 * shape.support_vectors + 1;
  task.C = random.uniform(0.1, 10);
  task.part = shape.casting == Casting::binary ? task.name : "site";
  KernelExpansion own;
  own.theta = random_vector(random, kernels, 0, 1);
  task.bias = random.normal();
  task.objective = random.uniform();
  for (Index row = 0; row < shape.support_vectors; ++row) {
    if (random.uniform() < 0.3) continue;
    own.support.push_back(row);
    own.sample.push_back(2 * row);
  }
  const Index count = std::ssize(own.support);
  own.alpha = random_vector(random, count, 1e-9, 1);
  own.y = random_vector(random, count, -1, 1).cwiseSign();
  task.function = std::move(own);
  return task;
}

// Turns the last tasks into those of extensions, each with a support vector and three rows of its own.
void add_extensions(Random& random, const Shape& shape, Model& model) {
  const Index M = std::ssize(model.kernels);
  Index base = shape.tasks;
  for (const Index count : shape.added) base -= count;
  model.certificate().nu.conservativeResize(shape.complete ? base * (base - 1) / 2 : base - 1, M);
  if (!shape.complete) model.certificate().graph.resize(static_cast<std::size_t>(base - 1));
  for (const Index count : shape.added) {
    Extension added;
    added.base_tasks = base;
    added.tasks = count;
    added.rows = 3;
    added.fingerprint = "fedcba9876543210";
    added.certificate.lambda = base % 2 ? 0.5 : kInfinity;
    added.certificate.complete = shape.complete;
    added.certificate.status = Status::stopped;
    added.certificate.outer_steps = base;
    if (!shape.complete)
      for (Index s = base; s < base + count; ++s) added.certificate.graph.push_back({0, s, 2});
    const Index edges = std::ssize(edges_of(added));
    added.certificate.nu = random_matrix(random, base % 2 ? edges : 0, M);
    const Index place = model.support_vectors.rows();
    model.support_vectors.conservativeResize(place + 1, Eigen::NoChange);
    model.support_vectors.row(place).setOnes();
    model.training_row.push_back(model.training_rows + 1);
    model.training_rows += 3;
    for (Index t = base; t < base + count; ++t) {
      KernelExpansion& own = expansion(model, static_cast<std::size_t>(t));
      own.support = {place};
      own.sample = {0};
      own.alpha = Vector::Ones(1);
      own.y = Vector::Ones(1);
    }
    base += count;
    model.extensions.push_back(std::move(added));
  }
}

Model random_model(std::uint64_t seed, const Shape& shape) {
  Random random(seed);
  Model model;
  model.settings.norm = seed % 2 == 0 ? 1 : kInfinity;
  model.settings.kernels = shape.kernels;
  model.settings.scale = shape.scaling;
  model.settings.max_steps = 17;
  for (Index j = 0; j < shape.features; ++j) model.features.push_back(fmt::format("f{}", j + 1));
  model.scaling.kind = shape.scaling;
  if (shape.smooth > 1) {
    model.settings.smooth = model.scaling.smooth = shape.smooth;
    for (Index k = 0; k < shape.smooth * shape.features; ++k)
      model.scaling.neighbours.push_back(random.below(shape.features));
  }
  if (shape.scaling != Scaling::Kind::none) {
    model.scaling.shift = random_vector(random, shape.features, -1, 1);
    model.scaling.factor = random_vector(random, shape.features, 0.5, 2);
  }
  model.kernels = parse_kernels(shape.kernels);
  resolve_columns(model.kernels, model.features);
  const Index M = std::ssize(model.kernels);
  model.divisors = random_vector(random, M, 0.1, 3);
  model.casting = shape.casting;
  model.columns = {"Zielgröße", seed % 2 == 0 ? "" : "site"};
  if (shape.casting != Casting::binary) model.classes = {"a", "b", "c"};
  model.support_vectors = random_matrix(random, shape.support_vectors, shape.features);
  for (Index i = 0; i < shape.support_vectors; ++i) model.training_row.push_back(3 * i + 1);
  model.training_rows = 3 * shape.support_vectors;
  for (Index t = 0; t < shape.tasks; ++t) model.tasks.push_back(random_task(random, shape, t, M));
  for (std::size_t t = 0; t < model.tasks.size() && !shape.calibrations.empty(); ++t)
    model.tasks[t].calibration =
        random_calibration(random, shape.calibrations[t % shape.calibrations.size()]);
  for (Index t = 0; t < shape.tasks; ++t) {  // even tasks together, odd ones alone
    if (t == 0 || t % 2 == 1) model.groups().emplace_back();
    model.groups()[t % 2 == 0 ? 0 : model.groups().size() - 1].push_back(t);
  }

  Certificate& proof = model.certificate();
  proof.primal = 2.5;
  proof.dual = 2.4999;
  proof.gap = 1e-4 / 2.5;
  proof.lambda = shape.lambda;
  proof.complete = shape.complete;
  if (!shape.complete)
    for (Index t = 0; t + 1 < shape.tasks; ++t) proof.graph.push_back({t, t + 1, random.uniform()});
  const Index edges =
      shape.complete ? shape.tasks * (shape.tasks - 1) / 2 : std::ssize(proof.graph);
  const bool has_duals = shape.lambda > 0 && std::isfinite(shape.lambda);
  proof.nu = random_matrix(random, has_duals ? edges : 0, M);
  proof.status = seed % 3 == 0 ? Status::step_limit : Status::converged;
  proof.outer_steps = 9;
  model.fingerprint = seed % 3 == 1 ? "" : "0123456789abcdef";
  if (!shape.added.empty()) add_extensions(random, shape, model);
  return model;
}

std::vector<Shape> all_shapes() {
  return {{},
          {.complete = false},
          {.tasks = 1},
          {.tasks = 1, .support_vectors = 0, .kernels = "chi2", .complete = false, .lambda = 0},
          {.tasks = 200, .features = 30, .support_vectors = 50, .lambda = kInfinity},
          {.tasks = 60, .features = 1, .kernels = "paper", .scaling = Scaling::Kind::minmax},
          {.scaling = Scaling::Kind::none, .smooth = 1, .casting = Casting::one_vs_rest},
          {.features = 0,
           .kernels = "precomputed:K.csv:raw",
           .smooth = 1,
           .casting = Casting::one_vs_one},
          {.calibrations = {Calibration::Kind::platt}},
          {.tasks = 70, .casting = Casting::one_vs_one, .calibrations = {isotonic}},
          {.complete = false, .calibrations = {isotonic, platt, platt}},
          {.tasks = 7, .added = {1, 2, 1}},
          {.tasks = 5, .complete = false, .added = {2}},
          {.tasks = 5, .calibrations = {isotonic, platt, none, none, none}, .added = {1, 2}},
          {.tasks = 2, .features = 5000, .support_vectors = 20, .kernels = "laplace:3@f7-f4999"}};
}

// A small file, for tests that look at each of its bytes.
std::string small_file(const std::vector<Calibration::Kind>& calibrations = {},
                       const std::vector<Index>& added = {}) {
  return model_to_bytes(random_model(2, {.tasks = added.empty() ? 2 : 3,
                                         .features = 2,
                                         .support_vectors = 2,
                                         .kernels = "linear gauss:1@f2",
                                         .calibrations = calibrations,
                                         .added = added}));
}

// The file with size and checksum made to match, as a forger would.
std::string sealed(const std::string& file, int version) {
  const std::string part = file.substr(kUserBlock);
  std::string block =
      fmt::format("coterie model\nversion {}\nbytes {}\ncrc32 {:08x}\n", version, part.size(),
                  crc32_z(0, reinterpret_cast<const Bytef*>(part.data()), part.size()));
  block.resize(kUserBlock, '\0');
  return block + part;
}

std::string sealed(const std::string& file) { return sealed(file, kModelVersion); }

// The text of the InputError that the call throws; empty if it throws none.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

std::string read_error(const std::string& bytes) {
  return error_of([&] { model_from_bytes(bytes, "m.h5"); });
}

class ModelFile : public testing::Test {
 protected:
  ModelFile()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("coterie_model_file_{}", getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ModelFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(ModelFile, GivesBackEveryModel) {
  std::uint64_t seed = 1;
  for (const Shape& shape : all_shapes()) {
    const Model model = random_model(seed++, shape);
    const std::string bytes = model_to_bytes(model);
    EXPECT_TRUE(model_from_bytes(bytes, "m.h5") == model) << "shape " << seed - 2;
    write_model(model, path("m.h5"));
    EXPECT_TRUE(read_model(path("m.h5")) == model) << "shape " << seed - 2;
  }
}

TEST_F(ModelFile, EqualModelsGiveEqualBytes) {
  for (const Shape& shape : all_shapes()) {
    const std::string bytes = model_to_bytes(random_model(5, shape));
    const std::vector<std::string> other_memory(10, std::string(100'000, 'x'));
    EXPECT_EQ(bytes, model_to_bytes(random_model(5, shape)));
    EXPECT_EQ(bytes, model_to_bytes(model_from_bytes(bytes, "m.h5")));
  }
}

// The reader is our own code, so the HDF5 library is asked for its view of the same file.
TEST_F(ModelFile, TheHdf5LibraryReadsTheSameValues) {
  const Model model = random_model(3, {});
  write_model(model, path("m.h5"));
  const hid_t file = H5Fopen(path("m.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  const auto read = [&](const char* name, hid_t type, void* values) {
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0) << name;
    H5Dclose(dataset);
  };
  Matrix theta(3, 4), values(6, 4);
  read("/tasks/theta", H5T_NATIVE_DOUBLE, theta.data());
  read("/support_vectors/values", H5T_NATIVE_DOUBLE, values.data());
  EXPECT_EQ(values, model.support_vectors);
  for (Index t = 0; t < 3; ++t) EXPECT_EQ(theta.row(t).transpose(), model.tasks[t].theta());
  std::vector<std::int64_t> group(3), rows(6);
  read("/tasks/group", H5T_NATIVE_INT64, group.data());
  read("/support_vectors/training_row", H5T_NATIVE_INT64, rows.data());
  EXPECT_EQ(group, (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_TRUE(std::ranges::equal(rows, model.training_row));
  double norm = 0;
  read("/settings/norm", H5T_NATIVE_DOUBLE, &norm);
  EXPECT_EQ(norm, model.settings.norm);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 64);
  H5Tset_cset(text, H5T_CSET_UTF8);
  char status[64] = {};
  read("/tasks/positive", text, std::vector<char>(3 * 64).data());
  read("/settings/normalise", text, status);
  EXPECT_STREQ(status, "cosine");
  H5Tclose(text);
  EXPECT_GE(H5Fclose(file), 0);
}

TEST_F(ModelFile, EveryFlippedBitIsNoticed) {
  const std::string good = small_file({isotonic, platt});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    EXPECT_NE(read_error(bad), "") << "byte " << i;
    bad[i] = static_cast<char>(~good[i]);
    EXPECT_NE(read_error(bad), "") << "byte " << i;
  }
  for (std::size_t bit = 0; bit < 8 * kUserBlock; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(read_error(bad), "") << "bit " << bit;
  }
}

TEST_F(ModelFile, EveryOtherLengthIsNoticed) {
  const std::string good = small_file();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(read_error(good.substr(0, size)), "") << "size " << size;
  EXPECT_EQ(read_error(good + '\0'),
            fmt::format("m.h5: is damaged: it has {} bytes, but {} behind its first 512 were "
                        "written. Copy it again from its source, or train it anew.",
                        good.size() + 1, good.size() - 512));
}

TEST_F(ModelFile, SaysWhatIsNotAModel) {
  const std::string good = small_file();
  const std::string advice = " Name a file that train has written.";
  EXPECT_EQ(read_error(""), "m.h5: is empty, not a coterie model.");
  EXPECT_EQ(read_error("label,f1\n1,2\n"), "m.h5: is not a coterie model." + advice);
  EXPECT_EQ(read_error(good.substr(512)),
            "m.h5: is not a coterie model, but another HDF5 file." + advice);
  Random random(4);
  for (int i = 0; i < 100; ++i) {
    std::string noise(static_cast<std::size_t>(random.below(2000) + 1), '\0');
    for (char& c : noise) c = static_cast<char>(random.below(256));
    EXPECT_EQ(read_error(noise), "m.h5: is not a coterie model." + advice);
  }
  std::string newer = good;
  newer[newer.find("version 7") + 8] = '8';
  EXPECT_EQ(read_error(newer),
            "m.h5: was written by a newer coterie: model version 8, this program reads up to "
            "version 7. Update the program.");
  std::string changed = good;
  changed.back() ^= 1;
  EXPECT_EQ(read_error(changed),
            "m.h5: is damaged: its checksum is not that of its contents. Copy it again from its "
            "source, or train it anew.");
}

TEST_F(ModelFile, QuotesWhatIsInAFileSoThatItCanBeShown) {
  const std::string sound = detail::write_arrays(random_model(1, {}));
  const auto error_with = [&](bool in_settings) {  // whose list has a space behind the first kernel
    std::string file = sound;
    for (std::size_t at = 0; (at = file.find("linear", at)) != file.npos; ++at)
      if ((file[at + 6] == ' ') == in_settings) file.replace(at, 6, "li\x1b[m\xff");
    return read_error(sealed(file));
  };
  const std::string of_settings = error_with(true), error = error_with(false);
  EXPECT_TRUE(
      of_settings.starts_with("m.h5: is damaged: kernel 'li\\x1b[m\\xff': there is no kernel"))
      << of_settings;
  EXPECT_TRUE(error.starts_with("m.h5: is damaged: kernel 'li\\x1b[m\\xff': there is no kernel"))
      << error;
  EXPECT_TRUE(
      error.ends_with("separated by spaces. Copy it again from its source, or train it anew."))
      << error;
}

TEST_F(ModelFile, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(error_of([&] { read_model(path("none.h5")); }),
            path("none.h5") + ": cannot be read: No such file or directory.");
  EXPECT_EQ(error_of([&] { read_model(path("")); }),
            path("") + ": this is a folder. Name a model file.");
  EXPECT_EQ(error_of([&] { read_model(file("empty.h5", "")); }),
            path("empty.h5") + ": is empty, not a coterie model.");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { read_model(path("pipe")); }),
            path("pipe") + ": is a device or a pipe. Name a model file.");
  // A file of 17 GiB without contents takes no room on the disk.
  std::string head = "coterie model\nversion 1\nbytes 18253610496\ncrc32 00000000\n";
  head.resize(kUserBlock, '\0');
  file("large.h5", head);
  ASSERT_EQ(truncate(path("large.h5").c_str(), 18253610496 + 512), 0);
  EXPECT_EQ(error_of([&] { read_model(path("large.h5")); }),
            path("large.h5") + ": has 18253611008 bytes; a model has at most 17179869184.");
}

TEST_F(ModelFile, AFailedWriteLeavesTheOldFile) {
  write_model(random_model(1, {}), path("m.h5"));
  Model broken = random_model(2, {});
  broken.tasks[0].bias = kNaN;
  EXPECT_EQ(error_of([&] { write_model(broken, path("m.h5")); }),
            "the model cannot be written: /tasks/bias[0] is nan, not a finite number.");
  EXPECT_TRUE(read_model(path("m.h5")) == random_model(1, {}));
  EXPECT_THROW(write_model(random_model(1, {}), path("no/such/folder.h5")), OutputError);
}

// Models that contradict themselves, in files that are sound but for that: neither written nor read.
TEST_F(ModelFile, ForgedContentsAreRefused) {
  struct Forgery {
    std::function<void(Model&)> change;
    std::string error;
  };
  const std::vector<Forgery> forgeries = {
      {[](Model& m) { m.settings.C = -1; }, "`C` is '-1'; it must be a number > 0."},
      {[](Model& m) { m.settings.norm = kNaN; }, "`norm` is 'nan'"},
      {[](Model& m) { m.settings.kernels = precomputed("\x1b[2J"); },
       "/settings/kernels holds 'precomputed:\\x1b[2J', which has a control character"},
      {[](Model& m) { m.settings.kernels = precomputed(std::string(1 << 20, '1')); },
       "longer than"},
      {[](Model& m) { m.features[1] = "\xff"; },
       "/features/names[1] holds '\\xff', which is not UTF-8 text"},
      {[](Model& m) { m.features[1] = ""; }, "/features/names[1] is empty"},
      {[](Model& m) { m.features[0] = "g"; }, "'f1-f2' is neither a column nor a range"},
      {[](Model& m) { m.scaling.shift.conservativeResize(3); },
       "/features/shift has 3 values, not 4"},
      {[](Model& m) { m.scaling.kind = Scaling::Kind::none; },
       "/features/shift has 4 values, not 0"},
      {[](Model& m) { m.scaling.neighbours.pop_back(); },
       "/features/neighbours has 7 values, not 8"},
      {[](Model& m) { m.scaling.neighbours[3] = 4; }, "/features/neighbours[3] is 4"},
      {[](Model& m) { m.settings.smooth = 3; }, "/features/neighbours has 8 values, not 12"},
      {[](Model& m) { m.settings.smooth = 1'000'000'000'000; }, "`smooth` is '1000000000000'"},
      {[](Model& m) { m.scaling.factor[0] = kInfinity; }, "/features/factor[0] is inf"},
      {[](Model& m) { m.kernels[1].columns[0] = 3; }, "is not what its name says"},
      {[](Model& m) { m.kernels[1].columns.pop_back(); }, "is not what its name says"},
      {[](Model& m) { m.kernels[0].columns = {99}; }, "/kernels/columns[0] is 99"},
      {[](Model& m) { m.kernels[0] = m.kernels[3]; }, "is listed twice"},
      {[](Model& m) { m.divisors[2] = 0; }, "/kernels/divisors[2] is 0, not a number > 0"},
      {[](Model& m) { m.support_vectors.conservativeResize(6, 3); }, "have 3 features, not 4"},
      {[](Model& m) { m.support_vectors.conservativeResize(5, 4); },
       "/support_vectors/training_row has 6 values, not 5"},
      {[](Model& m) { m.support_vectors(0, 0) = kNaN; }, "/support_vectors/values[0] is nan"},
      {[](Model& m) { m.training_row[0] = -1; }, "/support_vectors/training_row[0] is -1"},
      {[](Model& m) { m.training_row[5] = m.training_rows; }, "the training rows of"},
      {[](Model& m) { m.tasks[1].name = m.tasks[0].name; }, "there are two tasks 'tâche 0'"},
      {[](Model& m) { m.tasks[1].name = "a\nb"; }, "which has a control character"},
      {[](Model& m) { m.tasks[1].part = "\x01"; }, "/tasks/part[1] holds"},
      {[](Model& m) { m.columns.label = "\xff"; }, "/training_data/label_column holds"},
      {[](Model& m) { m.columns.task = "a\nb"; }, "/training_data/task_column holds"},
      {[](Model& m) { m.tasks[1].n = 0; }, "/tasks/n[1] is 0, not a number >= 1"},
      {[](Model& m) { m.tasks[1].C = 0; }, "/tasks/C[1] is 0, not a number > 0"},
      {[](Model& m) { expansion(m, 1).theta[0] = -1e-300; }, "/tasks/theta[4] is -1e-300"},
      {[](Model& m) { expansion(m, 1).alpha[0] = 0; }, "/tasks/alpha[4] is 0, not a number > 0"},
      {[](Model& m) { expansion(m, 1).y[0] = 0.5; }, "/tasks/y[4] is 0.5, not -1 or 1"},
      {[](Model& m) { expansion(m, 1).support[0] = 6; }, "/tasks/support[4] is 6, not from 0 to 5"},
      {[](Model& m) { expansion(m, 1).support[0] = -1; },
       "/tasks/support[4] is -1, not from 0 to 5"},
      {[](Model& m) { expansion(m, 1).sample[1] = expansion(m, 1).sample[0]; },
       "samples that do not"},
      {[](Model& m) { expansion(m, 1).sample.back() = m.tasks[1].n; }, "samples that do not"},
      {[](Model& m) { m.casting = Casting::one_vs_one; }, "is not a class"},
      {[](Model& m) { m.certificate().dual = -kInfinity; }, "the dual value is -inf"},
      {[](Model& m) { m.certificate().lambda = kNaN; }, "/certificates/lambda[0] is nan"},
      {[](Model& m) { m.certificate().outer_steps = -1; }, "/certificates/outer_steps[0] is -1"},
      {[](Model& m) { m.certificate().complete = true; }, "edges are listed though every pair"},
      {[](Model& m) { m.certificate().graph[0].s = 3; }, "edge 0-3 is not one to tasks 0 to 2"},
      {[](Model& m) { m.certificate().graph[0].s = 0; }, "edge 0-0 is not one to tasks 0 to 2"},
      {[](Model& m) { m.certificate().graph[0].weight = -1; },
       "/certificates/edge_weight[0] is -1"},
      {[](Model& m) { m.certificate().nu.conservativeResize(1, 4); }, "2 edges have 1 pair duals"},
      {[](Model& m) { m.certificate().nu.conservativeResize(2, 3); }, "have 3 entries, not 4"},
      {[](Model& m) { m.certificate().nu(1, 1) = kInfinity; }, "/certificates/nu[5] is inf"},
  };
  for (const Forgery& forgery : forgeries) {
    Model model = random_model(2, {.complete = false});
    ASSERT_EQ(read_error(sealed(detail::write_arrays(model))), "");
    forgery.change(model);
    const std::string written = error_of([&] { model_to_bytes(model); });
    EXPECT_TRUE(written.starts_with("the model cannot be written: ")) << written;
    EXPECT_NE(written.find(forgery.error), written.npos) << forgery.error << " / " << written;
    const std::string read = read_error(sealed(detail::write_arrays(model)));
    EXPECT_TRUE(read.starts_with("m.h5: is damaged: ")) << read;
    EXPECT_NE(read.find(forgery.error), read.npos) << forgery.error << " / " << read;
  }
}

TEST_F(ModelFile, AStatusIsOneThatFitsHave) {
  const std::string word = "stopped", other = "stopper";
  Model model = random_model(2, {});
  model.certificate().status = Status::stopped;
  std::string file = detail::write_arrays(model);
  ASSERT_EQ(read_error(sealed(file)), "");
  const std::size_t at = file.find(word);
  ASSERT_NE(at, file.npos);
  file.replace(at, word.size(), other);
  EXPECT_NE(read_error(sealed(file)).find("/certificates/status is unknown"), std::string::npos)
      << read_error(sealed(file));
  for (const Status status :
       {Status::converged, Status::step_limit, Status::stopped, Status::stalled, Status::precision})
    EXPECT_EQ(status_from(to_string(status)), status);
  EXPECT_FALSE(status_from("great"));
  EXPECT_FALSE(status_from(""));
}

TEST_F(ModelFile, ForgedCalibrationsAreRefused) {
  struct Forgery {
    std::function<void(Calibration&)> change;  // of the second task, which is isotonic
    std::string error;
  };
  const std::vector<Forgery> forgeries = {
      {[](Calibration& c) { c.kind = none; },
       "the calibration of task 'tâche 1' is none, with 8 knots"},
      {[](Calibration& c) { c.slope = kNaN; }, "/calibration/slope[1] is nan"},
      {[](Calibration& c) { c.slope = -1; }, "/calibration/slope[1] is -1"},
      {[](Calibration& c) { c.offset = kInfinity; }, "/calibration/offset[1] is inf"},
      {[](Calibration& c) { c.offset = 1; }, "has a sigmoid that nothing uses"},
      {[](Calibration& c) { c.kind = platt; },
       "the calibration of task 'tâche 1' is platt, with 8 knots"},
      {[](Calibration& c) { c.score = c.value = Vector(0); },
       "the calibration of task 'tâche 1' is isotonic, with 0 knots"},
      {[](Calibration& c) { c.score[1] = c.score[0]; }, "whose scores do not increase"},
      {[](Calibration& c) { c.score[0] = -kInfinity; }, "/calibration/knot_score[0] is -inf"},
      {[](Calibration& c) { c.score[1] = kNaN; }, "/calibration/knot_score[1] is nan"},
      {[](Calibration& c) { c.value[0] = -0.1; },
       "/calibration/knot_probability[0] is -0.1, not from 0 to 1"},
      {[](Calibration& c) { c.value.tail(1) << 1.1; },
       "/calibration/knot_probability[7] is 1.1, not from 0 to 1"},
      {[](Calibration& c) { c.value[1] = kNaN; },
       "/calibration/knot_probability[1] is nan, not from 0 to 1"},
      {[](Calibration& c) { c.value[1] = 0; }, "task 'tâche 1' has knots whose probabilities fall"},
  };
  for (const Forgery& forgery : forgeries) {
    Model model = random_model(2, {.calibrations = {platt, isotonic}});
    ASSERT_EQ(read_error(sealed(detail::write_arrays(model))), "");
    forgery.change(model.tasks[1].calibration);
    const std::string written = error_of([&] { model_to_bytes(model); });
    EXPECT_NE(written.find("the model cannot be written: "), written.npos) << written;
    EXPECT_NE(written.find(forgery.error), written.npos) << forgery.error << " / " << written;
    const std::string read = read_error(sealed(detail::write_arrays(model)));
    EXPECT_TRUE(read.starts_with("m.h5: is damaged: ")) << read;
    EXPECT_NE(read.find(forgery.error), read.npos) << forgery.error << " / " << read;
  }
}

TEST_F(ModelFile, ForgedExtensionsAreRefused) {
  struct Forgery {
    std::function<void(Model&)> change;
    std::string error;
  };
  const std::vector<Forgery> forgeries = {
      {[](Model& m) { m.extensions[0].base_tasks = 0; },
       "/extensions/base_tasks[0] is 0, not a number >= 1"},
      {[](Model& m) { m.extensions[0].base_tasks = 6; },
       "an extension of 2 tasks behind 6 is not one of 6 tasks"},
      {[](Model& m) { m.extensions[1].base_tasks = 3; }, "is not one of 6 tasks"},
      {[](Model& m) { m.extensions[0].tasks = 0; }, "/extensions/tasks[0] is 0, not a number >= 1"},
      {[](Model& m) { m.extensions[1].tasks = std::numeric_limits<Index>::max(); },
       "behind 5 is not one of 6 tasks"},
      {[](Model& m) { m.extensions.pop_back(); }, "end at task 5 of 6"},
      {[](Model& m) { m.extensions[0].rows = -3; }, "/extensions/rows[0] is -3, not a number >= 1"},
      {[](Model& m) { m.extensions[0].rows = 100; }, "has 100 of 24 rows"},
      {[](Model& m) { m.extensions[0].rows = 1; }, "support vector of another table"},
      {[](Model& m) { expansion(m, 0).support.back() = 6; }, "support vector of another table"},
      {[](Model& m) { expansion(m, 5).support[0] = 6; }, "support vector of another table"},
      {[](Model& m) { m.extensions[0].tolerance = 0; },
       "/extensions/tolerance[0] is 0, not a number > 0"},
      {[](Model& m) { m.extensions[0].certificate.primal = kNaN; },
       "/certificates/primal[1] is nan"},
      {[](Model& m) { m.extensions[0].certificate.lambda = -1; }, "/certificates/lambda[1] is -1"},
      {[](Model& m) { m.extensions[0].certificate.nu.conservativeResize(1, 4); },
       "2 edges have 1 pair duals"},
      {[](Model& m) {
         m.extensions[0].certificate.graph[0] = {0, 2, 1};
       },
       "edge 0-2 is not one to tasks 3 to 4"},
      {[](Model& m) { m.extensions[0].certificate.graph[0].s = 5; },
       "edge 0-5 is not one to tasks 3 to 4"},
      {[](Model& m) { m.extensions[0].certificate.complete = true; }, "edges are listed"},
      {[](Model& m) { m.extensions[1].fingerprint = "\x01"; },
       "/extensions/fingerprint[1] holds '\\x01', which has a control character"},
      {[](Model& m) { m.certificate().nu.conservativeResize(1, 4); }, "2 edges have 1 pair duals"},
  };
  for (const Forgery& forgery : forgeries) {
    Model model = random_model(2, {.tasks = 6, .complete = false, .added = {2, 1}});
    ASSERT_EQ(read_error(sealed(detail::write_arrays(model))), "");
    forgery.change(model);
    const std::string read = read_error(sealed(detail::write_arrays(model)));
    EXPECT_NE(read.find(forgery.error), read.npos) << forgery.error << " / " << read;
  }
}

// Files of older versions are in tests/models.
TEST_F(ModelFile, TheVersionSaysWhereArraysStand) {
  const std::string plain = small_file(), calibrated = small_file({platt}),
                    partly = small_file({platt, none}), extended = small_file({}, {1});
  const Model some = model_from_bytes(partly, "m.h5"), all = model_from_bytes(calibrated, "m.h5");
  EXPECT_FALSE(has_calibration(model_from_bytes(plain, "m.h5")));
  EXPECT_TRUE(has_calibration(some) && !is_calibrated(some));
  EXPECT_TRUE(has_calibration(all) && is_calibrated(all));
  for (const std::string& file : {plain, calibrated, partly, extended}) {
    EXPECT_EQ(file.substr(0, 24), "coterie model\nversion 7\n");
    for (const int version : {5, 6})  // the checksum does not cover the version
      EXPECT_EQ(read_error(sealed(file, version)),
                fmt::format("m.h5: is damaged: its version {} has no /features/neighbours. Copy it "
                            "again from its source, or train it anew.",
                            version));
    for (int version = 1; version < 5; ++version)
      EXPECT_EQ(read_error(sealed(file, version)),
                "m.h5: is damaged: /certificate/edge_t is missing. Copy it again from its source, "
                "or train it anew.");
    EXPECT_EQ(read_error(sealed(file, 0)),
              "m.h5: is damaged: there is no version 0. Copy it again from its source, or train it "
              "anew.");
  }
}

// Linear weights have no kernels and no support vectors, and kernel expansions no weights of features.
TEST_F(ModelFile, TheMethodSaysWhatFunctionsAre) {
  Model model = random_model(2, {.kernels = "linear"});
  model.settings.method = "coclus";
  EXPECT_NE(error_of([&] { model_to_bytes(model); }).find("the kind of function that coclus"),
            std::string::npos);
  model.kernels.clear();
  model.divisors.resize(0);
  model.support_vectors.resize(0, 4);
  model.training_row.clear();
  model.certificate().nu.resize(0, 0);
  Random random(3);
  for (TaskModel& task : model.tasks) {
    task.function = LinearWeights{random_vector(random, 4, -1, 1)};
    task.shared = random_vector(random, 4, -1, 1);
  }
  EXPECT_EQ(model_from_bytes(model_to_bytes(model), "m.h5"), model);
  std::get<LinearWeights>(model.tasks[1].function).w.conservativeResize(3);
  EXPECT_EQ(error_of([&] { model_to_bytes(model); }),
            "the model cannot be written: /tasks/w has 3 values, not 4.");
}

Model two_stages() {
  const Dataset data = cast_into_tasks(
      plant_groups({.tasks = 4, .groups = 2, .samples = 20}).samples, Casting::binary);
  Settings settings;
  settings.kernels = "linear gauss:2 linear:raw@pooled gauss:1@others gauss:1@group";
  settings.first_stage = {{"C", 1}};
  const Prepared prepared = prepare(data, settings, {}, 1);
  return make_model(prepared, settings, fit_prepared(prepared, settings, 1), "");
}

TEST_F(ModelFile, AFirstStageIsKeptWhole) {
  const Model model = two_stages();
  const std::string bytes = model_to_bytes(model);
  const Model read = model_from_bytes(bytes, "m.h5");
  EXPECT_TRUE(read == model);
  ASSERT_TRUE(read.first_stage);
  EXPECT_EQ(read.first_stage->models.size(), 3);
  EXPECT_EQ(model_to_bytes(read), bytes);
  const auto forged = [&](const std::function<void(FirstStage&)>& change) {
    FirstStage first = *model.first_stage;
    change(first);
    Model wrong = model;
    wrong.first_stage = std::make_shared<const FirstStage>(std::move(first));
    return error_of([&] { model_to_bytes(wrong); });
  };
  const auto says = [](const std::string& error, const std::string& what) {
    EXPECT_NE(error.find(what), error.npos) << error << " / " << what;
  };
  says(forged([](FirstStage& f) { std::swap(f.models[0], f.models[1]); }), "is a model of stl");
  says(forged([](FirstStage& f) { f.models[1].tasks[0].name = "other"; }), "of other data");
  says(forged([](FirstStage& f) { f.scores.conservativeResize(3, f.columns()); }), "3 rows");
  says(forged([](FirstStage& f) { f.blocks.pop_back(); }), "does not name every model");
  says(forged([](FirstStage& f) {
         f.blocks.pop_back();
         f.models.pop_back();
       }),
       "not what the kernels look at");
  says(forged([](FirstStage& f) { f.scores(0, 0) = std::nan(""); }), "/first_stage/scores");
  says(forged([](FirstStage& f) { f.models[2].tasks[0].C = -1; }), "/first_stage/group/tasks/C");
}

// What write_arrays cannot express.
TEST_F(ModelFile, ModelsOfUnequalListsAreNotWritten) {
  const std::vector<std::function<void(Model&)>> changes = {
      [](Model& m) { expansion(m, 0).theta.conservativeResize(2); },
      [](Model& m) { expansion(m, 0).alpha.conservativeResize(1); },
      [](Model& m) { expansion(m, 0).sample.pop_back(); },
      [](Model& m) { m.groups()[0].pop_back(); },
      [](Model& m) { m.groups()[1] = {0}; },
      [](Model& m) { m.groups()[1] = {7}; },
      [](Model& m) { std::swap(m.groups()[0], m.groups()[1]); },
      [](Model& m) { m.groups().emplace_back(); },
      [](Model& m) { m.kernels.clear(); },
      [](Model& m) { m.settings.scale.reset(); },
      [](Model& m) { m.tasks.clear(); },
  };
  for (const auto& change : changes) {
    Model model = random_model(2, {});
    change(model);
    EXPECT_NE(error_of([&] { model_to_bytes(model); }), "");
  }
}

// Files altered at random with the checksum made to match: an error or a sound model, and nothing that the sanitizers object to.
TEST_F(ModelFile, RandomForgeriesAreRefusedOrSound) {
  const std::string good = small_file({isotonic, none, platt}, {1});
  // Bytes of structure are few among those of values and padding, so most changes go to bytes that are not zero.
  std::vector<std::size_t> places;
  for (std::size_t i = kUserBlock; i < good.size(); ++i)
    if (good[i] != 0) places.push_back(i);
  Random random(20);
  int refused = 0, read = 0;
  const auto any = [&](std::size_t count) {
    return static_cast<std::size_t>(random.below(static_cast<Index>(count)));
  };
  for (int round = 0; round < 8'000; ++round) {
    std::string bad = good;
    for (Index change = random.below(3); change >= 0; --change) {
      const std::size_t i = random.uniform() < 0.8 ? places[any(places.size())]
                                                   : kUserBlock + any(good.size() - kUserBlock);
      const std::uint64_t extremes[] = {
          0, 1, 8, 0x7fffffffffffffff, ~std::uint64_t{0}, good.size(), 1 << 16, 512};
      const std::size_t width =
          std::min<std::size_t>(std::size_t{1} << random.below(4), bad.size() - i);
      switch (random.below(4)) {
        case 0:
          bad[i] = static_cast<char>(bad[i] ^ (1 << random.below(8)));
          break;
        case 1:
          bad[i] = static_cast<char>(random.below(256));
          break;
        case 2:
          std::memcpy(bad.data() + i, &extremes[any(std::size(extremes))], width);
          break;
        default:
          std::memmove(bad.data() + i, good.data() + places[any(places.size() - 8)], width);
      }
    }
    try {
      const Model model = model_from_bytes(sealed(bad), "m.h5");
      detail::check_model(model);
      ++read;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("m.h5: is damaged: ")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 2'000);
  EXPECT_GT(read, 500);  // or the changes never get past the outermost check
}

// A part of a sound file that is cut out, doubled or moved.
TEST_F(ModelFile, SplicedFilesAreRefusedOrSound) {
  const std::string good = small_file({isotonic, platt});
  Random random(21);
  for (int round = 0; round < 2'000; ++round) {
    const auto at = [&] {
      return kUserBlock + static_cast<std::size_t>(random.below(std::ssize(good) - 512));
    };
    std::string bad = good;
    const std::size_t from = at(), to = at(), count = static_cast<std::size_t>(random.below(400));
    switch (random.below(3)) {
      case 0:
        bad.erase(from, count);
        break;
      case 1:
        bad.insert(to, good.substr(from, count));
        break;
      default:
        bad.replace(to, count, good.substr(from, count));
        bad.resize(good.size());
    }
    const std::string error = read_error(sealed(bad));
    EXPECT_TRUE(error.empty() || error.starts_with("m.h5: is damaged: ")) << error;
  }
}

// Datasets that lie on the same bytes would let a small file ask for much memory.
TEST_F(ModelFile, DatasetsCannotShareTheirValues) {
  const Shape shape{.tasks = 1, .features = 1, .kernels = "gauss:1,2,3,4,5,6,7", .lambda = 0};
  Model model = random_model(4, shape);
  model.fingerprint = std::string(80'000, 'x');
  std::string bytes = model_to_bytes(model);
  const auto put = [&bytes](std::size_t at, std::uint64_t value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  // nu, of 0 x 7, becomes 10'000 x 1 on the bytes of the fingerprint: first its shape (version 2, rank 2, has limits, array, ...),
  // then its layout (message 8 of 18 bytes, version 3, contiguous, address, size).
  using namespace std::string_view_literals;
  constexpr std::string_view kShape = "\2\2\1\1\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0"sv;
  constexpr std::string_view kLayout = "\x08\x12\0\0\3\1"sv;
  const std::size_t shape_at = bytes.find(kShape), layout_at = bytes.find(kLayout, shape_at);
  ASSERT_NE(layout_at, bytes.npos);
  put(shape_at + 4, 10'000);
  put(shape_at + 12, 1);
  put(layout_at + 6, bytes.find("xxxxxxxx") - kUserBlock);
  put(layout_at + 14, 80'000);
  EXPECT_EQ(read_error(sealed(bytes)),
            "m.h5: is damaged: its HDF5 structure has datasets that share their values. Copy it "
            "again from its source, or train it anew.");
}

}  // namespace
}  // namespace coterie
