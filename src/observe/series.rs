//! How a series comes to be: named, explained, registered, and at 0 or absent.

use std::cell::RefCell;
use std::collections::HashMap;

use prometheus::core::Collector;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, Opts, Registry, Result,
};

/// From 0.5 ms to 2 s: a batch aims at 10 ms, `busy_timeout` is 2 s by default.
const BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0];

/// Makes the series of one place: every one of them carries the place's labels.
///
/// The place is in constant labels, never in a vector's: a vector of `prometheus` knows a child by
/// its label values run together, so that database `a` with table `bc` would count into the series
/// of database `ab` with table `c`.
pub(super) struct Maker<'a> {
    registry: &'a Registry,
    labels: HashMap<String, String>,
    made: RefCell<Vec<Box<dyn Collector>>>,
}

/// The series of one place in the registry; to drop this takes them out.
pub(super) struct Series {
    registry: Registry,
    collectors: Vec<Box<dyn Collector>>,
}

impl Drop for Series {
    fn drop(&mut self) {
        for collector in self.collectors.drain(..) {
            // An error says that it is out already.
            drop(self.registry.unregister(collector));
        }
    }
}

impl<'a> Maker<'a> {
    pub(super) fn new(registry: &'a Registry, labels: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { registry, labels: labels.iter().map(own).collect(), made: RefCell::default() }
    }

    /// Everything that was made.
    pub(super) fn made(self) -> Series {
        Series { registry: self.registry.clone(), collectors: self.made.into_inner() }
    }

    /// A counter, at 0.
    pub(super) fn counter(&self, name: &str, help: &str) -> Result<IntCounter> {
        self.registered(IntCounter::with_opts(self.opts(name, help))?)
    }

    /// A counter for each of the values that one label can have, at 0.
    pub(super) fn counters(
        &self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = &'static str>,
    ) -> Result<Counters> {
        let counters = self.registered(IntCounterVec::new(self.opts(name, help), &[label])?)?;
        for value in values {
            counters.get_metric_with_label_values(&[value])?;
        }
        Ok(Counters(counters))
    }

    /// A gauge that is known from the start.
    pub(super) fn gauge(&self, name: &str, help: &str, value: f64) -> Result<Gauge> {
        let gauge = self.registered(Gauge::with_opts(self.opts(name, help))?)?;
        gauge.set(value);
        Ok(gauge)
    }

    /// A gauge that is absent until it is measured.
    pub(super) fn measured(&self, name: &str, help: &str) -> Result<Measured> {
        let gauge = self.registered(GaugeVec::new(self.opts(name, help), &[])?)?;
        Ok(Measured(gauge))
    }

    /// Such a gauge for each value of one label.
    pub(super) fn measured_by(&self, name: &str, help: &str, label: &str) -> Result<MeasuredBy> {
        let gauges = self.registered(GaugeVec::new(self.opts(name, help), &[label])?)?;
        Ok(MeasuredBy(gauges))
    }

    /// A histogram of seconds.
    pub(super) fn seconds(&self, name: &str, help: &str) -> Result<Histogram> {
        let opts = HistogramOpts { common_opts: self.opts(name, help), buckets: BUCKETS.to_vec() };
        self.registered(Histogram::with_opts(opts)?)
    }

    fn opts(&self, name: &str, help: &str) -> Opts {
        Opts::new(name, help).namespace("keysweep").const_labels(self.labels.clone())
    }

    fn registered<C: Collector + Clone + 'static>(&self, series: C) -> Result<C> {
        self.registry.register(Box::new(series.clone()))?;
        self.made.borrow_mut().push(Box::new(series.clone()));
        Ok(series)
    }
}

/// Counters that one label tells apart.
pub(super) struct Counters(IntCounterVec);

impl Counters {
    pub(super) fn add(&self, value: &str, by: u64) {
        // The only error is a wrong number of labels, and the maker gave it one.
        if let Ok(counter) = self.0.get_metric_with_label_values(&[value]) {
            counter.inc_by(by);
        }
    }
}

/// A gauge that is there only while it is known.
pub(super) struct Measured(GaugeVec);

impl Measured {
    pub(super) fn set(&self, value: Option<f64>) {
        set(&self.0, &[], value);
    }
}

/// Gauges that one label tells apart, each there only while it is known.
pub(super) struct MeasuredBy(GaugeVec);

impl MeasuredBy {
    pub(super) fn set(&self, label: &str, value: Option<f64>) {
        set(&self.0, &[label], value);
    }
}

fn set(gauges: &GaugeVec, labels: &[&str], value: Option<f64>) {
    match value {
        Some(value) => {
            if let Ok(gauge) = gauges.get_metric_with_label_values(labels) {
                gauge.set(value);
            }
        }
        // An error here says that it was absent already.
        None => drop(gauges.remove_label_values(labels)),
    }
}
