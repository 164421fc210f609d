#include "coterie/math/clip.hpp"
