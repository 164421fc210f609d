#include "coterie/experiment/experiment.hpp"

#include <gtest/gtest.h>
