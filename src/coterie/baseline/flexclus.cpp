#include "coterie/baseline/flexclus.hpp"
