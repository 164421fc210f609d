#include "coterie/stats/partitions.hpp"
