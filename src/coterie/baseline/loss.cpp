#include "coterie/baseline/loss.hpp"
