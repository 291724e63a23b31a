// As much of Arduino's Servo library as the sketches use.
#pragma once
#include "Arduino.h"

struct Servo {
    void attach(int) {}
    void write(int degrees);
};
