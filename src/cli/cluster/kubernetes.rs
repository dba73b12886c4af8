//! Addresses of the pods of a StatefulSet behind a headless Service.

use super::{ClusterError, Hosts, number, variable};

/// The processes, by what Kubernetes and the manifest say.
pub(super) fn hosts(environment: &impl Fn(&str) -> Option<String>, port: u16) -> Result<Hosts, ClusterError> {
    let pod = variable(environment, "HOSTNAME")?;
    let service = variable(environment, "ISVD_SERVICE")?;
    let processes = number(environment, "ISVD_PROCESSES")?;
    let expected = "the name of a pod of a StatefulSet, such as isvd-0, with a number below ISVD_PROCESSES";
    let ordinal = pod.rsplit_once('-').and_then(|(set, ordinal)| Some((set, ordinal.parse::<usize>().ok()?)));
    let (set, process) = ordinal.filter(|&(_, process)| process < processes).ok_or(ClusterError::BadVariable {
        name: "HOSTNAME",
        value: pod.clone(),
        expected,
    })?;
    let addresses = (0..processes).map(|process| format!("{set}-{process}.{service}:{port}")).collect();
    Ok(Hosts { addresses, process })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts_of(pod: &str) -> Result<Hosts, ClusterError> {
        let environment = |name: &str| {
            let value = match name {
                "HOSTNAME" => pod,
                "ISVD_SERVICE" => "mesh.lab",
                _ => "2",
            };
            Some(value.to_owned())
        };
        hosts(&environment, 7)
    }

    #[test]
    fn a_pod_is_known_by_its_ordinal() {
        let addresses = vec!["isvd-big-0.mesh.lab:7".to_owned(), "isvd-big-1.mesh.lab:7".to_owned()];
        assert_eq!(hosts_of("isvd-big-1").unwrap(), Hosts { addresses, process: 1 });
    }

    #[test]
    fn what_is_no_pod_of_the_set_is_refused() {
        for pod in ["isvd", "isvd-2", "isvd-x", ""] {
            assert!(hosts_of(pod).is_err(), "{pod}");
        }
    }
}
