#include "coterie/baseline/tang.hpp"
