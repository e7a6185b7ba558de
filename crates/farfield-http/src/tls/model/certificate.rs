//! A certificate of a given size, which means nothing but can be read (RFC 5280 section 4.1).

/// Bytes of an empty certificate with a comment, all lengths in their longest form.
const FIXED: usize = {
    let mut probe = 0;
    probe += 4; // Certificate
    probe += 4; // TBSCertificate
    probe += VERSION_TO_KEY.len();
    probe += 4 + 4 + 4; // extensions, their list, the comment
    probe += COMMENT.len();
    probe += 4 + 4; // its value, as an octet string and as text
    probe + SIGNATURE_ALGORITHM.len() + 3 + SIGNATURE
};

/// Bytes of a signature.
const SIGNATURE: usize = 71;

/// ecdsa-with-SHA256.
const SIGNATURE_ALGORITHM: [u8; 12] = [0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];

/// Version 3, serial number 1, the algorithm, an empty issuer, the years 2020 to 2049, an empty subject, and
/// a public key of P-256.
const VERSION_TO_KEY: [u8; 147] = {
    let head = [
        0xa0, 3, 2, 1, 2, 2, 1, 1, 0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2, 0x30, 0, 0x30, 30,
        0x17, 13, b'2', b'0', b'0', b'1', b'0', b'1', b'0', b'0', b'0', b'0', b'0', b'0', b'Z', 0x17, 13,
        b'4', b'9', b'1', b'2', b'3', b'1', b'0', b'0', b'0', b'0', b'0', b'0', b'Z', 0x30, 0, 0x30, 0x59,
        0x30, 19, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, 3,
        0x42, 0, 4,
    ];
    let mut bytes = [0x11; 147];
    let mut at = 0;
    while at < head.len() {
        bytes[at] = head[at];
        at += 1;
    }
    bytes
};

/// The object identifier of a comment, 2.16.840.1.113730.1.13.
const COMMENT: [u8; 11] = [6, 9, 0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 1, 13];

/// Appends a certificate of `size` bytes, with a comment that fills it.
pub fn put(out: &mut Vec<u8>, size: usize) {
    let text = size.saturating_sub(FIXED);
    let comment = COMMENT.len() + 8 + text;
    let extensions = 4 + 4 + comment;
    let tbs = VERSION_TO_KEY.len() + 4 + extensions;
    let start = out.len();
    begin(out, 0x30, 4 + tbs + SIGNATURE_ALGORITHM.len() + 3 + SIGNATURE);
    begin(out, 0x30, tbs);
    out.extend(VERSION_TO_KEY);
    begin(out, 0xa3, extensions);
    begin(out, 0x30, extensions - 4);
    begin(out, 0x30, comment);
    out.extend(COMMENT);
    begin(out, 4, 4 + text);
    begin(out, 0x16, text);
    out.resize(out.len() + text, b'x');
    out.extend(SIGNATURE_ALGORITHM);
    out.extend([3, SIGNATURE as u8 + 1, 0]);
    out.resize(out.len() + SIGNATURE, 0x22);
    debug_assert_eq!(out.len() - start, FIXED + text);
}

/// A tag and a length of two bytes.
fn begin(out: &mut Vec<u8>, tag: u8, length: usize) {
    out.extend([tag, 0x82]);
    out.extend((length as u16).to_be_bytes());
}
