//! Keys of tenants. Upstream with multi-tenancy off maps every request to one tenant, whatever it says: quirk
//! `tenant-ignored`. Without it each tenant has keys of its own, as upstream has them with `enable_multi_tenants`; no
//! tenant needs to be registered here. Mirrors `tenant.h:MakeTenantScopedKey`.

use crate::Master;
use moonquake_faults::Quirk;
use moonquake_protocol::{Request, is_tenant_name};
use std::borrow::Cow;

/// Before a tenant and between it and its key. Keys of the default tenant stand alone: one that begins with this character
/// and has it twice would be taken for a tenant's.
const SEPARATOR: char = '\0';

/// Whose keys a call that names none means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// All there are, in a master without tenants: a key is nothing but a key, whatever bytes it begins with.
    Whole,
    /// Everybody's.
    All,
    /// Those of the default tenant.
    Default,
    /// Those of one tenant.
    One(&'a str),
}

impl Scope<'_> {
    /// The key as its user knows it, if it lies in this scope.
    pub(crate) fn user_key<'k>(&self, key: &'k str) -> Option<&'k str> {
        let (tenant, user_key) = split(key);
        match self {
            Scope::Whole => Some(key),
            Scope::All => Some(user_key),
            Scope::Default => tenant.is_none().then_some(user_key),
            Scope::One(own) => (tenant == Some(own)).then_some(user_key),
        }
    }
}

/// A stored key as its tenant, if it is not the default one, and the key as its user knows it.
fn split(key: &str) -> (Option<&str>, &str) {
    key.strip_prefix(SEPARATOR)
        .and_then(|scoped| scoped.split_once(SEPARATOR))
        .map_or((None, key), |(tenant, key)| (Some(tenant), key))
}

impl Master {
    /// The request with the keys that are meant; none if its tenant is no tenant.
    pub(crate) fn in_tenant<'r>(&self, request: &'r Request) -> Option<Cow<'r, Request>> {
        let Some(tenant) = request.tenant().filter(|_| self.has_tenants()) else {
            return Some(Cow::Borrowed(request));
        };
        if !is_tenant_name(tenant) {
            return None;
        }
        let mut scoped = request.clone();
        scoped.rename(|key| *key = format!("{SEPARATOR}{tenant}{SEPARATOR}{key}"));
        Some(Cow::Owned(scoped))
    }

    /// A stored key as its tenant, if it is not the default one, and the key as its user knows it.
    pub(crate) fn parts_of<'k>(&self, key: &'k str) -> (Option<&'k str>, &'k str) {
        if self.has_tenants() {
            split(key)
        } else {
            (None, key)
        }
    }

    /// Whose keys a removal by pattern or a query by pattern means.
    pub(crate) fn scope_of<'r>(&self, request: &'r Request) -> Scope<'r> {
        if !self.has_tenants() {
            return Scope::Whole;
        }
        match request {
            // Mirrors `master_service.cpp:RemoveAll`, where an empty tenant means all.
            Request::RemoveAll { tenant_id, .. } if tenant_id.is_empty() => Scope::All,
            _ => request.tenant().map_or(Scope::Default, Scope::One),
        }
    }

    fn has_tenants(&self) -> bool {
        !self.config.quirks.has(Quirk::TenantIgnored)
    }
}
