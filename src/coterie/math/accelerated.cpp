#include "coterie/math/accelerated.hpp"
