//! Generates the echo client and server from `proto/`, with protox, so that no build of ours needs protoc.

use std::{env, error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    // Asked when it runs: checkouts that share a target folder share this program.
    let protos = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo::rerun-if-changed={}", protos.display());

    let descriptors = protox::compile([protos.join("echo/v1/echo.proto")], [&protos])?;
    tonic_prost_build::configure()
        // Callers bring their own transport: that is what Ringfence is about.
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
