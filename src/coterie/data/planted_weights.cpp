#include "coterie/data/planted_weights.hpp"
