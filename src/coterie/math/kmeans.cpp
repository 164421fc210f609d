#include "coterie/math/kmeans.hpp"
