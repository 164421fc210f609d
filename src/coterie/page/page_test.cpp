#include "coterie/page/page.hpp"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(Page, Placeholder) { SUCCEED(); }

}  // namespace
}  // namespace coterie
