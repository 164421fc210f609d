#include "coterie/math/isotonic.hpp"
