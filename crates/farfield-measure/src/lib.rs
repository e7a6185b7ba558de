//! Samples into histograms, series and verdicts.
