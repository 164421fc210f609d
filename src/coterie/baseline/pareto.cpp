#include "coterie/baseline/pareto.hpp"
