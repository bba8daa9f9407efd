//! What all layers have in common, as far as they do.

use crate::shape::{Cache, Group, Shape};
use crate::units::{Bytes, Elements, Heads, Layers};

/// The numbers of one layer. What differs from layer to layer, or does not go with the kind, is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerLayer {
    /// Layers that keep a cache; an indexer beside them adds none.
    pub layers: Option<Layers>,
    /// What each layer keeps of a token, its index key counted.
    pub bytes_per_token: Option<Bytes>,
    /// KV heads.
    pub kv_heads: Option<Heads>,
    /// Elements of a key.
    pub head_dim: Option<Elements>,
    /// Elements of a value.
    pub v_head_dim: Option<Elements>,
    /// Elements of the latent of MLA.
    pub mla_rank: Option<Elements>,
    /// Elements of its rotary key.
    pub rope_dim: Option<Elements>,
}

impl PerLayer {
    pub(super) fn new(shape: &Shape, bytes_per_token: u128) -> PerLayer {
        let is_index = |cache: &Cache| matches!(cache, Cache::IndexKey { .. });
        let (beside, own): (Vec<&Group>, Vec<&Group>) =
            shape.groups.iter().partition(|group| is_index(&group.cache));
        let layers = own.iter().map(|group| u128::from(group.layers.0)).sum::<u128>();
        let mut found = PerLayer {
            layers: u64::try_from(layers).ok().map(Layers),
            ..PerLayer::default()
        };
        let Some(first) = own.first() else { return found };
        let is_alike = own.iter().all(|group| group.cache == first.cache);
        let is_beside_all = beside.iter().all(|group| u128::from(group.layers.0) == layers);
        if is_alike && is_beside_all && layers > 0 && bytes_per_token.is_multiple_of(layers) {
            found.bytes_per_token = Some(Bytes(bytes_per_token / layers));
        }
        match first.cache {
            Cache::Heads {
                kv_heads,
                key_dim,
                value_dim,
            } if is_alike => {
                found.kv_heads = Some(kv_heads);
                found.head_dim = Some(key_dim);
                found.v_head_dim = Some(value_dim);
            }
            Cache::Latent { rank, rope_dim } if is_alike => {
                found.mla_rank = Some(rank);
                found.rope_dim = Some(rope_dim);
            }
            _ => {}
        }
        found
    }
}
