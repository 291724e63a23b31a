// The library that an ESP32's sketches take instead of Servo.
#pragma once
#define ESP32_SERVO
#include "Servo.h"
