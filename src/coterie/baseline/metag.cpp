#include "coterie/baseline/metag.hpp"
