#include "coterie/baseline/linear.hpp"
