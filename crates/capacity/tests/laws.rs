//! Laws that every budget obeys, on random inputs.

use moonquake_capacity::*;
use proptest::prelude::*;

fn heads(layers: u64, kv_heads: u64, dim: u64, keeps: Keeps) -> Shape {
    Shape {
        name: "m".to_owned(),
        source: "test".to_owned(),
        groups: vec![Group {
            layers: Layers(layers),
            cache: Cache::Heads {
                kv_heads: Heads(kv_heads),
                key_dim: Elements(dim),
                value_dim: Elements(dim),
            },
            keeps,
        }],
        query_heads: None,
        bytes: None,
        notes: Vec::new(),
    }
}

fn load(tokens: u64, page: u64, chunk: u64, tp: u64) -> Load {
    Load {
        tokens: Tokens(tokens),
        batch: Requests(3),
        page: Tokens(page),
        chunk: Tokens(chunk),
        tp: Ranks(tp),
        replicas: Replicas(2),
        bandwidth: Some(BytesPerSecond(1 << 30)),
    }
}

const PLAIN: Precision = Precision {
    bytes: ElementBytes(2),
    rope_bytes: ElementBytes(2),
    scale: Scale::None,
};

proptest! {
    #[test]
    fn linear_kinds_are_linear(layers in 1..200_u64, kv_heads in 1..128_u64, dim in 1..512_u64, one in 0..1_000_000_u64, other in 0..1_000_000_u64) {
        let shape = heads(layers, kv_heads, dim, Keeps::All);
        let bytes = |tokens| budget(&shape, &PLAIN, &load(tokens, 16, 256, 1)).unwrap().request_bytes.0;
        prop_assert_eq!(bytes(one) + bytes(other), bytes(one + other));
        prop_assert_eq!(bytes(1), u128::from(2 * layers * kv_heads * dim * 2));
    }

    #[test]
    fn an_even_split_sums_to_the_whole(each in 1..32_u64, tp in 1..64_u64, tokens in 0..100_000_u64) {
        let shape = heads(4, each * tp, 64, Keeps::All);
        let found = budget(&shape, &PLAIN, &load(tokens, 16, 256, tp)).unwrap();
        prop_assert_eq!(found.physical_bytes, found.request_bytes);
        prop_assert_eq!(found.rank_bytes.0 * u128::from(tp), found.request_bytes.0);
    }

    #[test]
    fn copies_of_heads_count_on_each_rank(kv_heads in 1..16_u64, copies in 1..16_u64, tokens in 0..100_000_u64) {
        let shape = heads(4, kv_heads, 64, Keeps::All);
        let found = budget(&shape, &PLAIN, &load(tokens, 16, 256, kv_heads * copies)).unwrap();
        prop_assert_eq!(found.physical_bytes.0, u128::from(copies) * found.request_bytes.0);
    }

    #[test]
    fn rounding_stays_within_a_page(tokens in 0..1_000_000_u64, page in 1..5_000_u64, window in prop::option::of(1..10_000_u64)) {
        let keeps = window.map_or(Keeps::All, |window| Keeps::Window(Tokens(window)));
        let found = budget(&heads(2, 2, 8, keeps), &PLAIN, &load(tokens, page, 256, 1)).unwrap();
        prop_assert!(found.allocated_bytes >= found.request_bytes);
        prop_assert!(found.padding_bytes.0 < u128::from(page) * found.bytes_per_token.0);
        prop_assert_eq!(found.allocated_bytes.0, found.pages.0 * u128::from(page) * found.bytes_per_token.0);
    }

    #[test]
    fn chunks_hold_every_token(tokens in 0..1_000_000_u64, chunk in 1..5_000_u64) {
        let found = budget(&heads(2, 2, 8, Keeps::All), &PLAIN, &load(tokens, 16, chunk, 1)).unwrap();
        let all = found.full_chunks.0 * found.chunk_bytes.0 + found.partial_chunk_bytes.0;
        prop_assert_eq!(all, found.request_bytes.0);
        prop_assert!(found.partial_chunk_tokens.0 < chunk);
    }

    #[test]
    fn a_window_never_keeps_more(tokens in 0..1_000_000_u64, window in 1..1_000_000_u64) {
        let all = budget(&heads(2, 2, 8, Keeps::All), &PLAIN, &load(tokens, 16, 256, 1)).unwrap();
        let some = budget(&heads(2, 2, 8, Keeps::Window(Tokens(window))), &PLAIN, &load(tokens, 16, 256, 1)).unwrap();
        prop_assert_eq!(some.request_bytes.0, all.request_bytes.0.min(u128::from(window) * all.bytes_per_token.0));
    }

    #[test]
    fn any_numbers_give_a_budget_or_an_error_that_says_why(numbers in prop::array::uniform16(any::<u64>()), mla: bool, small: u8) {
        // Some numbers small, so that not all end at the ranks.
        let at = |index: usize| if small & (1 << (index % 8)) == 0 { numbers[index] } else { numbers[index] % 9 };
        let mut shape = heads(at(0), at(1), at(2), Keeps::Window(Tokens(at(3))));
        if mla {
            shape.groups[0].cache = Cache::Latent { rank: Elements(at(1)), rope_dim: Elements(at(2)) };
        }
        shape.groups.push(Group { layers: Layers(at(4)), cache: Cache::IndexKey { bytes: at(5) }, keeps: Keeps::All });
        let precision = Precision {
            bytes: ElementBytes(at(6)),
            rope_bytes: ElementBytes(at(7)),
            scale: [Scale::None, Scale::Tensor { bytes: at(8) }, Scale::Token { bytes: at(8) }, Scale::Head { bytes: at(8) },
                Scale::Block { elements: at(8), bytes: at(9) }][usize::from(small) % 5],
        };
        let load = Load {
            tokens: Tokens(at(10)), batch: Requests(at(11)), page: Tokens(at(12)), chunk: Tokens(at(13)), tp: Ranks(at(14)),
            replicas: Replicas(at(15)), bandwidth: Some(BytesPerSecond(u128::from(at(9)))),
        };
        if let Err(error) = budget(&shape, &precision, &load) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn no_text_breaks_a_reader(text in ".{0,40}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = number("--page", &text, Limit::TOKENS);
        let _ = Scale::parse(&text);
        let _ = model(&text);
        let _ = config::read("c", &bytes, config::Beside::default());
    }
}

#[test]
fn a_number_that_does_not_fit_is_named() {
    let error = budget(
        &heads(u64::MAX, u64::MAX, u64::MAX, Keeps::All),
        &PLAIN,
        &load(1, 16, 256, 1),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("bytes_per_token_layer = keys and values 2 x kv_heads"),
        "{error}"
    );
    assert!(error.contains("does not fit in 128 bits"), "{error}");
}
