#include "coterie/baseline/plain.hpp"
