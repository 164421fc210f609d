#include "coterie/baseline/train_method.hpp"
