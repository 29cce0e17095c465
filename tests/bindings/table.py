# SPDX-License-Identifier: MIT
"""table.py SOURCE [--print]: the table of src/bindings/bindings.c has every struct that the headers of libverge define,
and every field of the options that is a number or a pointer. --print: prints what the table must have."""
import re
import subprocess
import sys
from pathlib import Path

source = Path(sys.argv[1])
headers = sorted(header for header in source.glob("include/verge/*.h") if header.name != "durable.h")
declared = subprocess.run([source / "scripts/declarations", *headers], capture_output=True, text=True, check=True).stdout
structs = dict(re.findall(r"^(?:typedef )?struct (verge_\w+) \{ (.*) \}", declared, re.MULTILINE))


def fields(struct):
    """A field that is a struct stands for its own fields. An array is no number."""
    for member in structs[struct].rstrip("; ").split("; "):
        member = re.sub(r"\(\*(\w+)\)\(.*\)", r"*\1", member)  # a pointer to a function
        inner = re.fullmatch(r"(verge_\w+) (\w+)", member)
        if inner and inner[1] in structs:
            yield from (f"{inner[2]}.{field}" for field in fields(inner[1]))
        elif not member.endswith(("]", " struct_size")):
            yield re.search(r"\w+$", member)[0]


def row(name):
    """Options without an init function have zeroes as their defaults."""
    is_zeroed = name.endswith("_options") and f" {name}_init(" not in declared
    return f"ZEROED({name})" if is_zeroed else f"TYPE({name})"


expected = [row(name) for name in sorted(structs)]
expected += [f"FIELD({name}, {field})" for name in sorted(structs) if name.endswith("_options") for field in fields(name)]
if sys.argv[2:] == ["--print"]:
    print("\n".join(f"    {row}," for row in expected))
    sys.exit(0)
rows = re.findall(r"\b(?:TYPE|ZEROED|FIELD)\(verge_[^()]*\)", (source / "src/bindings/bindings.c").read_text())
print(f"{len(rows)} rows")
for row in sorted(set(expected) ^ set(rows)):
    print(f"{row}: {'missing' if row in expected else 'not in the headers'}")
sys.exit(0 if rows and sorted(rows) == sorted(expected) else 1)
