//! The order in which `std::unordered_set` and `std::unordered_map` of the GNU C++ library visit their elements.
//!
//! Upstream walks such tables in its rounds, and the order of its frees decides later addresses. A [`Chain`] keeps the
//! same singly linked list, the same buckets and the same growth, and nothing else. The nodes of a list lie where its owner
//! has them: those of keys beside the heads of objects, those of a [`HashOrder`] in a table of its own.

use super::arena::Id;

const NONE: u32 = u32::MAX;
/// The node before the first element. It stands for a place and holds nothing.
const HEAD: u32 = u32::MAX - 1;

/// Tables with no more buckets stay as they are. Measured: one of 953 stays, one of 1031 shrinks.
const SHRINKS_ABOVE: usize = 1024;

/// Bucket counts that the library grows through, up to about five million elements.
#[rustfmt::skip]
const BUCKET_COUNTS: &[u32] = &[
    13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 103, 109, 113, 127, 137,
    139, 149, 157, 167, 179, 193, 199, 211, 227, 241, 257, 277, 293, 313, 337, 359, 383, 409, 439, 467, 503,
    541, 577, 619, 661, 709, 761, 823, 887, 953, 1031, 1109, 1193, 1289, 1381, 1493, 1613, 1741, 1879, 2029,
    2179, 2357, 2549, 2753, 2971, 3209, 3469, 3739, 4027, 4349, 4703, 5087, 5503, 5953, 6427, 6949, 7517,
    8123, 8783, 9497, 10273, 11113, 12011, 12983, 14033, 15173, 16411, 17749, 19183, 20753, 22447, 24281,
    26267, 28411, 30727, 33223, 35933, 38873, 42043, 45481, 49201, 53201, 57557, 62233, 67307, 72817, 78779,
    85229, 92203, 99733, 107897, 116731, 126271, 136607, 147793, 159871, 172933, 187091, 202409, 218971,
    236897, 256279, 277261, 299951, 324503, 351061, 379787, 410857, 444487, 480881, 520241, 562841, 608903,
    658753, 712697, 771049, 834181, 902483, 976369, 1056323, 1142821, 1236397, 1337629, 1447153, 1565659,
    1693859, 1832561, 1982627, 2144977, 2320627, 2510653, 2716249, 2938679, 3179303, 3439651, 3721303,
    4026031, 4355707, 4712381, 5098259,
];

/// The nodes of a list, by number.
pub(crate) trait Nodes {
    /// The hash of a node's element.
    fn hash(&self, node: u32) -> u64;
    /// What was last set as the next node.
    fn next(&self, node: u32) -> u32;
    /// Sets the next node.
    fn set_next(&mut self, node: u32, next: u32);
}

/// A list of nodes in the library's order, with its buckets.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// For each bucket the node before its first element.
    buckets: Vec<u32>,
    /// The first element and its bucket: what is added to an empty bucket goes in front of it, and need not look at it.
    first: u32,
    first_bucket: u32,
    grow_above: u32,
    length: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain {
            buckets: Vec::new(),
            first: NONE,
            first_bucket: NONE,
            grow_above: 0,
            length: 0,
        }
    }
}

impl Chain {
    /// Makes a large table smaller when less than a quarter of it is used: to twice its elements, as `rehash` does.
    pub(crate) fn shrink(&mut self, nodes: &mut impl Nodes) {
        let buckets = self.buckets.len();
        if buckets > SHRINKS_ABOVE && (self.length as usize) < buckets / 4 {
            self.rehash(nodes, bucket_count_for(2 * self.length));
        }
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many nodes are in it.
    pub(crate) fn len(&self) -> usize {
        self.length as usize
    }

    /// Looks at what the addition of an element looks at, and changes nothing.
    pub(crate) fn look_ahead(&self, hash: u64, next: impl Fn(u32) -> u32) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let previous = self.buckets[self.bucket_of(hash)];
        (previous < HEAD).then(|| next(previous))
    }

    /// Adds a node, unless it is in it.
    pub(crate) fn insert(&mut self, nodes: &mut impl Nodes, node: u32) {
        let hash = nodes.hash(node);
        let is_in = self.find_previous(nodes, hash, |_, other| other == node);
        if is_in.is_none() {
            self.insert_absent(nodes, node);
        }
    }

    /// Adds a node that is not in it.
    pub(crate) fn insert_absent(&mut self, nodes: &mut impl Nodes, node: u32) {
        self.grow(nodes);
        self.put_first_in_bucket(nodes, node);
        self.length += 1;
    }

    /// Takes a node out, if it is there.
    pub(crate) fn remove(&mut self, nodes: &mut impl Nodes, node: u32) {
        let hash = nodes.hash(node);
        if let Some(previous) = self.find_previous(nodes, hash, |_, other| other == node) {
            self.remove_behind(nodes, previous, hash);
        }
    }

    /// The nodes in order.
    pub(crate) fn iter(&self, next: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
        let some = |node: u32| (node != NONE).then_some(node);
        std::iter::successors(some(self.first), move |node| some(next(*node)))
    }

    /// Takes out what comes behind a node, and returns it.
    fn remove_behind(&mut self, nodes: &mut impl Nodes, previous: u32, hash: u64) -> u32 {
        let node = self.behind(nodes, previous);
        let next = nodes.next(node);
        let bucket = self.bucket_of(hash);
        let next_bucket = (next != NONE).then(|| self.bucket_of(nodes.hash(next)));
        if let Some(next_bucket) = next_bucket.filter(|next_bucket| *next_bucket != bucket) {
            self.buckets[next_bucket] = previous;
        }
        if self.buckets[bucket] == previous && next_bucket != Some(bucket) {
            self.buckets[bucket] = NONE;
        }
        if previous == HEAD {
            self.first = next;
            self.first_bucket = next_bucket.map_or(NONE, |bucket| bucket as u32);
        } else {
            nodes.set_next(previous, next);
        }
        self.length -= 1;
        node
    }

    /// What comes behind a node.
    fn behind(&self, nodes: &impl Nodes, node: u32) -> u32 {
        match node {
            HEAD => self.first,
            _ => nodes.next(node),
        }
    }

    fn bucket_of(&self, hash: u64) -> usize {
        (hash % self.buckets.len() as u64) as usize
    }

    /// The node before the one that is sought.
    fn find_previous<N: Nodes>(&self, nodes: &N, hash: u64, is_it: impl Fn(&N, u32) -> bool) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let bucket = self.bucket_of(hash);
        let mut previous = Some(self.buckets[bucket]).filter(|previous| *previous != NONE)?;
        loop {
            let node = self.behind(nodes, previous);
            if node == NONE {
                return None;
            }
            if is_it(nodes, node) {
                return Some(previous);
            }
            if self.bucket_of(nodes.hash(node)) != bucket {
                return None;
            }
            previous = node;
        }
    }

    fn put_first_in_bucket(&mut self, nodes: &mut impl Nodes, node: u32) {
        let bucket = self.bucket_of(nodes.hash(node));
        let previous = self.buckets[bucket];
        if previous < HEAD {
            nodes.set_next(node, nodes.next(previous));
            nodes.set_next(previous, node);
            return;
        }
        nodes.set_next(node, self.first);
        if previous == NONE && self.first != NONE {
            self.buckets[self.first_bucket as usize] = node;
        }
        (self.first, self.first_bucket) = (node, bucket as u32);
        self.buckets[bucket] = HEAD;
    }

    /// Makes room for one more element.
    fn grow(&mut self, nodes: &mut impl Nodes) {
        let wanted = self.length + 1;
        if wanted <= self.grow_above {
            return;
        }
        let least = if self.grow_above == 0 {
            wanted.max(11)
        } else {
            wanted
        };
        let present = (self.buckets.len() as u32).max(1);
        if least >= present {
            self.rehash(nodes, next_bucket_count((least + 1).max(2 * present)));
        } else {
            self.grow_above = present;
        }
    }

    fn rehash(&mut self, nodes: &mut impl Nodes, buckets: u32) {
        let mut node = self.first;
        (self.first, self.first_bucket) = (NONE, NONE);
        self.buckets = vec![NONE; buckets as usize];
        self.grow_above = buckets;
        while node != NONE {
            let next = nodes.next(node);
            self.put_first_in_bucket(nodes, node);
            node = next;
        }
    }
}

#[derive(Clone, Debug)]
struct Node<K> {
    hash: u64,
    key: K,
    next: u32,
}

impl<K> Nodes for Vec<Node<K>> {
    fn hash(&self, node: u32) -> u64 {
        self[node as usize].hash
    }

    fn next(&self, node: u32) -> u32 {
        self[node as usize].next
    }

    fn set_next(&mut self, node: u32, next: u32) {
        self[node as usize].next = next;
    }
}

/// Elements in the library's order.
#[derive(Clone, Debug)]
pub(crate) struct HashOrder<K> {
    chain: Chain,
    nodes: Vec<Node<K>>,
    spare: Vec<u32>,
}

/// Keys in the library's order.
pub(crate) type KeyOrder = HashOrder<Id>;

impl<K> Default for HashOrder<K> {
    fn default() -> Self {
        HashOrder {
            chain: Chain::default(),
            nodes: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<K: Copy + Eq> HashOrder<K> {
    /// An empty table that was asked to reserve room for `elements`. Mirrors `reserve`.
    pub(crate) fn with_reserve(elements: u32) -> Self {
        let mut order = HashOrder::default();
        order.chain.rehash(&mut order.nodes, bucket_count_for(elements));
        order
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// [`Chain::shrink`] for a table of its own.
    #[cfg(test)]
    pub(crate) fn shrink(&mut self) {
        self.chain.shrink(&mut self.nodes);
    }

    /// Adds an element, unless it is in it.
    pub(crate) fn insert(&mut self, hash: u64, key: K) {
        if self.find_previous(hash, key).is_some() {
            return;
        }
        let node = Node {
            hash,
            key,
            next: NONE,
        };
        let index = match self.spare.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.chain.insert_absent(&mut self.nodes, index);
    }

    /// Takes an element out, if it is there.
    pub(crate) fn remove(&mut self, hash: u64, key: K) {
        if let Some(previous) = self.find_previous(hash, key) {
            let node = self.chain.remove_behind(&mut self.nodes, previous, hash);
            self.spare.push(node);
        }
    }

    /// The elements in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = K> {
        let nodes = self.chain.iter(|node| self.nodes.next(node));
        nodes.map(|node| self.nodes[node as usize].key)
    }

    /// The node before the element.
    fn find_previous(&self, hash: u64, key: K) -> Option<u32> {
        let is_it = |nodes: &Vec<Node<K>>, node: u32| {
            let node = &nodes[node as usize];
            node.hash == hash && node.key == key
        };
        self.chain.find_previous(&self.nodes, hash, is_it)
    }
}

/// What the library takes when it is asked for so many.
fn bucket_count_for(least: u32) -> u32 {
    match least {
        0..=1 => 2,
        // The library has its own short table for the small counts.
        2..=12 => [2, 2, 2, 3, 5, 5, 7, 7, 11, 11, 11, 11, 13][least as usize],
        _ => next_bucket_count(least),
    }
}

fn next_bucket_count(least: u32) -> u32 {
    BUCKET_COUNTS
        .iter()
        .copied()
        .find(|count| *count >= least)
        .unwrap_or(least | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::hash::hash_of;

    fn insert(order: &mut HashOrder<usize>, number: usize) {
        order.insert(hash_of(format!("key_{number}").as_bytes()), number);
    }

    /// Computed with the GNU C++ library, version 12: insert 0 to 39, erase every third, insert 100 to 104.
    const AFTER_GROWTH: [usize; 31] = [
        103, 102, 101, 100, 35, 34, 38, 28, 5, 104, 10, 4, 31, 1, 16, 37, 13, 8, 2, 20, 7, 11, 17, 29, 22,
        32, 19, 23, 25, 14, 26,
    ];

    #[test]
    fn the_order_is_that_of_the_cpp_library() {
        let mut order = HashOrder::default();
        (0..40).for_each(|number| insert(&mut order, number));
        for number in (0..40).step_by(3) {
            let key = format!("key_{number}");
            order.remove(hash_of(key.as_bytes()), number);
        }
        (100..105).for_each(|number| insert(&mut order, number));
        assert_eq!(order.iter().collect::<Vec<usize>>(), AFTER_GROWTH);
    }

    #[test]
    fn reserved_tables_of_numbers_too() {
        let mut order = HashOrder::with_reserve(20);
        for number in [5, 1000, 7, 300, 52, 28, 29, 30, 99, 1023_u64] {
            order.insert(number, number);
        }
        let numbers: Vec<u64> = order.iter().collect();
        assert_eq!(numbers, [29, 52, 300, 99, 30, 7, 1023, 1000, 28, 5]);
    }

    /// The large bucket counts are those that the real master showed by the order of what was added later; the small ones are
    /// the library's.
    #[test]
    fn a_large_table_shrinks_below_a_quarter() {
        let small = [(6, 13), (5, 11), (4, 11), (3, 7), (2, 5), (1, 2), (0, 2)];
        let large = [(277, 1109), (276, 577), (200, 409), (100, 211), (10, 23)];
        for (left, buckets) in large.into_iter().chain(small) {
            let mut order = HashOrder::default();
            (0..542).for_each(|number| insert(&mut order, number));
            for number in left..542 {
                let key = format!("key_{number}");
                order.remove(hash_of(key.as_bytes()), number);
            }
            order.shrink();
            assert_eq!(order.chain.buckets.len(), buckets, "{left}");
            assert_eq!(order.iter().count(), left);
        }
        let mut small = HashOrder::default();
        (0..541).for_each(|number| insert(&mut small, number));
        for number in 100..541 {
            let key = format!("key_{number}");
            small.remove(hash_of(key.as_bytes()), number);
        }
        small.shrink();
        assert_eq!(small.chain.buckets.len(), 541);
    }

    #[test]
    fn elements_of_one_hash_are_told_apart() {
        let mut order = HashOrder::default();
        (1..=3).for_each(|number| order.insert(7, number));
        order.remove(7, 2);
        assert_eq!(order.iter().collect::<Vec<usize>>(), [3, 1]);
    }

    #[test]
    fn what_is_removed_is_gone_and_twice_is_once() {
        let mut order = HashOrder::default();
        order.insert(3, 3);
        order.insert(3, 3);
        assert_eq!(order.iter().count(), 1);
        order.remove(3, 3);
        order.remove(3, 3);
        assert!(order.is_empty() && order.iter().next().is_none());
    }
}
