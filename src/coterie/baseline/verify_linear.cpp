#include "coterie/baseline/verify_linear.hpp"
