//! Addresses of the tasks of a Slurm job.

use super::{ClusterError, Hosts, number, variable};

const NODES: &str = "SLURM_JOB_NODELIST";
const TASKS: &str = "SLURM_TASKS_PER_NODE";
/// More nodes than this is a slip in a list.
const MOST_NODES: usize = 1 << 16;

/// The processes, by what `srun` says. Tasks must fill one node after the other, as
/// `--distribution=block` does; those of one node have one port each.
pub(super) fn hosts(environment: &impl Fn(&str) -> Option<String>, port: u16) -> Result<Hosts, ClusterError> {
    let (process, processes) = (number(environment, "SLURM_PROCID")?, number(environment, "SLURM_NTASKS")?);
    let (list, tasks) = (variable(environment, NODES)?, variable(environment, TASKS)?);
    let bad = |name, value: &str, expected| ClusterError::BadVariable { name, value: value.to_owned(), expected };
    let nodes = expand(&list).ok_or_else(|| bad(NODES, &list, "a list of nodes such as n[01-03,7],login"))?;
    let tasks_of =
        counts(&tasks).ok_or_else(|| bad(TASKS, &tasks, "the tasks of each node of the list, such as 2(x3),1"))?;
    let mut addresses = Vec::new();
    for (node, count) in nodes.iter().zip(tasks_of) {
        for local in 0..count {
            let port = u16::try_from(local).ok().and_then(|local| port.checked_add(local));
            let port = port.ok_or_else(|| bad(TASKS, &tasks, "so few tasks a node that each can have a port"))?;
            addresses.push(format!("{node}:{port}"));
        }
    }
    if addresses.len() != processes || process >= processes {
        return Err(bad(TASKS, &tasks, "the tasks of each node, SLURM_NTASKS together"));
    }
    Ok(Hosts { addresses, process })
}

/// `2(x3),1` is 2, 2, 2, 1.
fn counts(text: &str) -> Option<Vec<usize>> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            None => (part, 1),
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
        };
        if counts.len() + times > MOST_NODES {
            return None;
        }
        counts.extend(std::iter::repeat_n(count.parse::<usize>().ok()?, times));
    }
    Some(counts)
}

/// `n[01-03,7]x,login` is n01x, n02x, n03x, n7x, login.
fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = end_of_name(rest);
        names.extend(expand_name(&rest[..end])?);
        rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
        if names.len() > MOST_NODES {
            return None;
        }
    }
    Some(names).filter(|names| !names.is_empty() && names.iter().all(|name| !name.is_empty()))
}

/// Where the first name of a list ends: at a comma outside brackets.
fn end_of_name(list: &str) -> usize {
    let mut is_inside = false;
    let end = list.find(|c: char| {
        is_inside = if is_inside { c != ']' } else { c == '[' };
        c == ',' && !is_inside
    });
    end.unwrap_or(list.len())
}

/// A name with any number of brackets.
fn expand_name(name: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = name.split_once('[') else {
        return (!name.contains(']')).then(|| vec![name.to_owned()]);
    };
    let (ranges, after) = rest.split_once(']')?;
    let after = expand_name(after)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if from > to || to - from >= MOST_NODES || names.len() > MOST_NODES {
            return None;
        }
        for number in from..=to {
            let width = first.len();
            names.extend(after.iter().map(|after| format!("{before}{number:0width$}{after}")));
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_nodes_are_expanded_in_order() {
        let cases = [
            ("a", "a"),
            ("a,b", "a b"),
            ("n[1-3]", "n1 n2 n3"),
            ("n[08-10,3]-x,login", "n08-x n09-x n10-x n3-x login"),
            ("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"),
        ];
        for (list, names) in cases {
            assert_eq!(expand(list).unwrap().join(" "), names);
        }
        for list in ["", "n[1-", "n[3-1]", "n[x]", "n]1[", ",a", "n[1-99999999]"] {
            assert_eq!(expand(list), None, "{list}");
        }
    }

    fn hosts_of(process: &str, tasks: &str) -> Result<Hosts, ClusterError> {
        let environment = |name: &str| {
            let value = match name {
                "SLURM_PROCID" => process,
                "SLURM_NTASKS" => "5",
                NODES => "n[1-3]",
                _ => tasks,
            };
            Some(value.to_owned())
        };
        hosts(&environment, 100)
    }

    #[test]
    fn tasks_of_one_node_have_ports_of_their_own() {
        let hosts = hosts_of("3", "2(x2),1").unwrap();
        assert_eq!(hosts.addresses, ["n1:100", "n1:101", "n2:100", "n2:101", "n3:100"]);
        assert_eq!(hosts.process, 3);
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        for (process, tasks) in [("3", "2(x3)"), ("5", "2(x2),1"), ("x", "5"), ("0", "2(x"), ("0", "99999,1,1")] {
            assert!(hosts_of(process, tasks).is_err(), "{process} {tasks}");
        }
    }
}
