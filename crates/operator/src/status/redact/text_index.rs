//! Where secrets are in a text.

use std::cmp::Reverse;

/// How many bits say which four bytes are in a text.
const BITS: usize = 1 << 16;
/// How many of its bytes the first order of the places goes by.
const FIRST: usize = 7;

/// A text in which many others are looked for: its places, in the order of what follows them (a suffix array).
///
/// What is looked for is forgotten at once. So an index takes 16 bytes for each of the text's, however many secrets there are
/// and however they repeat themselves, and its time does not depend on how often one is found.
pub(super) struct TextIndex<'a> {
    text: &'a [u8],
    /// No text that is looked for is longer.
    depth: usize,
    /// Empty until a text is looked for that may be there: in most lines of a log none is.
    order: Vec<u32>,
    /// Which four bytes follow a place, by their hash.
    starts: Vec<u64>,
    found: Vec<Found>,
}

/// A text of this length follows the places from `first` up to `end` in the order.
struct Found {
    first: u32,
    end: u32,
    length: u32,
}

impl<'a> TextIndex<'a> {
    /// An index of a text that has fewer than 2³² bytes, for others that are no longer than `longest`.
    pub(super) fn new(text: &'a [u8], longest: usize) -> Self {
        let mut starts = vec![0; BITS / 64];
        for four in text.windows(4) {
            let bit = bit_of(four);
            starts[bit / 64] |= 1 << (bit % 64);
        }
        Self {
            text,
            depth: longest,
            order: Vec::new(),
            starts,
            found: Vec::new(),
        }
    }

    /// Finds another text wherever it is.
    pub(super) fn find(&mut self, other: &[u8]) {
        if let Some(four) = other.first_chunk::<4>() {
            let bit = bit_of(four);
            if self.starts[bit / 64] & (1 << (bit % 64)) == 0 {
                return;
            }
        }
        if self.order.is_empty() {
            self.order = order(self.text, self.depth);
        }
        let order = self.order.as_slice();
        let first = order.partition_point(|&at| self.at(at, other.len()) < other);
        let followed = order.get(first..).unwrap_or_default();
        let places = followed.partition_point(|&at| self.at(at, other.len()) == other);
        if places > 0 {
            self.found.push(Found {
                first: first as u32,
                end: (first + places) as u32,
                length: other.len() as u32,
            });
        }
    }

    /// For each place of the text the length of the longest text that was found there; zero where none was.
    pub(super) fn longest(mut self) -> Vec<u32> {
        // What begins with a text that was found lies within its part of the order.
        self.found
            .sort_unstable_by_key(|found| (found.first, Reverse(found.end), found.length));
        let mut longest = vec![0; self.text.len()];
        let mut open: Vec<Found> = Vec::new();
        let mut found = self.found.into_iter().peekable();
        for (rank, &at) in self.order.iter().enumerate() {
            while open.pop_if(|found| found.end as usize <= rank).is_some() {}
            while let Some(next) = found.next_if(|found| found.first as usize <= rank) {
                open.push(next);
            }
            if let Some(innermost) = open.last() {
                longest[at as usize] = innermost.length;
            }
        }
        longest
    }

    /// What follows a place, as far as `length` bytes.
    fn at(&self, at: u32, length: usize) -> &[u8] {
        let rest = self.text.get(at as usize..).unwrap_or_default();
        rest.get(..length).unwrap_or(rest)
    }
}

fn bit_of(four: &[u8]) -> usize {
    let number = four
        .iter()
        .fold(0_u32, |number, &byte| number << 8 | u32::from(byte));
    (number.wrapping_mul(0x9e37_79b1) >> 16) as usize % BITS
}

/// The places of a text, ordered by at least `depth` bytes that follow each.
///
/// Places whose first bytes are the same form a group, and have the place of the group's first in the order as rank. What
/// follows twice as many bytes of each is known from the ranks of the places behind these (Manber and Myers; groups of one are
/// left alone, as Larsson and Sadakane do).
fn order(text: &[u8], depth: usize) -> Vec<u32> {
    let length = text.len();
    let mut order: Vec<u32> = (0..length as u32).collect();
    order.sort_unstable_by_key(|&at| first_bytes(text, at));
    let mut rank = vec![0_u32; length];
    let mut same = false;
    let mut before = None;
    let mut start = 0;
    for (place, &at) in order.iter().enumerate() {
        let key = first_bytes(text, at);
        if before == Some(key) {
            same = true;
        } else {
            start = place as u32;
        }
        before = Some(key);
        rank[at as usize] = start;
    }
    let mut known = FIRST;
    while same && known < depth {
        same = refine(&mut order, &mut rank, known);
        known = known.saturating_mul(2);
    }
    order
}

/// Orders what is ordered by `known` bytes by twice as many. Gives whether places are left that are the same.
fn refine(order: &mut [u32], rank: &mut [u32], known: usize) -> bool {
    let mut same = false;
    let mut keyed: Vec<(u32, u32)> = Vec::new();
    let mut start = 0;
    while let Some(&first) = order.get(start) {
        let group = rank[first as usize];
        let members = order[start..]
            .iter()
            .take_while(|&&at| rank[at as usize] == group);
        let end = start + members.count();
        if end - start > 1 {
            keyed.clear();
            // The end of the text comes before everything.
            let behind = |at: u32| rank.get(at as usize + known).map_or(0, |rank| rank + 1);
            keyed.extend(order[start..end].iter().map(|&at| (behind(at), at)));
            keyed.sort_unstable();
            let mut before = None;
            let mut new = start;
            for (place, &(key, at)) in (start..end).zip(&keyed) {
                if before == Some(key) {
                    same = true;
                } else {
                    new = place;
                }
                before = Some(key);
                order[place] = at;
                rank[at as usize] = new as u32;
            }
        }
        start = end;
    }
    same
}

/// The first bytes behind a place as a number, in which the end of the text comes before everything.
fn first_bytes(text: &[u8], at: u32) -> u64 {
    let rest = text.get(at as usize..).unwrap_or_default();
    (0..FIRST).fold(0, |number, at| {
        number << 9 | rest.get(at).map_or(0, |&byte| u64::from(byte) + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the index has to find, by trying.
    fn tried(text: &[u8], others: &[&[u8]]) -> Vec<u32> {
        let longest = |at: usize| {
            let found = others.iter().filter(|other| text[at..].starts_with(other));
            found.map(|other| other.len() as u32).max().unwrap_or_default()
        };
        (0..text.len()).map(longest).collect()
    }

    #[test]
    fn everything_is_found_wherever_it_is() {
        let texts: [&[u8]; 6] = [
            b"",
            b"a",
            b"abcabcabcabcabcabcabcabcabcabcab",
            &[b'x'; 100],
            b"mississippi \0\0\0 missing\0\0\0\0\0\0\0\0\0\0",
            "grün und grüner, mit ümlauten: grün".as_bytes(),
        ];
        for text in texts {
            for longest in [8, 40] {
                let mut others: Vec<&[u8]> = Vec::new();
                for length in [1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 30, 40] {
                    others.extend(text.windows(length).step_by(3).filter(|_| length <= longest));
                }
                others.extend([&b"abd"[..], b"\0", b"ssis", b"zzzz"]);
                let mut index = TextIndex::new(text, longest);
                for other in &others {
                    index.find(other);
                }
                assert_eq!(index.longest(), tried(text, &others), "{text:?}");
            }
        }
    }
}
