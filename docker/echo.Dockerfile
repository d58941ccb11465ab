# The echo server of examples/echo_server, which registers itself with the three registries of docker-compose.yml.
FROM rust:1.89.0-slim-bookworm AS build
# etcd's client compiles protocol buffers, Consul's builds against OpenSSL.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libprotobuf-dev libssl-dev pkg-config protobuf-compiler \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --package ringfence-examples --example echo_server --features consul,nacos,etcd \
    && cp target/release/examples/echo_server /usr/local/bin/echo_server

FROM debian:bookworm-20250811-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libssl3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/bin/echo_server /usr/local/bin/echo_server
EXPOSE 50051
ENTRYPOINT ["echo_server", "--host", "0.0.0.0", "--port", "50051", "--service", "echo", "--register", "consul,nacos,etcd"]
