//! The tenant of a call, and the names in it that belong to that tenant.

use super::{Request, Rpc};

/// What calls do without a tenant, and what an empty one means. Mirrors `tenant.h:kDefaultTenantId`.
pub const DEFAULT_TENANT: &str = "default";

macro_rules! with_tenant {
    (one { $($one:ident),* $(,)? } many { $($many:ident),* $(,)? } none { $($none:ident),* $(,)? }) => {
        impl Request {
            /// The tenant that the call names; `None` for the default one and for calls that name none.
            pub fn tenant(&self) -> Option<&str> {
                let tenant = match self {
                    $(Request::$one { tenant_id, .. } => tenant_id,)*
                    $(Request::$many { tenant_id, .. } => tenant_id,)*
                    $(Request::$none { tenant_id, .. } => tenant_id,)*
                    Request::PutStart { tenant_id, .. } | Request::UpsertStart { tenant_id, .. }
                    | Request::BatchPutStart { tenant_id, .. } | Request::BatchUpsertStart { tenant_id, .. }
                    | Request::PutEnd { tenant_id, .. } | Request::UpsertEnd { tenant_id, .. }
                    | Request::BatchPutEnd { tenant_id, .. } | Request::BatchUpsertEnd { tenant_id, .. } => tenant_id,
                    _ => return None,
                };
                Some(tenant.as_str()).filter(|tenant| !tenant.is_empty() && *tenant != DEFAULT_TENANT)
            }

            /// Makes the call name another tenant, if it names one at all.
            pub fn set_tenant(&mut self, tenant: &str) {
                match self {
                    $(Request::$one { tenant_id, .. } => tenant.clone_into(tenant_id),)*
                    $(Request::$many { tenant_id, .. } => tenant.clone_into(tenant_id),)*
                    $(Request::$none { tenant_id, .. } => tenant.clone_into(tenant_id),)*
                    Request::PutStart { tenant_id, .. } | Request::UpsertStart { tenant_id, .. }
                    | Request::BatchPutStart { tenant_id, .. } | Request::BatchUpsertStart { tenant_id, .. }
                    | Request::PutEnd { tenant_id, .. } | Request::UpsertEnd { tenant_id, .. }
                    | Request::BatchPutEnd { tenant_id, .. } | Request::BatchUpsertEnd { tenant_id, .. } => {
                        tenant.clone_into(tenant_id);
                    }
                    _ => {}
                }
            }

            /// Changes every key and group that the call names; an empty one names nothing.
            pub fn rename(&mut self, rename: impl Fn(&mut String)) {
                let name = |name: &mut String| {
                    if !name.is_empty() {
                        rename(name);
                    }
                };
                match self {
                    $(Request::$one { key, .. } => name(key),)*
                    $(Request::$many { keys, .. } => keys.iter_mut().for_each(name),)*
                    Request::PutStart { key, config, .. } | Request::UpsertStart { key, config, .. } => {
                        name(key);
                        config.group_ids.iter_mut().flatten().for_each(name);
                    }
                    Request::BatchPutStart { keys, config, .. } | Request::BatchUpsertStart { keys, config, .. } => {
                        keys.iter_mut().for_each(&name);
                        config.group_ids.iter_mut().flatten().for_each(name);
                    }
                    Request::PutEnd { object_meta, .. } | Request::UpsertEnd { object_meta, .. } => {
                        name(&mut object_meta.key);
                    }
                    Request::BatchPutEnd { object_metas, .. } | Request::BatchUpsertEnd { object_metas, .. } => {
                        object_metas.iter_mut().for_each(|meta| name(&mut meta.key));
                    }
                    _ => {}
                }
            }
        }
    };
}

with_tenant! {
    one {
        ExistKey, GetReplicaList, PutRevoke, UpsertRevoke, Remove, PromotionAllocStart, NotifyPromotionSuccess,
        NotifyPromotionFailure, CopyStart, DynamicReplicaCopyStart, CopyEnd, DynamicReplicaCopyEnd, CopyRevoke,
        DynamicReplicaCopyRevoke, MoveStart, MoveEnd, MoveRevoke, EvictDiskReplica, CreateCopyTask, CreateMoveTask,
    }
    many { BatchExistKey, BatchGetReplicaList, BatchPutRevoke, BatchUpsertRevoke, BatchRemove, BatchEvictDiskReplica }
    none { RemoveAll, RemoveByRegex, GetReplicaListByRegex }
}

impl Rpc {
    /// Whether calls of the method carry a tenant.
    pub fn has_tenant(self) -> bool {
        self.fields().iter().any(|(name, _)| *name == "tenant_id")
    }
}

/// Whether a name is one that a tenant can have. Mirrors `tenant.h:IsValidTenantId`.
pub fn is_tenant_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('_') && !name.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_call_with_a_tenant_is_renamed() {
        let remove = |tenant: &str| Request::Remove {
            key: "k".to_owned(),
            force: false,
            tenant_id: tenant.to_owned(),
        };
        assert_eq!(remove("ta").tenant(), Some("ta"));
        assert_eq!(remove("default").tenant(), None);
        assert_eq!(remove("").tenant(), None);
        let mut batch = Request::BatchRemove {
            keys: vec!["a".to_owned(), String::new()],
            force: false,
            tenant_id: "ta".to_owned(),
        };
        batch.rename(|key| key.insert(0, '!'));
        let Request::BatchRemove { keys, .. } = batch else {
            panic!("it stays what it is")
        };
        assert_eq!(keys, ["!a", ""]);
    }

    #[test]
    fn tenants_have_plain_names() {
        assert!(is_tenant_name("ta") && is_tenant_name("default"));
        assert!(!is_tenant_name("") && !is_tenant_name("_ta") && !is_tenant_name("t\n"));
    }
}
