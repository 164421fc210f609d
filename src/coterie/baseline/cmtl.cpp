#include "coterie/baseline/cmtl.hpp"
