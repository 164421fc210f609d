// A promise in front of a loop: nothing in it asks for memory. It costs nothing and is kept by hand; programs compiled with
// EIGEN_RUNTIME_NO_MALLOC (svm/allocation_test.cpp) end where it is broken.
#pragma once

#include <Eigen/Core>

namespace coterie {

class NoAllocation {
 public:
#ifdef EIGEN_RUNTIME_NO_MALLOC
  NoAllocation() { Eigen::internal::set_is_malloc_allowed(false); }
  ~NoAllocation() { Eigen::internal::set_is_malloc_allowed(true); }
#else
  NoAllocation() {}  // NOLINT(modernize-use-equals-default): not trivial, so that one without a use
  ~NoAllocation() {}  // NOLINT(modernize-use-equals-default): is no warning
#endif
  NoAllocation(const NoAllocation&) = delete;
  NoAllocation& operator=(const NoAllocation&) = delete;
};

}  // namespace coterie
