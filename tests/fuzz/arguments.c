/* SPDX-License-Identifier: MIT */
/*
 * Arbitrary words as the command line of the tool, one on each line of the input. The jobs of the tool are wrapped
 * (arguments_jobs.c): they only record what they were asked for. The ranges and defaults below are those of verge(1). A
 * valid command line must reach its job with the right values. Any other must end with status 2, and a message on
 * stderr that names the wrong word.
 */
#define _GNU_SOURCE /* open_memstream, memmem */
#include "fuzz/arguments.h"

#include <string.h>

#include "fuzz/fuzz.h"
#include "scope/client.h"
#include "tool.h"

enum {
    WORD_COUNT_MAX = 24,
    USAGE = 2,
};

/* A default that cannot be given as a value of the option: the preset's order, or a worker for each core. */
#define OTHER UINT64_MAX

enum kind { FLAG, NUMBER, TIME, CHOICE, CHOICES, TEXT };

struct rule {
    enum kind kind;
    const char *name;
    uint64_t smallest, largest, otherwise; /* otherwise: the value if the option is not given */
    const char *choices;                   /* each after a space */
};

static const struct rule demo_rules[RULE_COUNT_MAX] = {
    {NUMBER, "--timers", 100, 20000000, 1000000, NULL},
    {NUMBER, "--seconds", 1, 1000000, 0, NULL}, /* default: 15, or 3600 with --scope */
    {NUMBER, "--workers", 1, 64, OTHER, NULL},
    {NUMBER, "--seed", 0, UINT64_MAX, 1, NULL},
    {FLAG, "--json", 0, 1, 0, NULL},
    {FLAG, "--scope", 0, 1, 0, NULL},
};

static const struct rule scope_rules[RULE_COUNT_MAX] = {
    {TEXT, "--connect", 0, 0, 0, NULL},
    {TEXT, "--browser", 0, 0, 0, NULL},
    {NUMBER, "--port", 0, UINT16_MAX, 0, NULL},
    {FLAG, "--json", 0, 1, 0, NULL},
};

static const struct rule stress_rules[RULE_COUNT_MAX] = {
    {NUMBER, "--seed", 0, UINT64_MAX, 1, NULL},  {NUMBER, "--seconds", 1, 1000000, 10, NULL},
    {NUMBER, "--workers", 1, 32, 4, NULL},       {CHOICE, "--threads", 0, 2, 0, " stepped real tasks"},
    {NUMBER, "--steps", 1, UINT64_MAX, 0, NULL}, {FLAG, "--json", 0, 1, 0, NULL},
};

static const struct rule replay_rules[RULE_COUNT_MAX] = {
    {CHOICES, "--preset", 0, 31, 0, " default three-level two-level alarm runtime"},
    {TIME, "--precision", 1, UINT64_C(1) << 62, 0, NULL},
    {TIME, "--window", 0, UINT64_MAX, 0, NULL},
    {CHOICE, "--order", 0, 2, OTHER, " any fifo deadline"},
    {NUMBER, "--limit", 1, 1048576, 256, NULL},
    {NUMBER, "--work-limit", 0, UINT64_MAX, 0, NULL},
    {FLAG, "--coarse", 0, 1, 0, NULL},
    {FLAG, "--exact", 0, 1, 0, NULL},
    {CHOICE, "--polls", 0, 1, 0, " wakeup recorded"},
    {FLAG, "--json", 0, 1, 0, NULL},
    {TIME, "--late", 1, UINT64_C(1) << 62, 0, NULL},
};

/* ---- what the words mean ---- */

struct meaning {
    const char *wrong; /* the word to be named; NULL: nothing is wrong */
    uint64_t values[RULE_COUNT_MAX];
    const char *file; /* NULL: none was given */
    const char *text; /* the value of the option that takes a text; NULL: not given */
};

static bool is_number(const char *text, size_t digit_count, uint64_t *ret_number) {
    __extension__ unsigned __int128 number = 0;
    for (size_t i = 0; i < digit_count; i++) {
        number = number * 10 + (unsigned)(text[i] - '0');
        if (number > UINT64_MAX) {
            return false;
        }
    }
    *ret_number = (uint64_t)number;
    return digit_count > 0;
}

static bool is_time(const char *text, size_t digit_count, uint64_t *ret_ns) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"", 1},
                 {"ns", 1},
                 {"us", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"m", UINT64_C(60000000000)},
                 {"h", UINT64_C(3600000000000)}};
    uint64_t number = 0;
    if (!is_number(text, digit_count, &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(text + digit_count, units[i].name) == 0) {
            return !__builtin_mul_overflow(number, units[i].ns, ret_ns);
        }
    }
    return false;
}

static bool is_choice(const char *choices, const char *word, uint64_t *ret_place) {
    uint64_t place = 0;
    for (const char *at = choices; *at == ' '; place++) {
        const size_t length = strcspn(at + 1, " ");
        if (length == strlen(word) && strncmp(at + 1, word, length) == 0) {
            *ret_place = place;
            return true;
        }
        at += 1 + length;
    }
    return false;
}

static bool understand_value(const struct rule *rule, const char *word, uint64_t *value) {
    const size_t digit_count = strspn(word, "0123456789");
    uint64_t given = 0;
    bool is_right = false;
    switch (rule->kind) {
    case FLAG:
    case TEXT:
        return false; /* not called: a flag takes no value, and any text is right */
    case NUMBER:
        is_right = word[digit_count] == '\0' && is_number(word, digit_count, &given);
        break;
    case TIME:
        is_right = is_time(word, digit_count, &given);
        break;
    case CHOICE:
        is_right = is_choice(rule->choices, word, &given);
        break;
    case CHOICES:
        is_right = strcmp(word, "all") == 0 || is_choice(rule->choices, word, &given);
        given = *value | (strcmp(word, "all") == 0 ? rule->largest : UINT64_C(1) << given);
        break;
    }
    if (is_right && given >= rule->smallest && given <= rule->largest) {
        *value = given;
        return true;
    }
    return false;
}

static size_t find_rule(const struct rule *rules, const char *word) {
    size_t place = 0;
    const size_t length = strcspn(word, "=");
    while (place < RULE_COUNT_MAX && rules[place].name != NULL &&
           (strlen(rules[place].name) != length || strncmp(rules[place].name, word, length) != 0)) {
        place++;
    }
    return place < RULE_COUNT_MAX && rules[place].name != NULL ? place : RULE_COUNT_MAX;
}

/* Reads the option at words[0]. Returns how many words it takes; 0: it is wrong, and meaning->wrong says what. */
static size_t understand_option(const struct rule *rules, char **words, size_t left, struct meaning *meaning) {
    const size_t place = find_rule(rules, words[0]);
    const char *inner = strchr(words[0], '=');
    if (place == RULE_COUNT_MAX) {
        meaning->wrong = words[0];
        return 0;
    }
    const struct rule *rule = &rules[place];
    if (rule->kind == FLAG && inner == NULL) {
        meaning->values[place] = 1;
        return 1;
    }
    const char *value = inner != NULL ? inner + 1 : left > 1 ? words[1] : NULL;
    if (rule->kind == FLAG || value == NULL) {
        meaning->wrong = rule->name; /* there is no other word to name */
        return 0;
    }
    if (rule->kind == TEXT) {
        meaning->text = value;
    } else if (!understand_value(rule, value, &meaning->values[place])) {
        meaning->wrong = value;
        return 0;
    }
    return inner != NULL ? 1 : 2;
}

static struct meaning understand(const struct rule *rules, char **words, size_t word_count, bool takes_file) {
    struct meaning meaning = {.wrong = NULL};
    bool only_words = false;
    for (size_t i = 0; i < RULE_COUNT_MAX; i++) {
        meaning.values[i] = rules[i].otherwise;
    }
    for (size_t i = 0; i < word_count && meaning.wrong == NULL;) {
        if (!only_words && strcmp(words[i], "--") == 0) {
            only_words = true;
            i++;
        } else if (!only_words && words[i][0] == '-' && words[i][1] != '\0') {
            i += understand_option(rules, words + i, word_count - i, &meaning);
        } else if (takes_file && meaning.file == NULL) {
            meaning.file = words[i++];
        } else {
            meaning.wrong = words[i];
        }
    }
    if (takes_file && meaning.file == NULL && meaning.wrong == NULL) {
        meaning.wrong = "FILE";
    }
    return meaning;
}

/* ---- running the tool ---- */

struct output {
    char *text;
    size_t length;
    FILE *stream, *before;
};

static void capture(struct output *output, FILE **stream) {
    output->before = *stream;
    output->stream = open_memstream(&output->text, &output->length);
    FUZZ_CHECK(output->stream != NULL, "no memory");
    *stream = output->stream;
}

static void release(struct output *output, FILE **stream) {
    *stream = output->before;
    (void)fclose(output->stream);
}

static bool says(const struct output *output, const char *word) {
    return memmem(output->text, output->length, word, strlen(word)) != NULL;
}

struct run {
    char **words; /* of the command line, without the first one, "verge" */
    size_t word_count;
    int status;
    struct output out, err;
};

static void run_tool(struct run *run) {
    static char name[] = "verge";
    char *arguments[WORD_COUNT_MAX + 2] = {name};
    for (size_t i = 0; i < run->word_count; i++) {
        arguments[i + 1] = run->words[i];
    }
    asked = (struct asked){.job = NO_JOB};
    capture(&run->out, &stdout);
    capture(&run->err, &stderr);
    run->status = tool_run((int)run->word_count + 1, arguments);
    release(&run->out, &stdout);
    release(&run->err, &stderr);
}

/* ---- what the tool must print, and ask its jobs for ---- */

static void check_help(const struct run *run) {
    FUZZ_CHECK(run->status == EXIT_SUCCESS && asked.job == NO_JOB, "help: something else is done");
    FUZZ_CHECK(run->out.length > 0 && run->err.length == 0, "help: not on stdout");
}

static void check_refused(const struct run *run, const char *wrong) {
    FUZZ_CHECK(run->status == USAGE, "what is wrong is not refused with status 2");
    FUZZ_CHECK(asked.job == NO_JOB, "what is wrong is begun");
    FUZZ_CHECK(run->out.length == 0, "a complaint on stdout");
    FUZZ_CHECK(strncmp(run->err.text, "verge", 5) == 0, "a complaint that does not begin with the tool's name");
    FUZZ_CHECK(says(&run->err, wrong), "the complaint does not name what is wrong");
    FUZZ_CHECK(says(&run->err, "\ntry: verge ") || says(&run->err, ": try --seconds\n"), "no word of how to go on");
}

/* Checks what a job was asked for. Whether JSON was asked for shows in the output. */
static void check_asked(const struct run *run, enum job job, const struct meaning *meaning, size_t json_place) {
    const char *text = run->out.text;
    const bool is_json = run->out.length > 2 && text[0] == '{' && text[run->out.length - 2] == '}';
    FUZZ_CHECK(run->status == EXIT_SUCCESS && asked.job == job, "what may be asked for is not begun");
    asked.values[json_place] = is_json;
    for (size_t i = 0; i < RULE_COUNT_MAX; i++) {
        FUZZ_CHECK(meaning->values[i] == OTHER || asked.values[i] == meaning->values[i],
                   "a value that was not asked for");
    }
}

static void check_demo(const struct run *run, struct meaning *meaning) {
    enum { SECONDS = 1, WORKERS = 2, JSON = 4, SCOPE = 5 };
    if (meaning->values[SECONDS] == 0) {
        meaning->values[SECONDS] = meaning->values[SCOPE] != 0 ? 3600 : 15;
    }
    check_asked(run, DEMO, meaning, JSON);
    FUZZ_CHECK(asked.values[WORKERS] >= 1 && asked.values[WORKERS] <= 64, "workers: the range");
}

/* Whether a text is an address: unix:PATH, http://HOST:PORT and a path, or what client_parse accepts after tcp:. */
static bool is_address(const char *text) {
    if (strncmp(text, "unix:", 5) == 0) {
        return text[5] != '\0' && strlen(text + 5) < 256;
    }
    if (strncmp(text, "tcp:", 4) == 0) {
        struct client_address address;
        return client_parse(text, &address);
    }
    if (strncmp(text, "http://", 7) != 0) {
        return false;
    }
    const char *host = text + 7;
    const size_t size = strcspn(host, "/");
    const char *colon = memrchr(host, ':', size);
    const size_t host_size = colon == NULL ? 0 : (size_t)(colon - host);
    const bool is_six = host_size > 1 && host[0] == '[' && host[host_size - 1] == ']';
    const size_t digit_count = colon == NULL ? 0 : size - host_size - 1;
    return host_size > (is_six ? 2 : 0) && host_size - (is_six ? 2 : 0) < 256 && digit_count > 0 && digit_count < 8 &&
           strspn(colon + 1, "0123456789") == digit_count && strpbrk(host + size, " \t\r\n?#") == NULL &&
           strlen(host + size) < 127;
}

static void check_scope(const struct run *run, const struct meaning *meaning) {
    size_t place_count = 0; /* of several addresses, that of --browser counts */
    for (size_t i = 1; i < run->word_count; i++) {
        place_count += strncmp(run->words[i], "--connect", 9) == 0 || strncmp(run->words[i], "--browser", 9) == 0;
    }
    if (meaning->text == NULL) {
        FUZZ_CHECK(run->status == EXIT_SUCCESS && asked.job == LIST, "scopes are not listed");
        return;
    }
    if (place_count > 1) {
        FUZZ_CHECK(run->status == USAGE || asked.job == LOOK, "scope does neither");
        return;
    }
    if (!is_address(meaning->text)) {
        check_refused(run, meaning->text);
        return;
    }
    /* The output is no terminal here. */
    FUZZ_CHECK(run->status == EXIT_SUCCESS && asked.job == LOOK && asked.is_json, "scope is not begun");
}

static void check_stress(const struct run *run, const struct meaning *meaning) {
    enum { THREADS = 3, STEPS = 4, JSON = 5 };
    if (meaning->values[THREADS] != 0 && meaning->values[STEPS] != 0) {
        check_refused(run, "--steps");
        return;
    }
    check_asked(run, STRESS, meaning, JSON);
}

static void check_replay(const struct run *run, struct meaning *meaning) {
    enum { PRESET = 0, PRECISION = 1, WINDOW = 2, COARSE = 6, EXACT = 7, POLLS = 8, JSON = 9, LATE = 10 };
    uint64_t *precision_ns = &meaning->values[PRECISION];
    uint64_t rounded_ns = *precision_ns == 0 ? 0 : 1;
    while (rounded_ns < *precision_ns) {
        rounded_ns *= 2;
    }
    *precision_ns = rounded_ns;
    meaning->values[PRESET] += meaning->values[PRESET] == 0; /* none given: the default preset */
    check_asked(run, REPLAY, meaning, JSON);
    FUZZ_CHECK(asked.file != NULL && strcmp(asked.file, meaning->file) == 0, "another file");
    const uint64_t *values = meaning->values;
    const bool is_given = values[PRECISION] != 0 || values[WINDOW] != 0 || values[COARSE] != 0 || values[EXACT] != 0 ||
                          values[POLLS] != 0 || values[PRESET] != 1;
    FUZZ_CHECK(asked.is_swept == (values[LATE] != 0 || !is_given), "a recommendation: asked for or not");
}

/* All words go to verge-bench, except --json, which is for the tool. */
static void check_bench(const struct run *run) {
    size_t place = 1;
    bool is_json = false;
    FUZZ_CHECK(asked.job == BENCH && run->status != USAGE, "bench is not begun");
    for (size_t i = 1; i < run->word_count; i++) {
        if (strcmp(run->words[i], "--json") == 0) {
            is_json = true;
            continue;
        }
        if (place == 1 && run->words[i][0] == '-') {
            FUZZ_CHECK(strcmp(asked.words[place++], "run") == 0, "bench: run is what is meant");
        }
        FUZZ_CHECK(place < asked.word_count && strcmp(asked.words[place++], run->words[i]) == 0, "bench: another word");
    }
    if (place == 1) {
        FUZZ_CHECK(strcmp(asked.words[place++], "run") == 0, "bench: run is what is meant");
    }
    FUZZ_CHECK(asked.is_json == is_json && asked.word_count == place + (is_json ? 2 : 0), "bench: words of its own");
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

static bool has_help(const struct run *run, bool until_words) {
    for (size_t i = 1; i < run->word_count && !(until_words && strcmp(run->words[i], "--") == 0); i++) {
        if (strcmp(run->words[i], "--help") == 0) {
            return true;
        }
    }
    return false;
}

static void check_options(const struct run *run, const struct rule *rules) {
    const bool is_replay = rules == replay_rules;
    struct meaning meaning = understand(rules, run->words + 1, run->word_count - 1, is_replay);
    if (meaning.wrong != NULL) {
        check_refused(run, meaning.wrong);
    } else if (is_replay) {
        check_replay(run, &meaning);
    } else if (rules == stress_rules) {
        check_stress(run, &meaning);
    } else if (rules == scope_rules) {
        check_scope(run, &meaning);
    } else {
        check_demo(run, &meaning);
    }
}

static void check_command(const struct run *run, const char *command) {
    const bool is_bench = strcmp(command, "bench") == 0;
    const struct rule *rules = strcmp(command, "demo") == 0     ? demo_rules
                               : strcmp(command, "stress") == 0 ? stress_rules
                               : strcmp(command, "scope") == 0  ? scope_rules
                               : strcmp(command, "replay") == 0 ? replay_rules
                                                                : NULL;
    if (!is_bench && rules == NULL) {
        check_refused(run, command);
    } else if (has_help(run, !is_bench)) {
        check_help(run);
    } else if (is_bench) {
        check_bench(run);
    } else {
        check_options(run, rules);
    }
}

/* verge help [COMMAND] */
static void check_help_of(const struct run *run) {
    static const char *const commands[] = {"demo", "scope", "replay", "stress", "bench", NULL};
    if (run->word_count > 1 && !is_one_of(run->words[1], commands)) {
        check_refused(run, run->words[1]);
    } else if (run->word_count > 2) {
        check_refused(run, run->words[2]);
    } else {
        check_help(run);
    }
}

static void check(const struct run *run) {
    if (run->word_count == 0) {
        FUZZ_CHECK(run->status == USAGE && run->out.length == 0 && says(&run->err, "usage: "), "no word: no usage");
    } else if (is_one_of(run->words[0], (const char *const[]){"--help", "-h", "help", NULL})) {
        check_help_of(run);
    } else if (strcmp(run->words[0], "--version") == 0) {
        check_help(run);
    } else {
        check_command(run, run->words[0]);
    }
}

/* ---- words from bytes ---- */

/* Each word is in memory of its own, so that a sanitizer finds reads beyond it. A zero byte ends a word. */
static size_t split(const uint8_t *bytes, size_t byte_count, char *words[WORD_COUNT_MAX]) {
    size_t word_count = 0;
    for (size_t from = 0; from < byte_count && word_count < WORD_COUNT_MAX;) {
        const uint8_t *end = memchr(bytes + from, '\n', byte_count - from);
        const size_t length = end == NULL ? byte_count - from : (size_t)(end - bytes) - from;
        char *word = strndup((const char *)bytes + from, length);
        FUZZ_CHECK(word != NULL, "no memory");
        words[word_count++] = word;
        from += length + 1;
    }
    return word_count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count) {
    char *words[WORD_COUNT_MAX];
    struct run run = {.words = words, .word_count = split(bytes, byte_count, words)};
    run_tool(&run);
    check(&run);
    for (size_t i = 0; i < run.word_count; i++) {
        free(words[i]);
    }
    free(run.out.text);
    free(run.err.text);
    return 0;
}
