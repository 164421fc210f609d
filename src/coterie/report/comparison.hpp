// Comparisons of methods as text (plain, Markdown, LaTeX, HTML, CSV) and pictures: of any table of results, and of studies.
#pragma once

#include <string>
#include <vector>

#include "coterie/report/critical_difference.hpp"
#include "coterie/stats/comparison.hpp"

namespace coterie {

enum class TableFormat { text, markdown, latex, csv, html };

using Cells = std::vector<std::string>;

// The first line is the header. Names in the first columns, numbers in the others.
std::string table_text(const std::vector<Cells>& lines, std::size_t names, TableFormat format);
std::string paragraph(const std::string& text, TableFormat format);

std::string p_text(double p);  // 0.0123, 1.2e-05, "-" for NaN

struct ComparedBlock {
  const ResultBlock& results;
  const Comparison& comparison;

  const std::string& method(Index i) const { return results.methods[static_cast<std::size_t>(i)]; }
  const std::string& control() const { return method(comparison.control); }
};

// Friedman's test, Nemenyi's critical difference, and the table of ranks and Holm's procedure.
std::string comparison_text(const ComparedBlock& block, double alpha, TableFormat format);
// The table alone, numbers in full, of all blocks; `with_block` puts their names into the first column.
std::string comparisons_csv(const std::vector<ComparedBlock>& blocks, bool with_block);
CriticalDifference diagram_of(const ComparedBlock& block, const std::string& title, double alpha);

}  // namespace coterie
