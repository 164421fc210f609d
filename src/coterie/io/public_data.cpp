#include "coterie/io/public_data.hpp"

#include <fmt/format.h>

namespace coterie {
namespace {

const std::string uci = "https://archive.ics.uci.edu/ml/machine-learning-databases";
const std::string taskar = "https://ai.stanford.edu/~btaskar/ocr";
// The authors' page has a zip archive (docs/data-formats.md); this is a copy of the file in it, at a commit that stays.
const std::string landmine_copy =
    "https://raw.githubusercontent.com/daizhongxiang/Federated_Bayesian_Optimization/"
    "9f46a1dfbbcfd5823e026ad9418a4cb881676ae9";
const std::string mnist_mirror = "https://ossci-datasets.s3.amazonaws.com/mnist";

std::function<std::string(const std::vector<RawFile>&)> from_lines(const TableLayout& layout) {
  return [layout](const std::vector<RawFile>& files) { return table_of_lines(files, layout); };
}

PublicData robot_data() {
  const std::string folder = uci + "/00194";
  return {"robot",
          {{"data.csv.gz",
            {{"sensor_readings_24.data", folder, ""}},
            from_lines(label_last(24)),
            "83d9c64d7f9957d69c42b94a1a0c28755cf69dde2b17f5084b3a0a2632dad33e"},
           {"data_4sensors.csv.gz",
            {{"sensor_readings_4.data", folder, ""}},
            from_lines(label_last(4)),
            "e906cdf9c4d456326a5443e55cb67ef348a5b8435457cbc0c55f8f81a31d3975"}}};
}

PublicData vehicle_data() {
  std::vector<PublicRawFile> raw;
  for (const char part : std::string("abcdefghi"))
    raw.push_back({fmt::format("xa{}.dat", part), uci + "/statlog/vehicle", ""});
  return {"vehicle",
          {{"data.csv.gz", raw, from_lines(label_last(18)),
            "f0049f83ceb869eb4993667f2bf060793321acf0107b4bac95389c8a2664c397"}}};
}

PublicData image_data() {
  return {"image",
          {{"data.csv.gz",
            {{"segment.dat", uci + "/statlog/segment", ""}},
            from_lines(label_last(19)),
            "ef838309dab90e127ff4ce1f895bb92d7c42c0efedb2358071d8039e0e46bbd8"}}};
}

PublicData pen_data() {
  return {"pen",
          {{"data.csv.gz",
            {{"pendigits.tra", uci + "/pendigits",
              "e2b9eb9f0d0467e2b64a4816a3420edf2b8043447576f4b84337aba44a9f97d3"},
             {"pendigits.tes", uci + "/pendigits",
              "8bd03229c5c5291fefe43e45465dd948d2645bf23328b9d993e0b777666b2015"}},
            from_lines(label_last(16)),
            "19bc7332582d6b42642430927556c3aefad64bc7ce635aa5decf6e4bf4327b8f"}}};
}

PublicData letter_data() {
  return {"letter",
          {{"data.csv.gz",
            {{"letter.data.gz", taskar, ""}},
            from_lines(letter_layout()),
            "40d96cbd0261843befc48e02ff427dd12d4eca6c67ac8e2985142b1fbb689461"}}};
}

PublicData landmine_data() {
  return {"landmine",
          {{"data.csv.gz",
            {{"LandmineData.mat", landmine_copy, ""}},
            [](const std::vector<RawFile>& files) { return table_of_mat(files.front()); },
            "03dde9be451b54ff343896e7b708aa63d8a47110867e32d736c6b8ecd3f99ed0"}}};
}

PublicFile mnist_file(const std::string& name, const std::string& raw_sha256,
                      const std::string& sha256) {
  return {name, {{name, mnist_mirror, raw_sha256}}, {}, sha256};
}

PublicData mnist_data() {
  return {"mnist",
          {mnist_file("train-images-idx3-ubyte.gz",
                      "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                      "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
           mnist_file("train-labels-idx1-ubyte.gz",
                      "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                      "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
           mnist_file("t10k-images-idx3-ubyte.gz",
                      "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                      "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
           mnist_file("t10k-labels-idx1-ubyte.gz",
                      "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                      "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2")}};
}

}  // namespace

const std::vector<PublicData>& public_data() {
  static const std::vector<PublicData> all = {robot_data(), vehicle_data(), image_data(),
                                              pen_data(),   letter_data(),  landmine_data(),
                                              mnist_data()};
  return all;
}

}  // namespace coterie
