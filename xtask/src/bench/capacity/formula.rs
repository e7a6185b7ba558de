//! Capacities by formula: the highest load at which a queue keeps a limit.

/// A queue with Poisson arrivals.
#[derive(Debug, Clone, Copy)]
pub enum Law {
    /// M/M/1: this quantile of the time in the system.
    Mm1 { service_s: f64, quantile: f64 },
    /// M/D/c: this quantile of the time in the system.
    Mdc { servers: usize, service_s: f64, quantile: f64 },
    /// M/D/c: the mean of the time in the system.
    MdcMean { servers: usize, service_s: f64 },
    /// M/M/1 with so many places, that in service among them: the share of arrivals that find none.
    Mm1k { service_s: f64, places: i32 },
}

impl Law {
    /// The load at which the queue is full.
    fn most(&self) -> f64 {
        match self {
            Law::Mm1 { service_s, .. } => 1.0 / service_s,
            Law::Mdc { servers, service_s, .. } | Law::MdcMean { servers, service_s } => {
                *servers as f64 / service_s
            }
            Law::Mm1k { service_s, .. } => 2.0 / service_s,
        }
    }

    /// True if the limit is kept at a load.
    fn keeps(&self, load: f64, limit: f64) -> bool {
        match *self {
            // Times in the system are exponential with the rate μ − λ.
            Law::Mm1 { service_s, quantile } => {
                let rate = 1.0 / service_s - load;
                rate > 0.0 && -(1.0 - quantile).ln() / rate <= limit
            }
            Law::Mdc { servers, service_s, quantile } => {
                waits_at_most(servers, service_s, load, limit - service_s) >= quantile
            }
            Law::MdcMean { servers, service_s } => service_s + mean_wait(servers, service_s, load) <= limit,
            Law::Mm1k { service_s, places } => {
                let utilisation = load * service_s;
                let states: f64 = (0..=places).map(|count| utilisation.powi(count)).sum();
                utilisation.powi(places) / states <= limit
            }
        }
    }
}

/// The highest load that keeps the limit, by halving.
pub fn highest(law: &Law, limit: f64) -> f64 {
    let (mut low, mut high) = (0.0, law.most());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if law.keeps(middle, limit) { low = middle } else { high = middle }
    }
    low
}

/// The probability that a customer of M/D/c waits at most `wait_s` (Franx 2001, "A simple solution for the
/// M/D/c waiting time distribution", Operations Research Letters 29), by the distribution of the number in
/// the system, which repeats itself from one service time to the next (Crommelin 1932).
fn waits_at_most(servers: usize, service_s: f64, load: f64, wait_s: f64) -> f64 {
    if wait_s < 0.0 || load * service_s >= servers as f64 {
        return 0.0;
    }
    let numbers = in_system(servers, load * service_s);
    // At most so many in the system, but for those in service: Q_m, the queue is m or shorter.
    let queue_at_most = |longest: usize| -> f64 { numbers.iter().take(servers + longest + 1).sum() };
    let periods = (wait_s / service_s).floor() as usize + 1;
    let rest = load * (periods as f64 * service_s - wait_s);
    let mut weight = (-rest).exp();
    let mut sum = 0.0;
    for arrivals in 0..periods * servers {
        sum += queue_at_most(periods * servers - arrivals - 1) * weight;
        weight *= rest / (arrivals + 1) as f64;
    }
    sum
}

/// The mean time that a customer of M/D/c waits: by Little's law that of the queue over the load.
fn mean_wait(servers: usize, service_s: f64, load: f64) -> f64 {
    // Nearer to its end the queue is longer than there are states.
    if load * service_s > 0.99 * servers as f64 {
        return f64::INFINITY;
    }
    let numbers = in_system(servers, load * service_s);
    let waiting = |(count, share): (usize, &f64)| count.saturating_sub(servers) as f64 * share;
    numbers.iter().enumerate().map(waiting).sum::<f64>() / load
}

/// The distribution of the number of customers in an M/D/c queue to which `offered` come in a service time.
fn in_system(servers: usize, offered: f64) -> Vec<f64> {
    const STATES: usize = 600;
    let mut arrivals = vec![(-offered).exp()];
    while arrivals.len() < STATES {
        let count = arrivals.len();
        arrivals.push(arrivals[count - 1] * offered / count as f64);
    }
    let mut numbers = vec![0.0; STATES];
    numbers[0] = 1.0;
    loop {
        // Those in service have left after a service time, and the others and whoever came are there.
        let mut next = vec![0.0; STATES];
        for (count, share) in numbers.iter().enumerate().filter(|(_, share)| **share > 1e-18) {
            let stay = count.saturating_sub(servers);
            for (more, probability) in arrivals.iter().take(STATES - stay).enumerate() {
                if *probability < 1e-18 && more > servers * 2 {
                    break;
                }
                next[stay + more] += share * probability;
            }
        }
        let change: f64 = next.iter().zip(&numbers).map(|(a, b)| (a - b).abs()).sum();
        numbers = next;
        if change < 1e-12 {
            return numbers;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/D/1 as Erlang has it: a customer waits less than a service time with probability (1 − ρ) e^(λt).
    #[test]
    fn waits_are_those_of_erlang() {
        for (load, wait_s) in [(0.5_f64, 0.0_f64), (0.5, 0.9), (0.8, 0.3)] {
            let expected = (1.0 - load) * (load * wait_s).exp();
            let found = waits_at_most(1, 1.0, load, wait_s);
            assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        }
    }

    /// Pollaczek and Khinchine's mean of M/D/1, ρs / 2(1 − ρ).
    #[test]
    fn mean_waits_are_those_of_pollaczek_and_khinchine() {
        for load in [0.3, 0.8, 0.9] {
            let (found, expected) = (mean_wait(1, 1.0, load), load / 2.0 / (1.0 - load));
            assert!((found / expected - 1.0).abs() < 1e-4, "{found} is not {expected}");
        }
    }

    /// Of M/M/1 the formula itself; of many servers nobody waits at a low load.
    #[test]
    fn capacities_are_known() {
        let law = Law::Mm1 { service_s: 0.001, quantile: 0.99 };
        assert!((highest(&law, 0.05) - (1_000.0 - 100_f64.ln() / 0.05)).abs() < 1e-6);
        assert!(waits_at_most(8, 1.0, 1.0, 0.0) > 0.9999);
        // One place: a loss system, of which ρ / (1 + ρ) is lost.
        let law = Law::Mm1k { service_s: 1.0, places: 1 };
        assert!((highest(&law, 0.2) - 0.25).abs() < 1e-9);
    }
}
