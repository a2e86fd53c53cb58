// `strftime_now`: a time by a format, in English, as Python's datetime.strftime writes a time without a zone.
#pragma once

#include <ctime>

#include "template/values/evaluation.h"

namespace octavo::jinja {

const Text* format_time(Evaluation& evaluation, const Text& format, const std::tm& time);

}  // namespace octavo::jinja
