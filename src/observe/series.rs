//! The values of series: plain numbers that are told and read without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in the words of the label `le`. From 0.5 ms to 2 s: a batch aims at 10 ms,
/// `busy_timeout` is 2 s by default.
pub(super) const BUCKETS: [(&str, Duration); 12] = [
    ("0.0005", Duration::from_micros(500)),
    ("0.001", Duration::from_millis(1)),
    ("0.0025", Duration::from_micros(2_500)),
    ("0.005", Duration::from_millis(5)),
    ("0.01", Duration::from_millis(10)),
    ("0.025", Duration::from_millis(25)),
    ("0.05", Duration::from_millis(50)),
    ("0.1", Duration::from_millis(100)),
    ("0.25", Duration::from_millis(250)),
    ("0.5", Duration::from_millis(500)),
    ("1", Duration::from_secs(1)),
    ("2", Duration::from_secs(2)),
];

/// A number that only grows, from 0.
#[derive(Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, by: u64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that is there only while it is known.
pub(super) struct Measured(AtomicU64);

/// What no measurement gives stands for none.
const UNKNOWN: f64 = f64::NAN;

impl Default for Measured {
    fn default() -> Self {
        Self(AtomicU64::new(UNKNOWN.to_bits()))
    }
}

impl Measured {
    pub(super) fn set(&self, value: Option<f64>) {
        self.0.store(value.unwrap_or(UNKNOWN).to_bits(), Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> Option<f64> {
        let value = f64::from_bits(self.0.load(Ordering::Relaxed));
        (!value.is_nan()).then_some(value)
    }
}

/// A number that is always known, from 0.
#[derive(Default)]
pub(super) struct Gauge(AtomicU64);

impl Gauge {
    pub(super) fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

/// How often something took how long.
#[derive(Default)]
pub(super) struct Histogram {
    /// Up to the bound of the same place in [`BUCKETS`], and above the one before.
    within: [Counter; BUCKETS.len()],
    longer: Counter,
    nanoseconds: Counter,
}

impl Histogram {
    pub(super) fn observe(&self, took: Duration) {
        let bucket = BUCKETS.iter().zip(&self.within).find(|((_, bound), _)| took <= *bound);
        bucket.map_or(&self.longer, |(_, bucket)| bucket).add(1);
        self.nanoseconds.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Each bound with how often it took up to so long.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let mut up_to = 0;
        BUCKETS.iter().zip(&self.within).map(move |((bound, _), bucket)| {
            up_to += bucket.value();
            (*bound, up_to)
        })
    }

    /// How often it took longer than the last bound.
    pub(super) fn longer(&self) -> u64 {
        self.longer.value()
    }

    /// All of it together, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.nanoseconds.value() as f64 / 1e9
    }
}

/// Of values that stand in the order of their words, the one of this word.
pub(super) fn of<'a, W: PartialEq, V>(words: &[W], values: &'a [V], word: &W) -> Option<&'a V> {
    words.iter().zip(values).find(|(known, _)| *known == word).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_bound_say_its_seconds() {
        for (word, bound) in BUCKETS {
            assert_eq!(word, bound.as_secs_f64().to_string());
        }
    }

    #[test]
    fn a_bound_belongs_to_its_bucket_and_each_bucket_counts_the_shorter_ones_too() {
        let histogram = Histogram::default();
        for micros in [0, 500, 501, 10_000, 2_000_000, 2_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counts: Vec<_> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(counts, [2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5]);
        assert_eq!((histogram.longer(), histogram.seconds()), (1, 4.011002));
    }

    #[test]
    fn what_is_no_number_was_not_measured() {
        let measured = Measured::default();
        assert_eq!(measured.value(), None);
        measured.set(Some(0.0));
        assert_eq!(measured.value(), Some(0.0));
        measured.set(None);
        assert_eq!(measured.value(), None);
    }
}
