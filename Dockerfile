# The CPU server. Models are mounted at /models:
#
#   docker build -t onnxd .
#   docker run --read-only --cap-drop ALL --stop-timeout 30 -p 8000:8000 \
#       -v "$PWD/models:/models:ro" onnxd
#
# Docker kills 10 seconds after SIGTERM unless told otherwise; grace and drain below take up to 25, so
# the stop timeout has to be longer (in Kubernetes terminationGracePeriodSeconds, 30 by default).
FROM debian:12 AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential cmake ninja-build pkg-config libuv1-dev node-llhttp libcjson-dev \
        libdnnl-dev libprotobuf-c-dev protobuf-c-compiler libsystemd-dev libre2-dev \
        libturbojpeg0-dev libpng-dev libwebp-dev libtiff-dev libopenjp2-7-dev libcriterion-dev python3 \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cmake --preset release \
    && cmake --build build/release --target onnxd -j "$(nproc)" \
    && cmake --install build/release --prefix /usr --strip --component runtime

FROM debian:12-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        libuv1 libcjson1 libdnnl2 libprotobuf-c1 libsystemd0 libre2-9 libgomp1 \
        libturbojpeg0 libpng16-16 libwebp7 libtiff6 libopenjp2-7 \
    && rm -rf /var/lib/apt/lists/* \
    && mkdir /models
COPY --from=build /usr/bin/onnxd /usr/bin/onnxd
# Any numeric id will do: nothing is written.
USER 65532:65532
# Inside a container the loopback address would reach nobody. The grace lets Kubernetes take the pod
# out of its endpoints before the listener closes.
ENV ONNXD_HTTP_LISTEN=0.0.0.0:8000 \
    ONNXD_MODELS_SOURCES=/models \
    ONNXD_DAEMON_DRAIN_GRACE_MS=5000 \
    ONNXD_DAEMON_DRAIN_TIMEOUT_MS=20000
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/usr/bin/onnxd", "healthcheck"]
ENTRYPOINT ["/usr/bin/onnxd"]
CMD ["serve"]
