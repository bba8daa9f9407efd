//! Runs one natural form.
fn main() {
    let id = std::env::args().nth(1).unwrap();
    let engine = match std::env::args().nth(2).as_deref() {
        Some("hosted") => moonquake_scenario::EngineKind::Hosted,
        _ => moonquake_scenario::EngineKind::Native,
    };
    let form = moonquake_native::Natural::ALL
        .into_iter()
        .find(|f| f.id().contains(&id))
        .unwrap();
    match form.run(engine, &moonquake_scenario::Interrupt::new(|| false)) {
        Ok(run) => println!("{run:#?}"),
        Err(e) => println!("ERR {e}"),
    }
}
