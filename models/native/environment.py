"""What a library reads of the environment when it is loaded; import this before one."""

import os

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an abort starts a debugger on this process
# OpenMP's threads wait for each other by spinning, 300,000 times before they give way: beside two
# busy programs a token then took up to six times as long. This many cost nothing when all is quiet.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
