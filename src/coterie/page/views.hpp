// The parts of the data of pages.
#pragma once

#include "coterie/page/document.hpp"
#include "coterie/page/page.hpp"

namespace coterie::page {

Json explorer(const ModelPage& page);
Json explorer(const PathPage& page);
Json grid_view(const Contest& contest);
Json study_view(const Experiment& experiment);

// "This model is certified within 1.5e-05 of the optimum ..."
std::string certificate_sentence(const Certificate& proof);

}  // namespace coterie::page
