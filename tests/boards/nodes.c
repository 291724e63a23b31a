/* Imitated video nodes, for a program that is started with this library in LD_PRELOAD.
 *
 * What lies under /dev/video*, /dev/v4l and /sys/class/video4linux is looked for below the folder that BOARD names, where a node is
 * a text file:
 *
 *     driver uvcvideo
 *     card HD Webcam
 *     caps 04200001                 its own capabilities, as VIDIOC_QUERYCAP gives them
 *     format MJPG 640x480 30        a mode; without size and rate, a format of which no size is told
 *     sends 10                      frames a second, of BOARD/pictures/0.jpg and on; without it nothing ever comes
 *
 * A node whose file goes away while it is open is a camera that was unplugged. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NODES = 1024, MODES = 16, BUFFERS = 8, BUFFER_BYTES = 1 << 19 };

struct mode {
    uint32_t fourcc, width, height, fps;
};

struct node {
    char path[512];
    char driver[16], card[32];
    uint32_t caps;
    struct mode modes[MODES], set;
    int count, fps, streaming;
    int queued[BUFFERS], waiting;
    uint32_t sequence;
    int64_t due_us;
    unsigned char *memory;
};

static struct node *nodes[NODES];

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Where `path` is looked for; `path` itself where it is no board's. */
static const char *mapped(const char *path, char *room) {
    const char *root = getenv("BOARD");
    if (!root || !path) return path;
    int is_board = begins(path, "/dev/video") || begins(path, "/dev/v4l") || begins(path, "/sys/class/video4linux") ||
                   !strcmp(path, "/dev") || !strcmp(path, "/dev/") || !strcmp(path, "/etc/nv_tegra_release");
    if (!is_board) return path;
    snprintf(room, 512, "%s%s", root, path);
    return room;
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* --- a node's text */

static struct node *read_node(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    struct node *node = calloc(1, sizeof *node);
    char line[256];
    snprintf(node->path, sizeof node->path, "%s", path);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        struct mode *mode = &node->modes[node->count];
        char fourcc[5] = "    ";
        if (begins(line, "driver ")) snprintf(node->driver, sizeof node->driver, "%.15s", line + 7);
        if (begins(line, "card ")) snprintf(node->card, sizeof node->card, "%.31s", line + 5);
        sscanf(line, "caps %x", &node->caps);
        sscanf(line, "sends %d", &node->fps);
        if (node->count < MODES && sscanf(line, "format %4c %ux%u %u", fourcc, &mode->width, &mode->height, &mode->fps) >= 1) {
            memcpy(&mode->fourcc, fourcc, 4);
            node->count++;
        }
    }
    fclose(file);
    return node;
}

static int open_node(const char *path) {
    struct node *node = read_node(path);
    if (!node) return -1;
    int fd = memfd_create("node", 0);
    if (fd < 0 || fd >= NODES || ftruncate(fd, (off_t)BUFFERS * BUFFER_BYTES)) return -1;
    node->memory = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    nodes[fd] = node;
    return fd;
}

static int is_gone(const struct node *node) { return access(node->path, F_OK) != 0; }

static struct node *at(int fd) { return fd >= 0 && fd < NODES ? nodes[fd] : NULL; }

/* --- ioctl */

static int refuse(int error) {
    errno = error;
    return -1;
}

/* The `index`th of what differs in `key`, or -1. */
static int nth(const struct node *node, uint32_t index, uint64_t (*key)(const struct mode *), uint32_t fourcc, uint32_t width) {
    uint64_t seen[MODES];
    uint32_t found = 0;
    for (int i = 0; i < node->count; i++) {
        const struct mode *mode = &node->modes[i];
        if ((fourcc && mode->fourcc != fourcc) || (width && mode->width != width)) continue;
        if (fourcc && !mode->width) continue;
        uint32_t j = 0;
        while (j < found && seen[j] != key(mode)) j++;
        if (j < found) continue;
        if (found == index) return i;
        seen[found++] = key(mode);
    }
    return -1;
}

static uint64_t by_fourcc(const struct mode *m) { return m->fourcc; }
static uint64_t by_size(const struct mode *m) { return (uint64_t)m->width << 32 | m->height; }
static uint64_t by_rate(const struct mode *m) { return m->fps; }

static int take_picture(struct node *node, struct v4l2_buffer *buffer) {
    if (!node->waiting || !node->fps || now_us() < node->due_us) return refuse(EAGAIN);
    char path[600];
    snprintf(path, sizeof path, "%s/pictures/%u.jpg", getenv("BOARD"), node->sequence % 6);
    FILE *file = fopen(path, "r");
    if (!file) return refuse(EIO);
    buffer->index = node->queued[0];
    memmove(node->queued, node->queued + 1, --node->waiting * sizeof *node->queued);
    buffer->bytesused = fread(node->memory + (size_t)buffer->index * BUFFER_BYTES, 1, BUFFER_BYTES, file);
    fclose(file);
    buffer->sequence = node->sequence++;
    buffer->timestamp.tv_sec = node->due_us / 1000000;
    buffer->timestamp.tv_usec = node->due_us % 1000000;
    buffer->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE | V4L2_BUF_FLAG_MAPPED;
    node->due_us += 1000000 / node->fps;
    return 0;
}

static int answer(struct node *node, unsigned long request, void *argument) {
    if (is_gone(node)) return refuse(ENODEV);
    int is_capture = node->caps & V4L2_CAP_VIDEO_CAPTURE;
    switch (request) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *caps = argument;
        memset(caps, 0, sizeof *caps);
        memcpy(caps->driver, node->driver, sizeof node->driver);
        memcpy(caps->card, node->card, sizeof node->card);
        caps->capabilities = node->caps | V4L2_CAP_DEVICE_CAPS;
        caps->device_caps = node->caps;
        return 0;
    }
    case VIDIOC_ENUM_FMT: {
        struct v4l2_fmtdesc *format = argument;
        int i = nth(node, format->index, by_fourcc, 0, 0);
        if (!is_capture || i < 0) return refuse(EINVAL);
        format->pixelformat = node->modes[i].fourcc;
        return 0;
    }
    case VIDIOC_ENUM_FRAMESIZES: {
        struct v4l2_frmsizeenum *size = argument;
        int i = nth(node, size->index, by_size, size->pixel_format, 0);
        if (i < 0) return refuse(EINVAL);
        size->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        size->discrete.width = node->modes[i].width;
        size->discrete.height = node->modes[i].height;
        return 0;
    }
    case VIDIOC_ENUM_FRAMEINTERVALS: {
        struct v4l2_frmivalenum *rate = argument;
        int i = nth(node, rate->index, by_rate, rate->pixel_format, rate->width);
        if (i < 0) return refuse(EINVAL);
        rate->type = V4L2_FRMIVAL_TYPE_DISCRETE;
        rate->discrete.numerator = 1;
        rate->discrete.denominator = node->modes[i].fps;
        return 0;
    }
    case VIDIOC_S_FMT:
    case VIDIOC_G_FMT: {
        struct v4l2_pix_format *format = &((struct v4l2_format *)argument)->fmt.pix;
        if (!is_capture) return refuse(EINVAL);
        if (request == VIDIOC_S_FMT) {
            node->set = (struct mode){format->pixelformat, format->width, format->height, 0};
        }
        format->pixelformat = node->set.fourcc;
        format->width = node->set.width;
        format->height = node->set.height;
        format->bytesperline = 0;
        format->sizeimage = BUFFER_BYTES;
        return 0;
    }
    case VIDIOC_S_PARM:
    case VIDIOC_G_PARM: {
        struct v4l2_captureparm *capture = &((struct v4l2_streamparm *)argument)->parm.capture;
        capture->timeperframe = (struct v4l2_fract){1, node->fps ? node->fps : 30};
        return 0;
    }
    case VIDIOC_REQBUFS: {
        struct v4l2_requestbuffers *buffers = argument;
        if (buffers->count > BUFFERS) buffers->count = BUFFERS;
        node->waiting = 0;
        return 0;
    }
    case VIDIOC_QUERYBUF: {
        struct v4l2_buffer *buffer = argument;
        if (buffer->index >= BUFFERS) return refuse(EINVAL);
        buffer->length = BUFFER_BYTES;
        buffer->m.offset = buffer->index * BUFFER_BYTES;
        return 0;
    }
    case VIDIOC_QBUF: {
        struct v4l2_buffer *buffer = argument;
        if (node->waiting == BUFFERS || buffer->index >= BUFFERS) return refuse(EINVAL);
        node->queued[node->waiting++] = buffer->index;
        return 0;
    }
    case VIDIOC_DQBUF:
        return take_picture(node, argument);
    case VIDIOC_STREAMON:
        node->streaming = 1;
        node->due_us = now_us() + 100000;
        return 0;
    case VIDIOC_STREAMOFF:
        node->streaming = node->waiting = 0;
        return 0;
    default:
        return refuse(ENOTTY);
    }
}

/* --- what the program calls */

/* The V4L2 bindings call ioctl through this. */
long syscall(long number, ...) {
    static long (*real)(long, ...);
    if (!real) real = (long (*)(long, ...))next("syscall");
    va_list list;
    va_start(list, number);
    long a[6];
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    struct node *node = number == SYS_ioctl ? at((int)a[0]) : NULL;
    if (node) return answer(node, (unsigned long)a[1], (void *)a[2]);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    char room[512];
    const char *where = mapped(path, room);
    if (where == room && begins(path, "/dev/video")) return open_node(where);
    if (where == room && begins(path, "/dev/v4l/by-id/")) {
        char target[4096];
        char *(*real)(const char *, char *) = (char *(*)(const char *, char *))next("realpath");
        return real(where, target) ? open_node(target) : -1;
    }
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))next(name);
    return real(where, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    return opened("open64", path, flags, mode);
}

int close(int fd) {
    struct node *node = at(fd);
    if (node) {
        munmap(node->memory, (size_t)BUFFERS * BUFFER_BYTES);
        free(node);
        nodes[fd] = NULL;
    }
    int (*real)(int) = (int (*)(int))next("close");
    return real(fd);
}

DIR *opendir(const char *path) {
    char room[512];
    DIR *(*real)(const char *) = (DIR * (*)(const char *)) next("opendir");
    return real(mapped(path, room));
}

char *realpath(const char *path, char *to) {
    char room[512];
    char *(*real)(const char *, char *) = (char *(*)(const char *, char *))next("realpath");
    return real(mapped(path, room), to);
}

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *to) {
    char room[512];
    int (*real)(int, const char *, int, unsigned, struct statx *) =
        (int (*)(int, const char *, int, unsigned, struct statx *))next("statx");
    // Nothing is asked of no path, to see whether there is such a call.
    const char *volatile given = path;
    return real(folder, mapped(given, room), flags, mask, to);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    const struct pollfd *volatile given = fds;
    struct node *node = count == 1 ? at(given->fd) : NULL;
    if (!node) {
        int (*real)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))next("poll");
        return real(fds, count, timeout_ms);
    }
    int64_t until_us = timeout_ms < 0 ? INT64_MAX : now_us() + (int64_t)timeout_ms * 1000;
    for (;;) {
        fds[0].revents = is_gone(node) ? POLLERR : 0;
        if (node->streaming && node->fps && node->waiting && now_us() >= node->due_us) fds[0].revents |= POLLIN;
        if (fds[0].revents) return 1;
        if (now_us() >= until_us) return 0;
        usleep(2000);
    }
}
