//! Ids of blocks and the fingerprint of what is left out: SHA-256 (FIPS 180-4), written out because the barest build has
//! no hash crate.

const ROUND: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The SHA-256 of the bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let (blocks, rest) = bytes.as_chunks::<64>();
    let mut state = blocks.iter().fold(START, compress);
    let mut last = [0u8; 128];
    let length = (bytes.len() as u64).wrapping_mul(8).to_be_bytes();
    let end = if rest.len() < 56 { 64 } else { 128 };
    let written = rest.iter().chain(&[0x80]);
    for (place, byte) in last.iter_mut().zip(written) {
        *place = *byte;
    }
    for (place, byte) in last.iter_mut().take(end).rev().zip(length.iter().rev()) {
        *place = *byte;
    }
    let (blocks, _) = last.as_chunks::<64>();
    state = blocks.iter().take(end / 64).fold(state, compress);
    let digit = |number: u8| char::from(if number < 10 { b'0' + number } else { b'a' + number - 10 });
    let mut digits = String::with_capacity(64);
    for byte in state.map(u32::to_be_bytes).as_flattened() {
        digits.push(digit(byte >> 4));
        digits.push(digit(byte & 15));
    }
    digits
}

/// `tb_` and 32 digits from trace, span, role and ordinal: the same block has the same id in every export.
#[must_use]
pub fn block_id(trace: &str, span: &str, role: &str, ordinal: u32) -> String {
    let mut id = sha256(format!("{trace}\n{span}\n{role}\n{ordinal}").as_bytes());
    id.truncate(32);
    format!("tb_{id}")
}

#[expect(clippy::indexing_slicing, reason = "the places are those of the array")]
fn compress(state: [u32; 8], block: &[u8; 64]) -> [u32; 8] {
    let mut words = [0u32; 64];
    let (bytes, _) = block.as_chunks::<4>();
    for (word, bytes) in words.iter_mut().zip(bytes) {
        *word = u32::from_be_bytes(*bytes);
    }
    for next in 16..64 {
        let (x, y) = (words[next - 15], words[next - 2]);
        words[next] = words[next - 16]
            .wrapping_add(x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3))
            .wrapping_add(words[next - 7])
            .wrapping_add(y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    for (constant, word) in ROUND.into_iter().zip(words) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let t1 = h
            .wrapping_add(s1)
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(constant)
            .wrapping_add(word);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    let mut out = state;
    for (word, add) in out.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            sha256(&[b'a'; 1_000_000]),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        );
    }

    #[test]
    fn ids_differ_by_each_part() {
        let ids = [
            block_id("t", "s", "user", 0),
            block_id("t", "s", "user", 1),
            block_id("t", "s", "system", 0),
            block_id("t", "r", "user", 0),
        ];
        assert!(ids.iter().all(|id| id.len() == 35 && id.starts_with("tb_")));
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
}
