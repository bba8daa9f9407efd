//! How fast the master answers. Run with `cargo bench -p moonquake-master`.

fn main() {
    divan::main();
}
