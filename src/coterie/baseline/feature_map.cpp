#include "coterie/baseline/feature_map.hpp"
