#include "coterie/baseline/verify_method.hpp"
