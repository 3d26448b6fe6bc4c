//! The few forms of DER that keys need.

/// The encoding of a value with this tag.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut encoded = vec![tag];
    let length = content.len();
    if length < 0x80 {
        encoded.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let significant = bytes.iter().skip_while(|byte| **byte == 0);
        encoded.push(0x80 | significant.clone().count() as u8);
        encoded.extend(significant);
    }
    encoded.extend_from_slice(content);
    encoded
}

/// A sequence of integers, given as big-endian bytes of numbers that are not negative.
pub(super) fn integers(numbers: &[Vec<u8>]) -> Vec<u8> {
    let content: Vec<u8> = numbers
        .iter()
        .flat_map(|number| {
            let significant = number.iter().skip_while(|byte| **byte == 0);
            let mut content: Vec<u8> = significant.copied().collect();
            if content.first().is_none_or(|first| *first >= 0x80) {
                content.insert(0, 0);
            }
            tagged(2, &content)
        })
        .collect();
    tagged(0x30, &content)
}

/// The content of the value at the start that has this tag, and what comes after it.
fn split(encoded: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = encoded.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if bytes.len() > 4 {
            return None;
        }
        let length = bytes
            .iter()
            .fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
        (length, rest)
    };
    let value = rest.split_at_checked(length)?;
    (*found == tag).then_some(value)
}

/// The key inside of PKCS #8: for RSA, its PKCS #1 form.
pub(super) fn private_key_of_pkcs8(encoded: &[u8]) -> Option<&[u8]> {
    let (info, _) = split(encoded, 0x30)?;
    let (_version, rest) = split(info, 2)?;
    let (_algorithm, rest) = split(rest, 0x30)?;
    Some(split(rest, 4)?.0)
}

/// Whether this is a sequence of exactly so many integers.
pub(super) fn is_integers(encoded: &[u8], count: usize) -> bool {
    let Some((mut rest, _)) = split(encoded, 0x30) else {
        return false;
    };
    for _ in 0..count {
        match split(rest, 2) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_and_found() {
        let encoded = integers(&[vec![0], vec![0x80], vec![1; 300]]);
        assert_eq!(&encoded[..9], &[0x30, 0x82, 0x01, 0x37, 2, 1, 0, 2, 2]);
        assert!(is_integers(&encoded, 3));
        assert!(!is_integers(&encoded, 2));
        assert!(!is_integers(&encoded[..50], 3));
    }
}
