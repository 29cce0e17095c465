/* SPDX-License-Identifier: MIT */
/* The tool without its main: a table of sub-commands. Each is in files of its own. */
#ifndef VERGE_TOOL_TOOL_H
#define VERGE_TOOL_TOOL_H

/* Runs the sub-command that the arguments of main name, and returns the exit status. */
int tool_run(int argument_count, char **arguments);

#endif
