// The front door: datasets from files, models to files and back.
#pragma once

#include <string>
#include <vector>

#include "coterie/io/model_file.hpp"
#include "coterie/io/table.hpp"

namespace coterie {

// Tables as tasks: labels of two names, or of more with a casting.
Dataset read_dataset(const std::vector<std::string>& paths, const TableOptions& columns = {},
                     Casting casting = Casting::binary);
Dataset read_dataset(const std::string& path, const TableOptions& columns = {},
                     Casting casting = Casting::binary);

// Labelled tasks for verify and extend: features, columns of labels and tasks, and casting are those of the model, unless given.
Dataset read_dataset(const std::vector<std::string>& paths, const Model& model,
                     TableOptions columns = {});
Dataset read_dataset(const std::string& path, const Model& model, TableOptions columns = {});

// Rows for predict and evaluate, with the columns that the model needs. Labels are read where they are there.
Samples read_rows(const std::string& path, const Model& model, TableOptions columns = {});

void save(const Model& model, const std::string& path);  // written whole or not at all
Model load(const std::string& path);

}  // namespace coterie
