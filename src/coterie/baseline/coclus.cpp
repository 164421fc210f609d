#include "coterie/baseline/coclus.hpp"
