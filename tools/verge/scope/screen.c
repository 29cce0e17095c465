/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* qsort */

#include "scope/screen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "output/text.h"
#include "scope/safe.h"

enum {
    WIDTH_MIN = 30,
    NARROW = 72,
    TROUBLES_SHOWN = 4,
    LINE_SIZE = 1024,
    ROWS_MAX = 512,
    WORKERS_SHOWN = 6,
    PARTS_SHOWN = 4,
};

/* ---- text ---- */

/* A line that is cut at the width of the terminal, counted in characters. */
struct line {
    char bytes[LINE_SIZE];
    size_t size;
    int left; /* how many columns are left */
};

/* Adds text that may be from strangers, such as labels. Escapes what would move the cursor or reverse other text. */
static void add_text(struct line *line, const char *text) {
    while (*text != '\0' && line->left > 0 && line->size + 8 < sizeof(line->bytes)) {
        size_t size = 0;
        const uint32_t character = safe_character(text, &size);
        char escaped[12] = "?";
        const bool is_hidden = safe_is_hidden(character), is_wrong = character == 0xfffd && size == 1;
        if (is_hidden) {
            (void)snprintf(escaped, sizeof(escaped), "\\u%04x", (unsigned)character);
        }
        const char *from = is_hidden || is_wrong ? escaped : text;
        const size_t bytes = is_hidden || is_wrong ? strlen(escaped) : size;
        const size_t width = is_hidden ? bytes : 1;
        if (width > (size_t)line->left) {
            return;
        }
        memcpy(line->bytes + line->size, from, bytes);
        line->size += bytes;
        line->left -= (int)width;
        text += size;
    }
}

static void add(struct line *line, const char *format, ...) {
    char text[256];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    add_text(line, text);
}

/* Adds a colour, which takes no column. */
static void add_colour(struct line *line, const char *colour) {
    const size_t size = strlen(colour);
    if (line->size + size < sizeof(line->bytes)) {
        memcpy(line->bytes + line->size, colour, size);
        line->size += size;
    }
}

static void pad(struct line *line, int left) {
    while (line->left > left) {
        add_text(line, " ");
    }
}

struct paper {
    const struct screen *screen;
    const struct look *look;
    FILE *out;
    int lines_left;
};

static struct line begin_line(const struct paper *paper) {
    return (struct line){.left = paper->screen->width > WIDTH_MIN ? paper->screen->width - 1 : WIDTH_MIN - 1};
}

static void end_line(struct paper *paper, const struct line *line) {
    if (paper->lines_left > 0) {
        (void)fwrite(line->bytes, 1, line->size, paper->out);
        (void)fputs(paper->look->is_terminal ? "\033[K\r\n" : "\n", paper->out);
        paper->lines_left--;
    }
}

static const char *rate(double number) {
    static char texts[8][24];
    static unsigned next;
    char *text = texts[next++ % 8];
    const char *format = number < 0.05  ? "0"
                         : number < 10  ? "%.1f"
                         : number < 1e5 ? "%.0f"
                         : number < 1e6 ? "%.0fk"
                                        : "%.2fM";
    (void)snprintf(text, sizeof(texts[0]), format, number < 1e5 ? number : number < 1e6 ? number / 1e3 : number / 1e6);
    return text;
}

static const char *brief(double ns) {
    static char texts[8][24];
    static unsigned next;
    char *text = texts[next++ % 8];
    if (ns <= 0) {
        return "-";
    }
    (void)snprintf(text, sizeof(texts[0]),
                   ns < 1e3   ? "%.0fns"
                   : ns < 1e6 ? "%.0fus"
                   : ns < 1e9 ? "%.1fms"
                              : "%.1fs",
                   ns < 1e3   ? ns
                   : ns < 1e6 ? ns / 1e3
                   : ns < 1e9 ? ns / 1e6
                              : ns / 1e9);
    return text;
}

/* ---- columns ---- */

struct column {
    const char *title, *key;
    int width;
    int from; /* the smallest width of a terminal that shows the column */
    enum { IS_COUNT, IS_RATE, IS_SHARE, IS_TIME, IS_AGE, IS_NAME } kind;
};

/* A terminal of 80 columns leaves 41 for the name of the source. */
static const struct column columns[] = {
    {"PENDING", "pending", 11, 0, IS_COUNT},
    {"START/S", "started", 9, 64, IS_RATE},
    {"FIRED/S", "fired", 9, 72, IS_RATE},
    {"99 %", "late99_ns", 8, 56, IS_TIME},
    {"END/S", "ended", 9, 100, IS_RATE},
    {"OLDEST", "oldest_s", 9, 90, IS_AGE},
    {"CANCEL", "cancelled_share", 7, 116, IS_SHARE},
    {"IN CALL", "time_ns", 8, 108, IS_TIME},
    {"OF CORE", "busy", 8, 124, IS_SHARE},
    {"LATE", "late50_ns", 8, 132, IS_TIME},
    {"SOURCE", "name", 0, 0, IS_NAME},
};

enum { COLUMN_COUNT = sizeof(columns) / sizeof(*columns) };

static void add_cell(struct line *line, const struct column *column, const struct value *source) {
    const double number = value_number(source, column->key);
    char age[32];
    switch (column->kind) {
    case IS_COUNT:
        add(line, "%*s", column->width, text_grouped((uint64_t)number));
        break;
    case IS_RATE:
        add(line, "%*s", column->width, rate(number));
        break;
    case IS_SHARE:
        add(line, "%*.0f%%", column->width - 1, number * 100);
        break;
    case IS_TIME:
        add(line, "%*s", column->width, brief(number));
        break;
    case IS_AGE:
        (void)snprintf(age, sizeof(age), "%s%.0fs", value_bool(source, "older") ? ">=" : "", number);
        add(line, "%*s", column->width, age);
        break;
    case IS_NAME:
        add(line, "%s%s", value_bool(source, "leak") ? "GROWS " : "", value_text(source, column->key));
        break;
    }
}

static bool is_shown(const struct screen *screen, const struct column *column) {
    return screen->width >= column->from;
}

static int name_width(const struct screen *screen) {
    int width = screen->width > WIDTH_MIN ? screen->width - 1 : WIDTH_MIN - 1;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        width -= is_shown(screen, &columns[i]) ? columns[i].width : 0;
    }
    return width;
}

static void add_row(const struct screen *screen, struct line *line, const struct value *source) {
    const int end = line->left - name_width(screen);
    struct line name = {.left = name_width(screen) - 1};
    add_cell(&name, &columns[COLUMN_COUNT - 1], source);
    name.bytes[name.size] = '\0';
    add_text(line, name.bytes);
    pad(line, end);
    for (size_t i = 0; i < COLUMN_COUNT - 1; i++) {
        if (is_shown(screen, &columns[i])) {
            add_cell(line, &columns[i], source);
        }
    }
}

/* ---- the order of rows ---- */

static const struct screen *sorting; /* qsort has no context */

static int compare(const void *left, const void *right) {
    const struct value *const *a = left;
    const struct value *const *b = right;
    const struct column *column = &columns[sorting->sort];
    const int by_name = strcmp(value_text(*a, "name"), value_text(*b, "name"));
    int order = by_name;
    if (column->kind != IS_NAME) {
        const double x = value_number(*a, column->key), y = value_number(*b, column->key);
        order = x < y ? 1 : x > y ? -1 : 0;
    }
    order = sorting->ascending ? -order : order;
    return order != 0 ? order : by_name;
}

static size_t collect(const struct screen *screen, const struct value *sources, const struct value **rows) {
    size_t count = 0;
    for (const struct value *source = sources->first; source != NULL && count < ROWS_MAX; source = source->next) {
        rows[count++] = source;
    }
    sorting = screen;
    qsort(rows, count, sizeof(*rows), compare);
    return count;
}

/* ---- parts ---- */

static void draw_head(struct paper *paper, const struct value *snapshot, const struct value *subject) {
    const struct value *stats = value_of(subject, "stats"), *rates = value_of(subject, "rates");
    struct line line = begin_line(paper);
    add_colour(&line, paper->look->bold);
    add(&line, "verge scope  ");
    add_colour(&line, paper->look->plain);
    add(&line, "%.40s, process %.0f: %s", value_text(snapshot, "name"), value_number(snapshot, "pid"),
        value_text(subject, "name"));
    if (value_of(snapshot, "subjects")->count > 1) {
        add(&line, " (w: the next of %zu)", value_of(snapshot, "subjects")->count);
    }
    if (paper->screen->is_lost) {
        add_colour(&line, paper->look->bad);
        add(&line, "   connection lost, trying again");
        add_colour(&line, paper->look->plain);
    }
    end_line(paper, &line);
    line = begin_line(paper);
    add(&line, "pending %s   started %s/s", text_grouped((uint64_t)value_number(stats, "pending")),
        rate(value_number(rates, "started")));
    if (paper->screen->width < NARROW) {
        end_line(paper, &line);
        line = begin_line(paper);
    } else {
        add(&line, "   ");
    }
    add(&line, "fired %s/s   cancelled %s/s   memory %s", rate(value_number(rates, "fired")),
        rate(value_number(rates, "cancelled")), text_bytes((uint64_t)value_number(stats, "bytes")));
    end_line(paper, &line);
}

/* Draws what is wrong, each trouble in as many lines as it needs. */
static void draw_troubles(struct paper *paper, const struct value *snapshot) {
    const struct value *trouble = value_of(snapshot, "troubles")->first;
    for (size_t i = 0; trouble != NULL && i < TROUBLES_SHOWN; i++, trouble = trouble->next) {
        char text[LINE_SIZE];
        safe_copy(text, sizeof(text), value_text(trouble, "text"));
        for (const char *rest = text; *rest != '\0';) {
            struct line line = begin_line(paper);
            const int width = line.left;
            add_colour(&line, paper->look->bad);
            add(&line, rest == text ? "! " : "  ");
            const size_t before = line.size;
            add_text(&line, rest);
            rest += line.size - before;
            add_colour(&line, paper->look->plain);
            end_line(paper, &line);
            if (line.left == width) {
                break;
            }
        }
    }
    if (trouble != NULL) {
        struct line line = begin_line(paper);
        add(&line, "! ... and %zu more", value_of(snapshot, "troubles")->count - TROUBLES_SHOWN);
        end_line(paper, &line);
    }
}

static void draw_coming(struct paper *paper, const struct value *subject) {
    static const char *const names[] = {"overdue", "1ms", "10ms", "100ms", "1s",   "10s",
                                        "1m",      "10m", "1h",   "1d",    "later"};
    const struct value *number = value_of(subject, "coming")->first;
    struct line line = begin_line(paper);
    add(&line, "coming ");
    for (size_t i = 0; number != NULL && i < sizeof(names) / sizeof(*names); i++, number = number->next) {
        if (number->number > 0) {
            add_colour(&line, paper->look->dim);
            add(&line, " %s ", names[i]);
            add_colour(&line, paper->look->plain);
            add(&line, "%s", number->number < 1e5 ? text_grouped((uint64_t)number->number) : rate(number->number));
        }
    }
    end_line(paper, &line);
}

/* Returns a quantile of the lateness in the last second, from the rows of the heat map; 0 if nothing ran. */
static double late(const struct value *rows, double quantile) {
    enum { FIRST_BIT = 10 };
    double all = 0;
    for (const struct value *row = value_at(rows, 1); row != NULL && row->kind == VALUE_NUMBER; row = row->next) {
        all += row->number;
    }
    double left = all * quantile, bound_ns = (double)(1 << FIRST_BIT);
    for (const struct value *row = value_at(rows, 1); row != NULL && row->kind == VALUE_NUMBER; row = row->next) {
        left -= row->number;
        if (left <= 0 && all > 0) {
            return bound_ns;
        }
        bound_ns *= 2;
    }
    return 0;
}

static void draw_lateness(struct paper *paper, const struct value *subject) {
    const struct value *rows = value_of(subject, "late");
    struct line line = begin_line(paper);
    if (rows->kind == VALUE_ARRAY) {
        add(&line, "late, of the last second: half below %s, 99 %% below %s", brief(late(rows, 0.5)),
            brief(late(rows, 0.99)));
        end_line(paper, &line);
    }
}

static void draw_worker(struct paper *paper, const struct value *worker) {
    struct line line = begin_line(paper);
    const bool is_stuck = strcmp(value_text(worker, "state"), "stuck") == 0;
    add_colour(&line, is_stuck ? paper->look->bad : "");
    add(&line, "worker %-3.0f %-5s", value_number(worker, "id"), value_text(worker, "state"));
    if (!is_stuck || paper->screen->width >= NARROW) {
        add(&line, " %3.0f%% busy %11s timers %8s fired/s", value_number(worker, "busy") * 100,
            text_grouped((uint64_t)value_number(worker, "timers")), rate(value_number(worker, "fired")));
    }
    if (is_stuck) {
        add(&line, "  for %.1f s in ", value_number(worker, "stuck_ms") / 1000);
        add_text(&line, value_text(worker, "callback"));
        add_colour(&line, paper->look->plain);
    } else if (value_number(worker, "rescued") > 0) {
        add(&line, "  %s rescued", text_grouped((uint64_t)value_number(worker, "rescued")));
    }
    end_line(paper, &line);
}

/* Draws the workers. As there may not be room for all, those that are stuck come first. */
static void draw_workers(struct paper *paper, const struct value *subject) {
    const struct value *workers = value_of(subject, "workers");
    size_t drawn = 0;
    for (int round = 0; round < 2; round++) {
        for (const struct value *worker = workers->first; worker != NULL && drawn < WORKERS_SHOWN;
             worker = worker->next) {
            const bool is_stuck = strcmp(value_text(worker, "state"), "stuck") == 0;
            if (is_stuck == (round == 0)) {
                draw_worker(paper, worker);
                drawn++;
            }
        }
    }
    if (workers->count > drawn) {
        struct line line = begin_line(paper);
        add(&line, "... and %zu workers more", workers->count - drawn);
        end_line(paper, &line);
    }
}

static void add_figure(struct line *line, const struct value *figure) {
    const char *unit = value_text(figure, "unit");
    const double number = value_number(figure, "value"), most = value_number(figure, "of");
    if (strcmp(unit, "yes_no") == 0) {
        add(line, "%s", number > 0 ? "yes" : "NO");
    } else if (strcmp(unit, "ns") == 0) {
        add(line, "%s", brief(number));
    } else {
        add(line, "%s", text_grouped((uint64_t)number));
    }
    if (strcmp(unit, "total") == 0) {
        add(line, " (%s/s)", rate(value_number(figure, "rate")));
    } else if (most > 0) {
        add(line, " of %s", strcmp(unit, "ns") == 0 ? brief(most) : text_grouped((uint64_t)most));
    }
}

static bool is_part(const struct value *figure) {
    return strcmp(value_text(figure, "unit"), "part") == 0;
}

/* Draws the parts of a panel, each in a line. */
static void draw_parts(struct paper *paper, const struct value *panel) {
    size_t count = 0;
    for (const struct value *figure = value_of(panel, "figures")->first; figure != NULL; figure = figure->next) {
        struct line line = begin_line(paper);
        if (is_part(figure) && count++ < PARTS_SHOWN) {
            add(&line, "   ");
            add_text(&line, value_text(figure, "name"));
            add(&line, "   ");
            add_figure(&line, figure);
            add(&line, "   ");
            add_text(&line, value_text(figure, "text"));
            end_line(paper, &line);
        }
    }
    if (count > PARTS_SHOWN) {
        struct line line = begin_line(paper);
        add(&line, "   ... and %zu more", count - PARTS_SHOWN);
        end_line(paper, &line);
    }
}

/* Draws the name of a panel, then its figures in as many lines as they need. */
static void draw_panel(struct paper *paper, const struct value *panel) {
    struct line line = begin_line(paper);
    add_colour(&line, paper->look->bold);
    add_text(&line, value_text(panel, "name"));
    add_colour(&line, paper->look->plain);
    for (const struct value *figure = value_of(panel, "figures")->first; figure != NULL; figure = figure->next) {
        if (is_part(figure)) {
            continue;
        }
        struct line text = begin_line(paper);
        const int width = text.left;
        add_text(&text, value_text(figure, "name"));
        add(&text, " ");
        add_figure(&text, figure);
        text.bytes[text.size] = '\0';
        if (width - text.left + 3 > line.left) {
            end_line(paper, &line);
            line = begin_line(paper);
        }
        add(&line, "   ");
        add_text(&line, text.bytes);
    }
    end_line(paper, &line);
    draw_parts(paper, panel);
}

static void draw_panels(struct paper *paper, const struct value *snapshot) {
    for (const struct value *panel = value_of(snapshot, "panels")->first; panel != NULL; panel = panel->next) {
        draw_panel(paper, panel);
    }
}

static void draw_titles(struct paper *paper) {
    const struct screen *screen = paper->screen;
    struct line line = begin_line(paper);
    const int end = line.left - name_width(screen);
    add_colour(&line, paper->look->bold);
    add(&line, "%s%s", columns[COLUMN_COUNT - 1].title, screen->sort == COLUMN_COUNT - 1 ? "*" : "");
    pad(&line, end);
    for (size_t i = 0; i < COLUMN_COUNT - 1; i++) {
        if (is_shown(screen, &columns[i])) {
            char title[16];
            (void)snprintf(title, sizeof(title), "%s%s", columns[i].title, screen->sort == i ? "*" : "");
            add(&line, "%*s", columns[i].width, title);
        }
    }
    add_colour(&line, paper->look->plain);
    end_line(paper, &line);
}

static void draw_sources(struct paper *paper, struct screen *screen, const struct value *subject) {
    static const struct value *rows[ROWS_MAX];
    const size_t count = collect(screen, value_of(subject, "sources"), rows);
    screen->first = screen->first < count ? screen->first : count > 0 ? (unsigned)count - 1 : 0;
    draw_titles(paper);
    for (size_t i = screen->first; i < count && paper->lines_left > 1; i++) {
        struct line line = begin_line(paper);
        const bool is_leak = value_bool(rows[i], "leak");
        add_colour(&line, is_leak ? paper->look->bad : "");
        add_row(screen, &line, rows[i]);
        add_colour(&line, is_leak ? paper->look->plain : "");
        end_line(paper, &line);
    }
}

/* ---- all ---- */

bool screen_press(struct screen *screen, int key) {
    switch (key) {
    case 'q':
    case 3: /* ctrl-C */
        return false;
    case 's':
    case KEY_RIGHT:
        screen->sort = (screen->sort + 1) % COLUMN_COUNT;
        break;
    case KEY_LEFT:
        screen->sort = (screen->sort + COLUMN_COUNT - 1) % COLUMN_COUNT;
        break;
    case 'r':
        screen->ascending = !screen->ascending;
        break;
    case KEY_UP:
        screen->first -= screen->first > 0 ? 1 : 0;
        break;
    case KEY_DOWN:
        screen->first++;
        break;
    case 'w':
        screen->subject++;
        screen->first = 0;
        break;
    default:
        break;
    }
    return true;
}

void screen_draw(struct screen *screen, const struct value *snapshot, const struct look *look, FILE *out) {
    struct paper paper = {.screen = screen, .look = look, .out = out, .lines_left = screen->height - 1};
    (void)fputs(look->is_terminal ? "\033[H" : "", out);
    if (snapshot == NULL) {
        struct line line = begin_line(&paper);
        add(&line, screen->is_lost ? "connection lost, trying again" : "connecting");
        end_line(&paper, &line);
    } else {
        const struct value *subjects = value_of(snapshot, "subjects");
        screen->subject = subjects->count > 0 ? screen->subject % (unsigned)subjects->count : 0;
        const struct value *subject = value_at(subjects, screen->subject);
        draw_head(&paper, snapshot, subject);
        draw_troubles(&paper, snapshot);
        draw_coming(&paper, subject);
        draw_lateness(&paper, subject);
        draw_workers(&paper, subject);
        draw_panels(&paper, snapshot);
        draw_sources(&paper, screen, subject);
    }
    if (look->is_terminal) {
        (void)fprintf(out, "\033[J%s%s%s", look->dim,
                      screen->width < NARROW ? "q: quit  s: sort by  r: reverse"
                                             : "q: quit  s, left, right: sort by  r: reverse  up, down: scroll",
                      look->plain);
    }
    (void)fflush(out);
}
