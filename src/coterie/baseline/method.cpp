#include "coterie/baseline/method.hpp"
