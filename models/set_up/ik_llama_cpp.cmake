# Of ik_llama.cpp, only its library: `llama-quantize` and what it needs is half of what there is to compile.
# CMake reads this where its vendored project begins, so the component is what that project installs.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)
set(CMAKE_INSTALL_LIBDIR lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN")
set(GGML_IQK_FA_ALL_QUANTS OFF) # attention over caches of other types than 16-bit floats
