// As much of Arduino's Servo library as the sketches use.
#pragma once
#include "Arduino.h"

#if defined(ESP32) && !defined(ESP32_SERVO)
#error "Arduino's Servo library has no ESP32"
#endif

struct Servo {
    void attach(int) {}
    void write(int degrees);
};
