#include "coterie/page/page.hpp"

#include "coterie/page/views.hpp"

namespace coterie {
namespace {

page::Json frame(const std::string& title, const char* kind) {
  return {
      {"version", 1}, {"kind", kind}, {"title", title}, {"made_by", "coterie " COTERIE_VERSION}};
}

}  // namespace

std::string as_page(const ModelPage& page) {
  page::Json data = frame(page.title, "model");
  data.update(page::explorer(page));
  return page::document(page.title, data);
}

std::string as_page(const PathPage& page) {
  page::Json data = frame(page.title, "path");
  data.update(page::explorer(page));
  return page::document(page.title, data);
}

std::string as_page(const SelectionPage& page) {
  page::Json data = frame(page.title, "selection");
  data.update(page::explorer(ModelPage{.title = page.title, .model = page.model}));
  data["selection"] = page::grid_view(page.contest);
  return page::document(page.title, data);
}

std::string as_page(const StudyPage& page) {
  page::Json data = frame(page.title, "study");
  data["study"] = page::study_view(page.experiment);
  return page::document(page.title, data);
}

}  // namespace coterie
