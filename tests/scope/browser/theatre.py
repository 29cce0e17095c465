# SPDX-License-Identifier: MIT
"""The program that is looked at (theatre.c)."""

import subprocess

TOKEN = "only-for-the-tests-0123"


class Theatre:
    def __init__(self, program, address="tcp:0", kind="still"):
        self.process = subprocess.Popen(
            [program, address, TOKEN, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError("the program that is to be looked at did not start")

    @property
    def port(self):
        return self.address.split(":")[2].split("/")[0]

    def tell(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        return self.process.wait(600)
