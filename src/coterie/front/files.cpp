#include "coterie/front/files.hpp"

#include <utility>

namespace coterie {

Dataset read_dataset(const std::vector<std::string>& paths, const TableOptions& columns,
                     Casting casting) {
  return cast_into_tasks(read_samples(paths, columns), casting);
}

Dataset read_dataset(const std::string& path, const TableOptions& columns, Casting casting) {
  return read_dataset(std::vector<std::string>{path}, columns, casting);
}

Dataset read_dataset(const std::vector<std::string>& paths, const Model& model,
                     TableOptions columns) {
  columns.features = model.features_of_data();
  columns.trained = model.columns;
  return read_dataset(paths, columns, model.casting);
}

Dataset read_dataset(const std::string& path, const Model& model, TableOptions columns) {
  return read_dataset(std::vector<std::string>{path}, model, std::move(columns));
}

Samples read_rows(const std::string& path, const Model& model, TableOptions columns) {
  columns.features = model.features_of_data();
  columns.trained = model.columns;
  columns.label_required = false;
  return read_samples({path}, columns);
}

void save(const Model& model, const std::string& path) { write_model(model, path); }
Model load(const std::string& path) { return read_model(path); }

}  // namespace coterie
