# SPDX-License-Identifier: MIT
# awk -v number=N -v part=c|text -f extract.awk FILE: of a Markdown file, the Nth block of C, or what the documentation
# says that it prints: the block of text after it, if there is one before the next block of C. Of a manual page, the
# literal display in its EXAMPLES.
FILENAME ~ /\.md$/ && $0 == "```" && inside { inside = 0; next }
FILENAME ~ /\.md$/ && $0 == "```c" { count++; inside = part == "c" && count == number; next }
FILENAME ~ /\.md$/ && $0 == "```text" { inside = part == "text" && count == number; next }

/^\.Sh / { is_examples = $2 == "EXAMPLES" }
is_examples && /^\.Bd -literal/ { count++; inside = part == "c" && count == number; next }
is_examples && /^\.Ed/ { inside = 0; next }

inside && FILENAME !~ /\.md$/ { sub(/^\\&/, ""); gsub(/\\e/, "\\") }
inside { print }
END { exit count < number }
