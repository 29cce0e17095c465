/* SPDX-License-Identifier: MIT */
/* Which names, labels and sets of labels are valid. Nothing here depends on the locale. */
#include <errno.h>
#include <string.h>

#include "metrics/writer.h"

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name(const char *name, char also_allowed) {
    if (name == NULL || !(is_letter(*name) || *name == also_allowed)) {
        return false;
    }
    for (; *name != '\0'; name++) {
        if (!is_letter(*name) && !is_digit(*name) && *name != also_allowed) {
            return false;
        }
    }
    return true;
}

bool verge__metrics_is_name(const char *name) {
    return is_name(name, ':');
}

/* Returns the number of bytes of the UTF-8 character at text, or 0 if it is not valid (RFC 3629: the shortest form, no
 * surrogates, nothing beyond U+10FFFF). */
static size_t utf8_length(const unsigned char *text) {
    static const struct {
        unsigned char first_from, first_to, second_from, second_to, length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    if (text[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (text[0] < forms[i].first_from || text[0] > forms[i].first_to) {
            continue;
        }
        if (text[1] < forms[i].second_from || text[1] > forms[i].second_to) {
            return 0;
        }
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((text[k] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return forms[i].length;
    }
    return 0;
}

bool verge__metrics_is_utf8(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at == NULL) {
        return false;
    }
    while (*at != '\0') {
        const size_t length = utf8_length(at);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

static const verge_label *find(const verge_label *labels, const char *name) {
    for (; labels != NULL && labels->name != NULL; labels++) {
        if (strcmp(labels->name, name) == 0) {
            return labels;
        }
    }
    return NULL;
}

static bool is_label(const verge_label *label) {
    return is_name(label->name, '_') && strncmp(label->name, "__", 2) != 0 && strcmp(label->name, "le") != 0 &&
           strcmp(label->name, "quantile") != 0 && verge__metrics_is_utf8(label->value);
}

static bool are_labels(const verge_label *labels) {
    for (const verge_label *label = labels; label != NULL && label->name != NULL; label++) {
        if (!is_label(label) || find(label + 1, label->name) != NULL) {
            return false;
        }
    }
    return true;
}

/* Whether each label has the same value in the others. For Prometheus, an empty value is the same as no label. */
static bool each_is_among(const verge_label *labels, const verge_label *others) {
    for (; labels != NULL && labels->name != NULL; labels++) {
        const verge_label *other = find(others, labels->name);
        if (strcmp(labels->value, other == NULL ? "" : other->value) != 0) {
            return false;
        }
    }
    return true;
}

int verge__metrics_check_labels(const verge_label *const *labels, size_t source_count) {
    if (labels == NULL) {
        return source_count <= 1 ? 0 : -EINVAL;
    }
    for (size_t i = 0; i < source_count; i++) {
        if (!are_labels(labels[i])) {
            return -EINVAL;
        }
        for (size_t k = 0; k < i; k++) {
            if (each_is_among(labels[i], labels[k]) && each_is_among(labels[k], labels[i])) {
                return -EINVAL;
            }
        }
    }
    return 0;
}
