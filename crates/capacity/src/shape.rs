//! What a model keeps of each token: the shape of its cache, layer by layer.

use crate::units::{ElementBytes, Elements, Heads, Layers, Tokens};

/// The cache of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How the model is called.
    pub name: String,
    /// Where its numbers come from: an address, a file, or the flags.
    pub source: String,
    /// Layers that keep the same, together.
    pub groups: Vec<Group>,
    /// Heads of queries, where they are known. They keep nothing; they tell MHA from GQA.
    pub query_heads: Option<Heads>,
    /// Bytes of a number as the source says, where it does.
    pub bytes: Option<ElementBytes>,
    /// What a reader of the result must know.
    pub notes: Vec<String>,
}

/// Layers that keep the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many.
    pub layers: Layers,
    /// Of a token, in each of them.
    pub cache: Cache,
    /// Of which tokens.
    pub keeps: Keeps,
}

/// What a layer keeps of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// A key and a value for each KV head: MHA, GQA, MQA.
    Heads {
        /// KV heads.
        kv_heads: Heads,
        /// Elements of a key.
        key_dim: Elements,
        /// Elements of a value; nearly always as many.
        value_dim: Elements,
    },
    /// One latent and one rotary key for all heads: MLA.
    Latent {
        /// `kv_lora_rank`.
        rank: Elements,
        /// `qk_rope_head_dim`.
        rope_dim: Elements,
    },
    /// A key of an indexer beside the cache, in bytes with its scales. It is not split.
    IndexKey {
        /// Bytes of a token in each layer.
        bytes: u64,
    },
}

/// Of which tokens a layer keeps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Of all.
    All,
    /// Of the last ones.
    Window(Tokens),
}

impl Shape {
    /// MHA, GQA, MQA or MLA, and what else there is.
    pub fn kind(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        for group in &self.groups {
            let word = match group.cache {
                Cache::Latent { .. } => "MLA",
                Cache::IndexKey { .. } => "indexer",
                Cache::Heads { kv_heads, .. } => match self.query_heads {
                    Some(Heads(queries)) if queries == kv_heads.0 => "MHA",
                    _ if kv_heads.0 == 1 => "MQA",
                    Some(_) => "GQA",
                    None => "MHA or GQA",
                },
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let mut kind = words.join(" + ");
        let is_windowed = |group: &&Group| group.keeps != Keeps::All;
        match self.groups.iter().filter(is_windowed).count() {
            0 => {}
            all if all == self.groups.len() => kind.push_str(", sliding window"),
            _ => kind.push_str(", sliding window in some layers"),
        }
        kind
    }

    /// Whether the bytes of a request are linear in its tokens.
    pub fn is_linear(&self) -> bool {
        self.groups.iter().all(|group| group.keeps == Keeps::All)
    }
}
