//! How evidence names the key of a tenant.

/// A key as evidence names it: with its tenant in front, unless that is the default one.
pub fn key_of_tenant(tenant: Option<&str>, key: &str) -> String {
    match tenant {
        Some(tenant) if !key.is_empty() => format!("{tenant}/{key}"),
        _ => key.to_owned(),
    }
}
