//! The one script of a page is the one that its policy lets run.

use sha2::{Digest, Sha256};

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[usize::try_from(bits >> (18 - 6 * place) & 63).unwrap()];
            out.push(if place <= chunk.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    out
}

#[test]
fn the_policy_names_the_hash_of_the_script() {
    let page = moonquake_report::html::page("x", &maud::html! {});
    let script = page
        .split("<script>")
        .nth(1)
        .unwrap()
        .split("</script>")
        .next()
        .unwrap();
    let hash = base64(&Sha256::digest(script.as_bytes()));
    assert!(
        page.contains(&format!("script-src &#39;sha256-{hash}&#39;"))
            || page.contains(&format!("script-src 'sha256-{hash}'")),
        "put sha256-{hash} into html/shell.rs"
    );
    assert_eq!(page.matches("<script").count(), 1);
}
