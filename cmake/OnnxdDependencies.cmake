# The distribution's libraries, as imported targets onnxd::<name>. Nothing is vendored.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(onnxd_pkg name module)
  pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${module})
  add_library(onnxd::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(onnxd::${name} INTERFACE PkgConfig::${name})
endfunction()

onnxd_pkg(uv libuv)
onnxd_pkg(cjson libcjson)
onnxd_pkg(protobuf_c libprotobuf-c)
onnxd_pkg(systemd libsystemd)
onnxd_pkg(criterion criterion)
onnxd_pkg(re2 re2)

# The image formats of ImageDecoder.
onnxd_pkg(jpeg libturbojpeg)
onnxd_pkg(png libpng)
onnxd_pkg(webp libwebp)
onnxd_pkg(tiff libtiff-4)
onnxd_pkg(openjp2 libopenjp2)

# oneDNN 2.6 or 3.x. ONNXD_DNNL_ROOT points at another installation than the system's.
set(ONNXD_DNNL_ROOT "" CACHE PATH "prefix of a oneDNN installation; empty for the system's")
find_path(ONNXD_DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h HINTS ${ONNXD_DNNL_ROOT}/include REQUIRED)
find_library(ONNXD_DNNL_LIBRARY dnnl HINTS ${ONNXD_DNNL_ROOT}/lib ${ONNXD_DNNL_ROOT}/lib64 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
add_library(onnxd::dnnl INTERFACE IMPORTED GLOBAL)
target_include_directories(onnxd::dnnl SYSTEM INTERFACE ${ONNXD_DNNL_INCLUDE_DIR})
target_link_libraries(onnxd::dnnl INTERFACE ${ONNXD_DNNL_LIBRARY} OpenMP::OpenMP_C)

# llhttp: a system library where there is one, else the C sources that Debian's node-llhttp ships.
find_path(ONNXD_LLHTTP_INCLUDE_DIR llhttp.h PATHS /usr/include /usr/include/llhttp
  /usr/share/include/llhttp REQUIRED)
find_library(ONNXD_LLHTTP_LIBRARY llhttp)
if(ONNXD_LLHTTP_LIBRARY)
  add_library(onnxd_llhttp INTERFACE)
  target_link_libraries(onnxd_llhttp INTERFACE ${ONNXD_LLHTTP_LIBRARY})
  target_include_directories(onnxd_llhttp SYSTEM INTERFACE ${ONNXD_LLHTTP_INCLUDE_DIR})
else()
  find_path(ONNXD_LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp REQUIRED)
  add_library(onnxd_llhttp STATIC
    ${ONNXD_LLHTTP_SOURCE_DIR}/llhttp.c ${ONNXD_LLHTTP_SOURCE_DIR}/api.c
    ${ONNXD_LLHTTP_SOURCE_DIR}/http.c)
  target_include_directories(onnxd_llhttp SYSTEM PUBLIC ${ONNXD_LLHTTP_INCLUDE_DIR})
  target_compile_options(onnxd_llhttp PRIVATE -w)
endif()
add_library(onnxd::llhttp ALIAS onnxd_llhttp)
