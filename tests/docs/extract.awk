# SPDX-License-Identifier: MIT
# awk -v language=c -f extract.awk FILE.md: the first fenced block of a language. Fails if there is none.
!done && $0 == "```" language { inside = 1; next }
inside && $0 == "```" { inside = 0; done = 1 }
inside { print }
END { exit !done }
