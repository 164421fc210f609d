#include "coterie/baseline/whom.hpp"
