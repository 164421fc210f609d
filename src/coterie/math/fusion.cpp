#include "coterie/math/fusion.hpp"
