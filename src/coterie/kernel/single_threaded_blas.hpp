// BLAS and our own threads.
#pragma once

namespace coterie {

// While one of these lives, OpenBLAS uses one thread per call: our own threads are the parallel ones, and a product has
// the same bits whatever their number. The last one to go restores the setting.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

}  // namespace coterie
