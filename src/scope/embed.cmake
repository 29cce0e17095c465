# SPDX-License-Identifier: MIT
# cmake -DPAGE=page.html -DOUTPUT=page.c -P embed.cmake
# Puts page.css, page.js and views.js into page.html, and writes a C file that has the result as an array, its ETag, and
# its Content-Security-Policy. The policy allows only the script and the style of the page, by their hashes.

# The SHA-256 of a text, in base64: 3 hexadecimal digits become 2 characters.
function(hash_in_base64 text result)
    set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    string(SHA256 digits "${text}")
    set(digits "${digits}00") # 66 digits: 3 divides their number
    set(coded "")
    foreach(place RANGE 0 63 3)
        string(SUBSTRING "${digits}" ${place} 3 three)
        math(EXPR high "0x${three} >> 6")
        math(EXPR low "0x${three} & 63")
        string(SUBSTRING "${alphabet}" ${high} 1 first)
        string(SUBSTRING "${alphabet}" ${low} 1 second)
        string(APPEND coded "${first}${second}")
    endforeach()
    string(SUBSTRING "${coded}" 0 43 coded) # 256 bits are 43 characters and a "="
    set(${result} "${coded}=" PARENT_SCOPE)
endfunction()

# The text between <name> and </name>. There is no regular expression here, as a page may have any character.
function(between text name result)
    string(FIND "${text}" "<${name}>" begin)
    string(FIND "${text}" "</${name}>" end)
    string(LENGTH "<${name}>" length)
    if(begin LESS 0 OR end LESS begin)
        message(FATAL_ERROR "${PAGE} has no <${name}>")
    endif()
    math(EXPR begin "${begin} + ${length}")
    math(EXPR length "${end} - ${begin}")
    string(SUBSTRING "${text}" ${begin} ${length} part)
    set(${result} "${part}" PARENT_SCOPE)
endfunction()

get_filename_component(folder ${PAGE} DIRECTORY)
file(READ ${PAGE} text)
file(READ ${folder}/page.css style)
file(READ ${folder}/page.js script)
file(READ ${folder}/views.js views)
string(REPLACE "<style></style>" "<style>\n${style}</style>" text "${text}")
string(REPLACE "<script></script>" "<script>\n'use strict';\n(function () {\n${script}\n${views}})();\n</script>" text "${text}")
set(whole ${OUTPUT}.html)
file(WRITE ${whole} "${text}")
file(SIZE ${whole} size)
if(size GREATER 98304)
    message(FATAL_ERROR "${PAGE} has ${size} bytes with its style and script; it is to stay below 96 KB")
endif()
if(text MATCHES "[^\t\n -~]")
    message(FATAL_ERROR "${PAGE} is to be plain ASCII, as places in it are counted")
endif()
between("${text}" script script)
between("${text}" style style)
hash_in_base64("${script}" script_hash)
hash_in_base64("${style}" style_hash)
file(SHA256 ${whole} tag)
string(SUBSTRING "${tag}" 0 32 tag)

file(READ ${whole} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made from page.html by embed.cmake. */
#include \"scope/scope_internal.h\"

const unsigned char verge__page[] = {
    ${bytes}
};
const size_t verge__page_size = sizeof(verge__page);
const char verge__page_tag[] = \"\\\"${tag}\\\"\";
const char verge__page_policy[] = \"default-src 'none'; script-src 'sha256-${script_hash}'; style-src 'sha256-${style_hash}'; \"
                                  \"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\";
")
