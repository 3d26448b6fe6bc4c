//! Random texts and numbers, all drawn from the rendering's world.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use steersman_gotemplate::{Failure, Runtime, Value, World};

use crate::Outcome;
use crate::arguments::{integer, text};

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

pub(crate) fn rand_alpha_num(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    characters(runtime, arguments, &format!("{LETTERS}{DIGITS}"))
}

pub(crate) fn rand_alpha(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    characters(runtime, arguments, LETTERS)
}

pub(crate) fn rand_numeric(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    characters(runtime, arguments, DIGITS)
}

pub(crate) fn rand_ascii(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let printable: String = (' '..='~').collect();
    characters(runtime, arguments, &printable)
}

/// As many characters of `alphabet` as the first argument says, each as likely as the others.
fn characters(runtime: &mut dyn Runtime, arguments: &[Value], alphabet: &str) -> Outcome {
    let count = usize::try_from(integer(arguments, 0)).unwrap_or(0);
    runtime.reserve(count)?;
    runtime.spend(count as u64 / 16)?;
    let alphabet = alphabet.as_bytes();
    // Bytes from here on would make the first characters likelier than the last ones.
    let fair = 256 - 256 % alphabet.len().max(1);
    let mut result = String::with_capacity(count);
    let mut drawn = [0; 64];
    while result.len() < count {
        let wanted = (count - result.len()).next_multiple_of(8).min(drawn.len());
        let drawn = drawn.get_mut(..wanted).unwrap_or_default();
        runtime.world().fill_random(drawn);
        let chosen = drawn
            .iter()
            .map(|byte| usize::from(*byte))
            .filter(|byte| *byte < fair)
            .filter_map(|byte| alphabet.get(byte % alphabet.len()))
            .take(count - result.len());
        result.extend(chosen.copied().map(char::from));
    }
    Ok(result.into())
}

pub(crate) fn rand_bytes(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let Ok(count) = usize::try_from(integer(arguments, 0)) else {
        return Err(Failure::new("runtime error: makeslice: len out of range"));
    };
    runtime.reserve(count.saturating_mul(3))?;
    let mut bytes = vec![0; count];
    runtime.world().fill_random(&mut bytes);
    Ok(STANDARD.encode(bytes).into())
}

pub(crate) fn rand_int(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let (least, limit) = (integer(arguments, 0), integer(arguments, 1));
    let range = limit.wrapping_sub(least);
    match u64::try_from(range) {
        Ok(range) if range > 0 => {
            let drawn = below(runtime.world(), range);
            Ok(Value::Int(least.wrapping_add(drawn as i64)))
        }
        _ => Err(Failure::new("invalid argument to Intn")),
    }
}

pub(crate) fn shuffle(runtime: &mut dyn Runtime, arguments: &[Value]) -> Outcome {
    let mut characters: Vec<char> = text(arguments, 0).chars().collect();
    runtime.spend(characters.len() as u64)?;
    for last in (1..characters.len()).rev() {
        let other = below(runtime.world(), last as u64 + 1) as usize;
        characters.swap(last, other);
    }
    Ok(characters.into_iter().collect::<String>().into())
}

/// A number below `limit`, each as likely as the others.
fn below(world: &dyn World, limit: u64) -> u64 {
    let fair = u64::MAX - u64::MAX % limit.max(1);
    loop {
        let mut drawn = [0; 8];
        world.fill_random(&mut drawn);
        let drawn = u64::from_le_bytes(drawn);
        if drawn < fair {
            return drawn % limit;
        }
    }
}

pub(crate) fn uuid(runtime: &mut dyn Runtime, _: &[Value]) -> Outcome {
    let mut bytes = [0; 16];
    runtime.world().fill_random(&mut bytes);
    // The version, 4, and the variant of RFC 9562.
    let number = u128::from_be_bytes(bytes) & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    Ok(
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)]
            .join("-")
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use crate::test_runtime::{call, check, int};

    #[test]
    fn texts_have_the_length_and_the_characters_asked_for() {
        for (name, allowed) in [
            ("randAlphaNum", char::is_ascii_alphanumeric as fn(&char) -> bool),
            ("randAlpha", char::is_ascii_alphabetic),
            ("randNumeric", char::is_ascii_digit),
        ] {
            let text = call(name, &[int(100)]).unwrap();
            let steersman_gotemplate::Value::Str(text) = text else {
                panic!("{name} gives no text")
            };
            assert_eq!(text.len(), 100);
            assert!(text.text().chars().all(|character| allowed(&character)), "{name}");
        }
        check("randAlpha", &[int(-1)], "");
    }

    #[test]
    fn a_uuid_says_its_version_and_variant() {
        let uuid = steersman_gotemplate::format::print_value(&call("uuidv4", &[]).unwrap()).to_string();
        assert_eq!(uuid.len(), 36);
        assert_eq!(uuid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uuid.as_bytes()[19]));
    }

    #[test]
    fn an_empty_range_is_refused() {
        check("randInt", &[int(5), int(5)], "error: invalid argument to Intn");
        check("randInt", &[int(5), int(6)], "5");
    }

    #[test]
    fn sizes_are_announced_before_they_are_made() {
        check("randAlphaNum", &[int(i64::MAX)], "error: out of memory budget");
        check("randBytes", &[int(i64::MAX)], "error: out of memory budget");
    }
}
