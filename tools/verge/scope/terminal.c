/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* struct winsize */

#include "scope/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "scope/screen.h"

static struct termios before;
static bool has_begun;

int terminal_begin(void) {
    if (tcgetattr(STDIN_FILENO, &before) != 0) {
        return -errno;
    }
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) != 0) {
        return -errno;
    }
    has_begun = true;
    (void)fputs("\033[?1049h\033[?25l\033[2J", stdout); /* another screen, no cursor */
    return 0;
}

void terminal_end(void) {
    if (has_begun) {
        has_begun = false;
        (void)fputs("\033[?25h\033[?1049l", stdout);
        (void)fflush(stdout);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    }
}

void terminal_size(int *ret_width, int *ret_height) {
    struct winsize size = {0};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *ret_width = is_known ? size.ws_col : 80;
    *ret_height = is_known ? size.ws_row : 24;
}

static int read_byte(void) {
    unsigned char byte = 0;
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
}

/* Reads the rest of a key that begins with ESC. If nothing more has come, or an unknown key, the key is ESC itself. */
static int read_sequence(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, 0) <= 0) {
        return 27;
    }
    const int bracket = read_byte();
    if (bracket != '[' && bracket != 'O') {
        return 27;
    }
    int byte = read_byte();
    while (byte >= ' ' && byte <= '?') { /* numbers, such as that of Delete */
        byte = read_byte();
    }
    switch (byte) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return KEY_RIGHT;
    case 'D':
        return KEY_LEFT;
    default:
        return 27;
    }
}

int terminal_key(void) {
    const int byte = read_byte();
    return byte == 27 ? read_sequence() : byte;
}
