//! Simulated hosts on one machine: network namespaces with their own addresses, on a separate
//! virtual switch.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::need::{Need, found_or_skip};

/// A number of hosts and the switch between them. The end of the test removes them.
pub struct Network {
    name: String,
    hosts: usize,
}

impl Network {
    /// Creates hosts. `None` if that is not permitted; the test is then skipped.
    #[track_caller]
    pub fn new(hosts: usize) -> Option<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let network = Self { name: format!("isvd-{}-{number}", std::process::id()), hosts };
        let is_built = network.build();
        found_or_skip(Need::Namespaces, is_built.then_some(network).ok_or_else(|| "network namespaces".to_owned()))
    }

    fn build(&self) -> bool {
        let switch = self.switch();
        ip(&format!("netns add {switch}"))
            && ip(&format!("-n {switch} link add bridge type bridge"))
            && ip(&format!("-n {switch} link set bridge up"))
            && (0..self.hosts).all(|host| self.connect(host))
    }

    fn connect(&self, host: usize) -> bool {
        let (name, switch, number) = (self.host(host), self.switch(), host + 1);
        ip(&format!("netns add {name}"))
            && ip(&format!("-n {name} link set lo up"))
            && ip(&format!("-n {name} link add eth0 type veth peer name port{host} netns {switch}"))
            && ip(&format!("-n {name} address add 10.77.0.{number}/24 dev eth0"))
            && ip(&format!("-n {name} link set eth0 up"))
            && ip(&format!("-n {switch} link set port{host} master bridge"))
            && ip(&format!("-n {switch} link set port{host} up"))
    }

    fn host(&self, host: usize) -> String {
        format!("{}-{host}", self.name)
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.name)
    }

    /// The addresses of one process on each host.
    pub fn addresses(&self) -> Vec<String> {
        (1..=self.hosts).map(|number| format!("10.77.0.{number}:7461")).collect()
    }

    /// A command on a host. The process id is that of the command itself.
    pub fn on(&self, host: usize, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.host(host)]).arg(command.get_program()).args(command.get_args());
        command.get_current_dir().map(|folder| inside.current_dir(folder));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// Connects a host to the switch (`up`), or disconnects it (`down`).
    pub fn plug(&self, host: usize, state: &str) {
        assert!(ip(&format!("-n {} link set port{host} {state}", self.switch())));
    }

    /// Delays packets of all hosts, and drops some. False if that is not permitted; the rest of the
    /// test is then skipped.
    #[track_caller]
    pub fn disturb(&self) -> bool {
        let netem = |host| format!("-n {} qdisc add dev eth0 root netem delay 5ms 2ms loss 1%", self.host(host));
        let is_disturbed = (0..self.hosts).all(|host| done("tc", &netem(host)));
        let found = is_disturbed.then_some(()).ok_or_else(|| "packets that are delayed and lost".to_owned());
        found_or_skip(Need::Namespaces, found).is_some()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Removing a namespace removes its links. Errors are ignored, because some parts may not
        // exist.
        for name in (0..self.hosts).map(|host| self.host(host)).chain([self.switch()]) {
            ip(&format!("netns delete {name}"));
        }
    }
}

fn ip(arguments: &str) -> bool {
    done("ip", arguments)
}

fn done(program: &str, arguments: &str) -> bool {
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
