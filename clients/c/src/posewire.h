/*
 * posewire.h - receives Posewire's poses from a serial line, version 1 of the protocol.
 *
 * One C99 header, also valid C++ (Arduino): no allocation, no recursion, no library but <stdint.h> and <string.h>.
 * docs/wire.md of the project is the specification. Include it wherever it is needed; everything is static.
 *
 *     pw_decoder decoder;
 *     pw_event event;
 *     pw_decoder_init(&decoder);
 *     for each received byte:
 *         if (pw_decoder_push(&decoder, byte, &event) && event.kind == PW_EVENT_POSE && event.as.pose.persons > 0) {
 *             const pw_joint *wrist = &event.as.pose.joints[PW_RIGHT_WRIST];
 *             if (pw_joint_state(wrist) != PW_ABSENT)
 *                 use(pw_joint_x_px(&event.as.pose, PW_RIGHT_WRIST));
 *         }
 *
 * Who wants all persons of a moment together gives each POSE to pw_assembly_push, which calls back with whole moments.
 *
 * Bytes of RAM: a decoder PW_MAX_FRAME + 30 or so, an event about 250, an assembly PW_MAX_PERSONS times 250.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef POSEWIRE_H
#define POSEWIRE_H

#include <stdint.h>
#include <string.h>

#define PW_VERSION 1
#define PW_DEFAULT_BAUD 115200 /* 8N1 */
#define PW_JOINTS 17

/*
 * Longest frame of version 1, its 0x00 included. A board short of RAM may define 256 before including this file: every
 * packet that exists today fits, longer ones of the future are then counted as overfull.
 */
#ifndef PW_MAX_FRAME
#define PW_MAX_FRAME 512
#endif
#if PW_MAX_FRAME < 242
#error "PW_MAX_FRAME is 242 at least, the longest packet of today: below, every pose with 3D would be overfull"
#endif

/* Persons of a moment that an assembly has room for, 1 to 8; those of a higher index it does not keep. */
#ifndef PW_MAX_PERSONS
#define PW_MAX_PERSONS 8
#endif
#if PW_MAX_PERSONS < 1 || PW_MAX_PERSONS > 8
#error "PW_MAX_PERSONS is 1 to 8: a moment has no more"
#endif

/* Silence, in ms, after which the rest of a moment is not coming: call pw_assembly_flush then. */
#define PW_QUIET_MS 50

/* COCO's joints; left and right are the person's own. */
enum {
    PW_NOSE, PW_LEFT_EYE, PW_RIGHT_EYE, PW_LEFT_EAR, PW_RIGHT_EAR, PW_LEFT_SHOULDER, PW_RIGHT_SHOULDER,
    PW_LEFT_ELBOW, PW_RIGHT_ELBOW, PW_LEFT_WRIST, PW_RIGHT_WRIST, PW_LEFT_HIP, PW_RIGHT_HIP, PW_LEFT_KNEE,
    PW_RIGHT_KNEE, PW_LEFT_ANKLE, PW_RIGHT_ANKLE
};

enum { PW_ABSENT = 0, PW_MEASURED = 1, PW_PREDICTED = 2 };

/* What pw_decoder_push says. The packets' kinds are their types on the wire. */
enum {
    PW_EVENT_HELLO = 0x01,
    PW_EVENT_POSE = 0x02,
    PW_EVENT_STATUS = 0x03,
    PW_EVENT_PLACE = 0x04,
    PW_EVENT_NOTICE = 0x05,
    PW_EVENT_COMMAND = 0x81,
    PW_EVENT_RECEIPT = 0x82,
    /* Frames that gave no packet. */
    PW_FAULT_OVERFULL = 0xf0,
    PW_FAULT_FRAMING,
    PW_FAULT_CRC,
    PW_FAULT_VERSION,      /* detail: the version */
    PW_FAULT_UNKNOWN_TYPE, /* detail: the type */
    PW_FAULT_MALFORMED     /* detail: the type */
};

/* What a NOTICE tells of; PW_COUNT: there are now `persons`. */
enum {
    PW_APPEAR = 1, PW_LEAVE, PW_ENTER, PW_EXIT, PW_LEFT_HAND_RAISED, PW_LEFT_HAND_LOWERED, PW_RIGHT_HAND_RAISED,
    PW_RIGHT_HAND_LOWERED, PW_ARMS_CROSSED, PW_ARMS_UNCROSSED, PW_FALL, PW_GOT_UP, PW_COUNT
};

/* A STATUS's source. With the built-in clip nobody is there. */
enum { PW_SOURCE_RUNNING = 1, PW_SOURCE_LOST, PW_SOURCE_REPLAY, PW_SOURCE_BUILT_IN };

enum { PW_COMMAND_REQUEST_HELLO = 1, PW_COMMAND_SET_RATE = 2, PW_COMMAND_RESET = 3 };

/* In units of 2^scale/8 px; see pw_joint_x_px. */
typedef struct {
    int16_t x, y;
    uint8_t sigma; /* pw_sigma_steps */
    uint8_t mark;  /* bits 0-1 state, bits 2-7 score in 1/63 */
} pw_joint;

typedef struct {
    uint32_t seq;
    int64_t captured_us; /* capture time, host's monotonic clock */
    int32_t age_us;      /* how old that was when the packet was sent */
    int32_t horizon_us;  /* what the pose describes: this long after the capture */
    uint32_t track_id;   /* stable identity, from 1 */
    uint8_t score;       /* 1/255 */
    uint8_t index;       /* which of the moment's persons, from 0 */
    uint8_t persons;     /* how many the moment has; 0: nobody, and nothing below means anything */
    uint8_t scale;
    uint8_t has_3d;
    pw_joint joints[PW_JOINTS];
    int16_t mm[PW_JOINTS][3]; /* hip-centred: x right in the image, y down, z away from the camera; if has_3d */
} pw_pose;

typedef struct {
    uint8_t minor, skeleton, joints, max_persons;
    uint8_t model_hash[8];
    char backend[17]; /* with a 0 at its end */
    uint16_t width, height;         /* source image, px */
    uint16_t frame_rate, pose_rate; /* 1/100 Hz */
    uint8_t scale, flags;
    uint16_t load; /* 1/1000 of the line */
    uint32_t uptime_ms, frames_dropped, poses_dropped, packets_sent;
} pw_hello;

typedef struct {
    uint32_t uptime_ms;
    int16_t temperature; /* 1/100 degree C; -32768: no sensor */
    uint16_t frame_rate; /* 1/100 Hz */
    uint32_t frames_dropped, poses_dropped, camera_losses, camera_errors, wire_errors;
    uint8_t source, persons;
    uint16_t flags;
} pw_status;

/* Where one person stands before the camera, beside the POSE of the same seq and track_id; mm. */
typedef struct {
    uint32_t seq;
    int64_t captured_us;
    uint32_t track_id;
    uint16_t distance_mm, distance_sigma_mm; /* from the camera to the middle of the hips */
    int16_t at_mm[3];                        /* x right in the picture, y down, z along the lens's axis */
    uint16_t sigma_mm[3];
} pw_place;

/* Something that happened. `number` counts them: a gap is a loss. */
typedef struct {
    uint32_t number;
    int64_t captured_us;
    uint32_t track_id; /* 0: nobody's doing */
    uint8_t code;      /* PW_APPEAR ... PW_COUNT; later versions may know more */
    uint8_t persons;
    uint8_t zone;       /* its place in the file of zones, from 1; 0: none */
    char zone_name[13]; /* with a 0 at its end */
} pw_notice;

typedef struct {
    uint8_t code;
    uint32_t argument;
} pw_command;

typedef struct {
    uint32_t seq, packets, crc_errors, framing_errors, overfull, skipped, overruns, superseded, busy_us;
} pw_receipt;

typedef struct {
    uint8_t kind;   /* PW_EVENT_... or PW_FAULT_... */
    uint8_t detail; /* of some faults */
    union {
        pw_hello hello;
        pw_pose pose;
        pw_status status;
        pw_place place;
        pw_notice notice;
        pw_command command;
        pw_receipt receipt;
    } as;
} pw_event;

typedef struct {
    uint32_t packets, overfull, framing, crc, version, unknown_type, malformed;
} pw_counters;

typedef struct {
    pw_counters counters;
    uint16_t len; /* bytes since the last 0x00; PW_MAX_FRAME: too many, waiting for the next 0x00 */
    uint8_t frame[PW_MAX_FRAME];
} pw_decoder;

/* The persons that were sent with one seq. */
typedef struct {
    uint32_t seq;
    int64_t captured_us;
    int32_t age_us; /* of the newest of its packets here */
    int32_t horizon_us;
    uint8_t expected; /* how many it was sent with */
    uint8_t present;  /* bit i: poses[i] arrived */
    pw_pose poses[PW_MAX_PERSONS];
} pw_moment;

typedef struct {
    uint32_t given, incomplete; /* moments; of these, with a person's packet missing */
    uint32_t missed;            /* moments that the sender counted and of which no packet arrived */
    uint32_t refused;           /* packets that were doubled, late, or contradicted their own moment */
} pw_moment_counters;

typedef struct {
    pw_moment_counters counters;
    uint8_t is_pending, has_begun;
    pw_moment moment; /* also the moment that was begun last, where none is pending */
} pw_assembly;

/* Gets each moment as it ends; it is there for the time of the call. */
typedef void (*pw_give)(const pw_moment *moment, void *context);

/* ---- poses in plain values ---- */

static inline uint8_t pw_joint_state(const pw_joint *joint) {
    uint8_t state = joint->mark & 3u;
    return state == 3u ? (uint8_t)PW_ABSENT : state;
}

static inline float pw_joint_score(const pw_joint *joint) { return (float)(joint->mark >> 2) / 63.0f; }

static inline float pw_joint_x_px(const pw_pose *pose, uint8_t joint) {
    return (float)pose->joints[joint].x * (float)(1ul << pose->scale) / 8.0f;
}

static inline float pw_joint_y_px(const pw_pose *pose, uint8_t joint) {
    return (float)pose->joints[joint].y * (float)(1ul << pose->scale) / 8.0f;
}

/* Steps of 2^scale/16 px; 0: none given. */
static inline uint16_t pw_sigma_steps(uint8_t code) {
    uint8_t e = code >> 5;
    uint16_t m = code & 31u;
    if (e == 0) return m;
    return (uint16_t)((32u + m) << (e - 1));
}

static inline float pw_joint_sigma_px(const pw_pose *pose, uint8_t joint) {
    return (float)pw_sigma_steps(pose->joints[joint].sigma) * (float)(1ul << pose->scale) / 16.0f;
}

/* The sum, or the end of an i64's range that it would pass. */
static inline int64_t pw__after(int64_t at_us, int32_t us) {
    if (us > 0 && at_us > INT64_MAX - us) return INT64_MAX;
    if (us < 0 && at_us < INT64_MIN - us) return INT64_MIN;
    return at_us + us;
}

/* When it was handed to the sender's serial driver, and the moment that its poses speak of; host's monotonic clock. */
static inline int64_t pw_moment_sent_us(const pw_moment *m) { return pw__after(m->captured_us, m->age_us); }
static inline int64_t pw_moment_valid_us(const pw_moment *m) { return pw__after(m->captured_us, m->horizon_us); }

/* Whether every person that was sent, and that there is room for, is there. */
static inline int pw_moment_is_whole(const pw_moment *m) {
    uint8_t room = m->expected < PW_MAX_PERSONS ? m->expected : (uint8_t)PW_MAX_PERSONS;
    return m->present == (uint8_t)((1u << room) - 1u);
}

/* ---- inside ---- */

static inline uint16_t pw__u16(const uint8_t *p) { return (uint16_t)(p[0] | (uint16_t)p[1] << 8); }
static inline uint32_t pw__u32(const uint8_t *p) { return (uint32_t)pw__u16(p) | (uint32_t)pw__u16(p + 2) << 16; }

/* Two's complement without relying on what the compiler makes of a conversion that does not fit. */
static inline int16_t pw__i16(const uint8_t *p) {
    uint16_t u = pw__u16(p);
    return u < 0x8000u ? (int16_t)u : (int16_t)(-1 - (int16_t)(0xffffu - u));
}
static inline int32_t pw__i32(const uint8_t *p) {
    uint32_t u = pw__u32(p);
    return u < 0x80000000ul ? (int32_t)u : (int32_t)(-1 - (int32_t)(0xfffffffful - u));
}
static inline int64_t pw__i64(const uint8_t *p) {
    uint64_t u = (uint64_t)pw__u32(p) | (uint64_t)pw__u32(p + 4) << 32;
    return u < 0x8000000000000000ull ? (int64_t)u : -1 - (int64_t)(0xffffffffffffffffull - u);
}

static inline void pw__put32(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

/* CRC-32/ISO-HDLC, four bits at a time: 64 bytes of table. */
static inline uint32_t pw__crc(const uint8_t *p, uint16_t len) {
    static const uint32_t table[16] = {
        0x00000000ul, 0x1db71064ul, 0x3b6e20c8ul, 0x26d930acul, 0x76dc4190ul, 0x6b6b51f4ul,
        0x4db26158ul, 0x5005713cul, 0xedb88320ul, 0xf00f9344ul, 0xd6d6a3e8ul, 0xcb61b38cul,
        0x9b64c2b0ul, 0x86d3d2d4ul, 0xa00ae278ul, 0xbdbdf21cul};
    uint32_t crc = 0xfffffffful;
    while (len--) {
        crc ^= *p++;
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return crc ^ 0xfffffffful;
}

/* COBS decoding in place; the length, or -1 where the codes run past the end. */
static inline int16_t pw__unstuff(uint8_t *p, uint16_t len) {
    uint16_t from = 0, to = 0;
    while (from < len) {
        uint8_t code = p[from++];
        uint8_t n = (uint8_t)(code - 1u); /* no byte of a frame is zero */
        if (n > len - from) return -1;
        memmove(p + to, p + from, n);
        from = (uint16_t)(from + n);
        to = (uint16_t)(to + n);
        if (code != 0xff && from < len) p[to++] = 0;
    }
    return (int16_t)to;
}

static inline uint8_t pw__hello(const uint8_t *b, uint16_t len, pw_hello *h) {
    if (len < 56) return PW_FAULT_MALFORMED;
    h->minor = b[0];
    h->skeleton = b[1];
    h->joints = b[2];
    h->max_persons = b[3];
    memcpy(h->model_hash, b + 4, 8);
    memcpy(h->backend, b + 12, 16);
    h->backend[16] = 0;
    h->width = pw__u16(b + 28);
    h->height = pw__u16(b + 30);
    h->frame_rate = pw__u16(b + 32);
    h->pose_rate = pw__u16(b + 34);
    h->scale = b[36];
    h->flags = b[37];
    h->load = pw__u16(b + 38);
    h->uptime_ms = pw__u32(b + 40);
    h->frames_dropped = pw__u32(b + 44);
    h->poses_dropped = pw__u32(b + 48);
    h->packets_sent = pw__u32(b + 52);
    return PW_EVENT_HELLO;
}

static inline uint8_t pw__pose(const uint8_t *b, uint16_t len, pw_pose *p) {
    uint8_t j, k;
    if (len < 28) return PW_FAULT_MALFORMED;
    memset(p, 0, sizeof *p);
    p->seq = pw__u32(b);
    p->captured_us = pw__i64(b + 4);
    p->age_us = pw__i32(b + 12);
    p->horizon_us = pw__i32(b + 16);
    p->persons = b[26];
    if (p->persons == 0) return PW_EVENT_POSE;
    p->track_id = pw__u32(b + 20);
    p->score = b[24];
    p->index = b[25];
    p->scale = b[27] & 15u;
    p->has_3d = b[27] >> 4 & 1u;
    if (p->index >= p->persons || p->scale > 8 || len < (p->has_3d ? 232 : 130)) return PW_FAULT_MALFORMED;
    b += 28;
    for (j = 0; j < PW_JOINTS; j++, b += 6) {
        p->joints[j].x = pw__i16(b);
        p->joints[j].y = pw__i16(b + 2);
        p->joints[j].sigma = b[4];
        p->joints[j].mark = b[5];
    }
    for (j = 0; p->has_3d && j < PW_JOINTS; j++)
        for (k = 0; k < 3; k++, b += 2) p->mm[j][k] = pw__i16(b);
    return PW_EVENT_POSE;
}

static inline uint8_t pw__status(const uint8_t *b, uint16_t len, pw_status *s) {
    if (len < 32) return PW_FAULT_MALFORMED;
    s->uptime_ms = pw__u32(b);
    s->temperature = pw__i16(b + 4);
    s->frame_rate = pw__u16(b + 6);
    s->frames_dropped = pw__u32(b + 8);
    s->poses_dropped = pw__u32(b + 12);
    s->camera_losses = pw__u32(b + 16);
    s->camera_errors = pw__u32(b + 20);
    s->wire_errors = pw__u32(b + 24);
    s->source = b[28];
    s->persons = b[29];
    s->flags = pw__u16(b + 30);
    return PW_EVENT_STATUS;
}

static inline uint8_t pw__place(const uint8_t *b, uint16_t len, pw_place *p) {
    uint8_t k;
    if (len < 32) return PW_FAULT_MALFORMED;
    p->seq = pw__u32(b);
    p->captured_us = pw__i64(b + 4);
    p->track_id = pw__u32(b + 12);
    p->distance_mm = pw__u16(b + 16);
    p->distance_sigma_mm = pw__u16(b + 18);
    for (k = 0; k < 3; k++) {
        p->at_mm[k] = pw__i16(b + 20 + 2 * k);
        p->sigma_mm[k] = pw__u16(b + 26 + 2 * k);
    }
    return PW_EVENT_PLACE;
}

static inline uint8_t pw__notice(const uint8_t *b, uint16_t len, pw_notice *n) {
    if (len < 32) return PW_FAULT_MALFORMED;
    n->number = pw__u32(b);
    n->captured_us = pw__i64(b + 4);
    n->track_id = pw__u32(b + 12);
    n->code = b[16];
    n->persons = b[17];
    n->zone = b[18];
    memcpy(n->zone_name, b + 20, 12);
    n->zone_name[12] = 0;
    return PW_EVENT_NOTICE;
}

static inline uint8_t pw__command(const uint8_t *b, uint16_t len, pw_command *c) {
    if (len < 8) return PW_FAULT_MALFORMED;
    c->code = b[0];
    c->argument = pw__u32(b + 4);
    if (c->code < PW_COMMAND_REQUEST_HELLO || c->code > PW_COMMAND_RESET) return PW_FAULT_UNKNOWN_TYPE;
    if (c->code != PW_COMMAND_SET_RATE) c->argument = 0;
    if (c->argument > 0xffffu) c->argument = 0xffffu;
    return PW_EVENT_COMMAND;
}

static inline uint8_t pw__receipt(const uint8_t *b, uint16_t len, pw_receipt *r) {
    if (len < 36) return PW_FAULT_MALFORMED;
    r->seq = pw__u32(b);
    r->packets = pw__u32(b + 4);
    r->crc_errors = pw__u32(b + 8);
    r->framing_errors = pw__u32(b + 12);
    r->overfull = pw__u32(b + 16);
    r->skipped = pw__u32(b + 20);
    r->overruns = pw__u32(b + 24);
    r->superseded = pw__u32(b + 28);
    r->busy_us = pw__u32(b + 32);
    return PW_EVENT_RECEIPT;
}

/* A frame without its 0x00, decoded in place. */
static inline void pw__parse(uint8_t *frame, uint16_t frame_len, pw_event *event) {
    int16_t len = pw__unstuff(frame, frame_len);
    uint16_t body_len;
    const uint8_t *body = frame + 4;
    event->detail = 0;
    if (len < 8) {
        event->kind = PW_FAULT_FRAMING;
        return;
    }
    body_len = (uint16_t)(len - 8);
    if (pw__crc(frame, (uint16_t)(len - 4)) != pw__u32(frame + len - 4)) {
        event->kind = PW_FAULT_CRC;
        return;
    }
    if (frame[0] != PW_VERSION) {
        event->kind = PW_FAULT_VERSION;
        event->detail = frame[0];
        return;
    }
    if (pw__u16(frame + 2) != body_len) {
        event->kind = PW_FAULT_FRAMING;
        return;
    }
    event->detail = frame[1];
    switch (frame[1]) {
    case PW_EVENT_HELLO: event->kind = pw__hello(body, body_len, &event->as.hello); break;
    case PW_EVENT_POSE: event->kind = pw__pose(body, body_len, &event->as.pose); break;
    case PW_EVENT_STATUS: event->kind = pw__status(body, body_len, &event->as.status); break;
    case PW_EVENT_PLACE: event->kind = pw__place(body, body_len, &event->as.place); break;
    case PW_EVENT_NOTICE: event->kind = pw__notice(body, body_len, &event->as.notice); break;
    case PW_EVENT_COMMAND: event->kind = pw__command(body, body_len, &event->as.command); break;
    case PW_EVENT_RECEIPT: event->kind = pw__receipt(body, body_len, &event->as.receipt); break;
    default: event->kind = PW_FAULT_UNKNOWN_TYPE; break;
    }
}

static inline void pw__count(pw_counters *c, uint8_t kind) {
    switch (kind) {
    case PW_FAULT_OVERFULL: c->overfull++; break;
    case PW_FAULT_FRAMING: c->framing++; break;
    case PW_FAULT_CRC: c->crc++; break;
    case PW_FAULT_VERSION: c->version++; break;
    case PW_FAULT_UNKNOWN_TYPE: c->unknown_type++; break;
    case PW_FAULT_MALFORMED: c->malformed++; break;
    default: c->packets++; break;
    }
}

static inline uint8_t pw__frame(uint8_t *out, uint8_t kind, const uint8_t *body, uint8_t body_len) {
    /* A payload below 255 bytes: each block ends at a zero or at the payload's end. */
    uint8_t payload[64], code_at = 0, to = 1, i, len = (uint8_t)(body_len + 8u);
    payload[0] = PW_VERSION;
    payload[1] = kind;
    payload[2] = body_len;
    payload[3] = 0;
    memcpy(payload + 4, body, body_len);
    pw__put32(payload + 4 + body_len, pw__crc(payload, (uint16_t)(body_len + 4)));
    for (i = 0; i < len; i++) {
        if (payload[i] != 0) {
            out[to++] = payload[i];
        } else {
            out[code_at] = (uint8_t)(to - code_at);
            code_at = to++;
        }
    }
    out[code_at] = (uint8_t)(to - code_at);
    out[to++] = 0;
    return to;
}

/* ---- receiving ---- */

static inline void pw_decoder_init(pw_decoder *decoder) { memset(decoder, 0, sizeof *decoder); }

/*
 * Takes one byte. Returns 1 and fills `event` where it ended a frame (or made one too long), else 0 with `event` as it was.
 * Every 0x00 starts afresh: damage costs the frames that it touches.
 */
static inline int pw_decoder_push(pw_decoder *decoder, uint8_t byte, pw_event *event) {
    uint16_t len = decoder->len;
    if (byte != 0) {
        if (len >= PW_MAX_FRAME) return 0;
        decoder->frame[len] = byte;
        decoder->len = (uint16_t)(len + 1);
        if (decoder->len < PW_MAX_FRAME) return 0;
        event->kind = PW_FAULT_OVERFULL;
        event->detail = 0;
    } else {
        decoder->len = 0;
        if (len == 0 || len >= PW_MAX_FRAME) return 0;
        pw__parse(decoder->frame, len, event);
    }
    pw__count(&decoder->counters, event->kind);
    return 1;
}

/* ---- moments: the rules of docs/wire.md ---- */

static inline void pw_assembly_init(pw_assembly *assembly) { memset(assembly, 0, sizeof *assembly); }

/* Gives what is there of a moment whose last packet is not coming. */
static inline void pw_assembly_flush(pw_assembly *assembly, pw_give give, void *context) {
    if (!assembly->is_pending) return;
    assembly->is_pending = 0;
    assembly->counters.given++;
    if (!pw_moment_is_whole(&assembly->moment)) assembly->counters.incomplete++;
    give(&assembly->moment, context);
}

/* A packet up to 15 moments back and captured no later than the newest is late; any other step back is a sender anew. */
static inline int pw__is_late(const pw_assembly *assembly, const pw_pose *pose) {
    return assembly->has_begun && (uint32_t)(assembly->moment.seq - pose->seq) < 16u &&
           pose->captured_us <= assembly->moment.captured_us;
}

static inline void pw__begin(pw_assembly *assembly, const pw_pose *pose) {
    pw_moment *m = &assembly->moment;
    uint32_t step = pose->seq - m->seq;
    /* Only a step forward of less than half the range is a gap. */
    if (assembly->has_begun && step >= 2u && step < 0x80000000ul) assembly->counters.missed += step - 1u;
    assembly->has_begun = assembly->is_pending = 1;
    m->seq = pose->seq;
    m->captured_us = pose->captured_us;
    m->horizon_us = pose->horizon_us;
    m->expected = pose->persons;
    m->present = 0;
}

/* Whether the packet brought anything new: the first one's word holds. */
static inline int pw__insert(pw_moment *m, const pw_pose *pose) {
    if (pose->persons != m->expected || pose->horizon_us != m->horizon_us) return 0;
    if (pose->persons > 0 && pose->index < PW_MAX_PERSONS) {
        if (m->present >> pose->index & 1) return 0;
        m->present = (uint8_t)(m->present | 1u << pose->index);
        m->poses[pose->index] = *pose;
    }
    m->age_us = pose->age_us;
    return 1;
}

/* Takes a POSE; gives each moment that it ends: none, one, or the one before and its own. */
static inline void pw_assembly_push(pw_assembly *assembly, const pw_pose *pose, pw_give give, void *context) {
    pw_moment *m = &assembly->moment;
    if (!assembly->is_pending || m->seq != pose->seq || m->captured_us != pose->captured_us) {
        if (pw__is_late(assembly, pose)) {
            assembly->counters.refused++;
            return;
        }
        pw_assembly_flush(assembly, give, context);
        pw__begin(assembly, pose);
    }
    if (!pw__insert(m, pose))
        assembly->counters.refused++;
    else if (pw_moment_is_whole(m))
        pw_assembly_flush(assembly, give, context);
}

/* ---- sending ---- */

#define PW_COMMAND_MAX 18 /* bytes of a COMMAND's frame */
#define PW_RECEIPT_MAX 46 /* bytes of a RECEIPT's frame */

/* Writes the frame of a command into `out` (PW_COMMAND_MAX bytes) and returns its length. */
static inline uint8_t pw_encode_command(uint8_t *out, uint8_t code, uint32_t argument) {
    uint8_t body[8] = {0};
    body[0] = code;
    pw__put32(body + 4, argument);
    return pw__frame(out, PW_EVENT_COMMAND, body, sizeof body);
}

/* Writes the frame of a receipt into `out` (PW_RECEIPT_MAX bytes) and returns its length. */
static inline uint8_t pw_encode_receipt(uint8_t *out, const pw_receipt *r) {
    uint8_t body[36];
    pw__put32(body, r->seq);
    pw__put32(body + 4, r->packets);
    pw__put32(body + 8, r->crc_errors);
    pw__put32(body + 12, r->framing_errors);
    pw__put32(body + 16, r->overfull);
    pw__put32(body + 20, r->skipped);
    pw__put32(body + 24, r->overruns);
    pw__put32(body + 28, r->superseded);
    pw__put32(body + 32, r->busy_us);
    return pw__frame(out, PW_EVENT_RECEIPT, body, sizeof body);
}

#endif
