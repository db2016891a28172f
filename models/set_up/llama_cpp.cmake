# Leaves out the parts of llama.cpp that only its own programs use: a third of what there is to compile.
# CMake reads this where llama-cpp-python begins; it would build them and install them unused.
set(LLAMA_BUILD_COMMON OFF)
