//! What flags mean that are not given, by the name that the program was called by and by where it runs.

use std::time::Duration;

use steersman_operator::config::{Place, RoleMetricsPort};

use crate::cli::program::Program;

/// Where the module `osdk_metric` sends values unless a task says otherwise.
const ROLE_METRICS_PORT: u16 = 5050;

/// What is meant where no flag says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Defaults {
    pub(super) metrics_address: &'static str,
    pub(super) health_address: &'static str,
    /// Of entries with a chart: there, a look costs nothing.
    pub(super) reconcile_period: Duration,
    /// Of entries with a role or playbook: a run takes seconds to minutes.
    pub(super) run_period: Duration,
    pub(super) proxy_port: u16,
    pub(super) role_metrics_port: RoleMetricsPort,
}

impl Defaults {
    pub(super) fn of(program: Program, place: Place) -> Self {
        // Outside of a pod other operators may run on the same machine. The kubeconfig of a run says which port it is.
        let is_alone = program == Program::AnsibleOperator || place == Place::Pod;
        let of_helm_operator = Self {
            metrics_address: ":8080",
            health_address: ":8081",
            reconcile_period: Duration::from_mins(1),
            run_period: Duration::from_hours(10),
            proxy_port: if is_alone { 8888 } else { 0 },
            role_metrics_port: if is_alone {
                RoleMetricsPort::Needed(ROLE_METRICS_PORT)
            } else {
                RoleMetricsPort::Wanted(ROLE_METRICS_PORT)
            },
        };
        match program {
            Program::Steersman | Program::HelmOperator => of_helm_operator,
            Program::AnsibleOperator => Self {
                metrics_address: ":8443",
                health_address: ":6789",
                reconcile_period: of_helm_operator.run_period,
                ..of_helm_operator
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use steersman_operator::config::{Place, RoleMetricsPort};

    use super::Defaults;
    use crate::cli::program::Program;

    #[test]
    fn each_name_has_the_addresses_and_periods_of_its_operator() {
        for (program, place, metrics, health, minutes, proxy, role_metrics) in [
            (
                Program::Steersman,
                Place::Outside,
                ":8080",
                ":8081",
                1,
                0,
                RoleMetricsPort::Wanted(5050),
            ),
            (
                Program::Steersman,
                Place::Pod,
                ":8080",
                ":8081",
                1,
                8888,
                RoleMetricsPort::Needed(5050),
            ),
            (
                Program::HelmOperator,
                Place::Pod,
                ":8080",
                ":8081",
                1,
                8888,
                RoleMetricsPort::Needed(5050),
            ),
            (
                Program::AnsibleOperator,
                Place::Pod,
                ":8443",
                ":6789",
                600,
                8888,
                RoleMetricsPort::Needed(5050),
            ),
            (
                Program::AnsibleOperator,
                Place::Outside,
                ":8443",
                ":6789",
                600,
                8888,
                RoleMetricsPort::Needed(5050),
            ),
        ] {
            let defaults = Defaults::of(program, place);
            assert_eq!(
                (defaults.metrics_address, defaults.health_address),
                (metrics, health),
                "{program:?}"
            );
            assert_eq!(defaults.reconcile_period.as_secs(), minutes * 60, "{program:?}");
            assert_eq!(defaults.run_period.as_secs(), 10 * 3600, "{program:?}");
            assert_eq!(defaults.proxy_port, proxy, "{program:?} {place:?}");
            assert_eq!(defaults.role_metrics_port, role_metrics, "{program:?} {place:?}");
        }
    }
}
