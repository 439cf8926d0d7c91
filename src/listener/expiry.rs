//! Until when a certificate is valid, read from its DER: RFC 5280, section 4.1.

use chrono::NaiveDate;

use crate::plan::UnixTime;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The `notAfter` of a certificate; nothing where the bytes do not lead to one.
pub(super) fn not_after(certificate: &[u8]) -> Option<UnixTime> {
    let (certificate, _) = inside(certificate, SEQUENCE)?;
    let (mut rest, _) = inside(certificate, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = value(rest)?.2;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        rest = value(rest)?.2;
    }
    let (validity, _) = inside(rest, SEQUENCE)?;
    let (_, _, after_begin) = value(validity)?;
    let (tag, text, _) = value(after_begin)?;
    instant(tag, std::str::from_utf8(text).ok()?)
}

fn inside(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = value(bytes)?;
    (found == tag).then_some((content, rest))
}

/// Tag, content, and what follows.
fn value(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short @ ..0x80 => (usize::from(short), rest),
        long => {
            let count = usize::from(long & 0x7f);
            let digits = rest.get(..count).filter(|digits| digits.len() <= 4)?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest.get(count..)?)
        }
    };
    Some((tag, rest.get(..length)?, rest.get(length..)?))
}

/// `YYMMDDhhmmssZ`, of which years below 50 are of this century, or `YYYYMMDDhhmmssZ`.
fn instant(tag: u8, text: &str) -> Option<UnixTime> {
    let text = text.strip_suffix('Z').filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let year: i32 = text.get(..2)?.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, text.get(2..)?)
        }
        GENERALIZED_TIME => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    let two = |at: usize| rest.get(at..at + 2)?.parse::<u32>().ok();
    let day = NaiveDate::from_ymd_opt(year, two(0)?, two(2)?)?;
    Some(UnixTime::from_millis(day.and_hms_opt(two(4)?, two(6)?, two(8)?)?.and_utc().timestamp_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_time_are_read_and_no_other() {
        let seconds = |tag, text| instant(tag, text).map(UnixTime::seconds);
        assert_eq!(seconds(UTC_TIME, "260102030405Z"), Some(1_767_323_045.0));
        assert_eq!(seconds(UTC_TIME, "700101000000Z"), Some(0.0));
        assert_eq!(seconds(GENERALIZED_TIME, "20500101000000Z"), Some(2_524_608_000.0));
        for wrong in ["", "Z", "260102030405", "26010203040", "261302030405Z", "2601020304é5Z"] {
            assert_eq!(instant(UTC_TIME, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_lead_nowhere_and_panic_nowhere() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..random.usize(0..64)).map(|_| random.u8(..)).collect();
            for at in [0, 2, 4] {
                if random.bool() && bytes.len() > at {
                    bytes[at] = SEQUENCE;
                }
            }
            not_after(&bytes);
        }
        assert_eq!(not_after(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
