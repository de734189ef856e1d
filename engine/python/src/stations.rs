//! Hosts on the ports of a tester that answer ARP, neighbour discovery, IGMP and MLD, and queriers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

use p4mesh_peers::groups::messages::Sender;
use p4mesh_peers::groups::{Filter, HostSettings, Protocol, QuerierSettings};
use p4mesh_peers::{groups, IpVersion, Leaving, Station};
use p4mesh_wire::ipv6::link_local;
use pyo3::prelude::*;

use crate::error::refused;

/// (port, frame, whether the time at which it leaves is to be kept).
type Frame = (u32, Vec<u8>, bool);

/// A station of a port.
#[derive(FromPyObject)]
struct Owner {
    port: u32,
    mac: [u8; 6],
    #[pyo3(from_py_with = ipv4)]
    ipv4: Ipv4Addr,
    #[pyo3(from_py_with = ipv6)]
    ipv6: Ipv6Addr,
    #[pyo3(from_py_with = ipv4)]
    router_ipv4: Ipv4Addr,
    #[pyo3(from_py_with = ipv6)]
    router_ipv6: Ipv6Addr,
}

fn ipv4(address: &Bound<'_, PyAny>) -> PyResult<Ipv4Addr> {
    match address.extract()? {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => Err(refused(format!("{address} is no IPv4 address"))),
    }
}

fn ipv6(address: &Bound<'_, PyAny>) -> PyResult<Ipv6Addr> {
    match address.extract()? {
        IpAddr::V6(address) => Ok(address),
        IpAddr::V4(address) => Err(refused(format!("{address} is no IPv6 address"))),
    }
}

impl Owner {
    fn sender(&self) -> Sender {
        Sender { mac: self.mac, ipv4: self.ipv4, ipv6: link_local(self.mac) }
    }
}

fn tuple(leaving: Leaving) -> Frame {
    (leaving.port, leaving.frame, leaving.stamped)
}

fn protocol(name: &str) -> PyResult<Protocol> {
    match name {
        "igmpv2" => Ok(Protocol::Igmpv2),
        "igmpv3" => Ok(Protocol::Igmpv3),
        "mldv1" => Ok(Protocol::Mldv1),
        "mldv2" => Ok(Protocol::Mldv2),
        _ => Err(refused(format!("protocol: '{name}'; valid: igmpv2, igmpv3, mldv1, mldv2"))),
    }
}

fn version(number: u8) -> PyResult<IpVersion> {
    match number {
        4 => Ok(IpVersion::V4),
        6 => Ok(IpVersion::V6),
        _ => Err(refused(format!("IP version: {number}; valid: 4, 6"))),
    }
}

/// The stations of some ports, with their routers.
#[pyclass(module = "p4mesh._engine")]
pub struct Stations(p4mesh_peers::Stations);

#[pymethods]
impl Stations {
    #[new]
    fn new(stations: Vec<Owner>) -> Stations {
        let stations = stations.into_iter().map(|it| {
            let Owner { port, mac, ipv4, ipv6, router_ipv4, router_ipv6 } = it;
            (port, Station { mac, ipv4, ipv6, router_ipv4, router_ipv6 })
        });
        Stations(p4mesh_peers::Stations::new(stations))
    }

    fn on_frame(&mut self, port: u32, frame: &[u8], _now_ns: u64) -> Vec<Frame> {
        self.0.on_frame(port, frame).into_iter().map(tuple).collect()
    }

    fn on_time(&mut self, _now_ns: u64) -> Vec<Frame> {
        Vec::new()
    }

    /// None: who waits for the routers decides when to ask again.
    fn next_event(&self) -> Option<u64> {
        None
    }

    fn questions(&self, wanted: Vec<(u32, u8)>) -> PyResult<Vec<Frame>> {
        let wanted = wanted.into_iter().map(|(port, number)| Ok((port, version(number)?)));
        let questions = self.0.questions(&wanted.collect::<PyResult<Vec<_>>>()?);
        Ok(questions.into_iter().map(tuple).collect())
    }

    #[getter]
    fn routers(&self) -> BTreeMap<(u32, u8), Vec<u8>> {
        let number = |version| if version == IpVersion::V4 { 4 } else { 6 };
        self.0
            .routers()
            .iter()
            .map(|(&(port, version), mac)| ((port, number(version)), mac.to_vec()))
            .collect()
    }

    #[getter]
    fn answers(&self) -> u64 {
        self.0.answers()
    }

    fn expect_answer(&mut self, frame: &[u8]) {
        self.0.expect_answer(frame);
    }

    fn forget_answers(&mut self) {
        self.0.forget_answers();
    }
}

/// The hosts of some ports that receive groups.
#[pyclass(module = "p4mesh._engine")]
pub struct GroupHosts(groups::GroupHosts);

#[pymethods]
impl GroupHosts {
    #[new]
    #[pyo3(signature = (stations, version, *, joins_per_s, robustness, seed))]
    fn new(
        stations: Vec<Owner>,
        version: &str,
        joins_per_s: NonZeroU32,
        robustness: u32,
        seed: u64,
    ) -> PyResult<GroupHosts> {
        let settings = HostSettings { protocol: protocol(version)?, joins_per_s, robustness, seed };
        let hosts = stations.iter().map(|it| (it.port, it.sender()));
        Ok(GroupHosts(groups::GroupHosts::new(hosts, settings)))
    }

    /// With `sources`, the only senders that are received, or with `exclude` those that are not.
    #[pyo3(signature = (port, groups, now_ns, sources=Vec::new(), exclude=true))]
    fn join(
        &mut self,
        port: u32,
        groups: Vec<IpAddr>,
        now_ns: u64,
        sources: Vec<IpAddr>,
        exclude: bool,
    ) -> PyResult<()> {
        let senders = Filter { sources: sources.into_iter().collect(), exclude };
        self.0.join(port, groups, senders, now_ns).map_err(refused)
    }

    fn leave(&mut self, port: u32, groups: Vec<IpAddr>, now_ns: u64) -> PyResult<()> {
        self.0.leave(port, groups, now_ns).map_err(refused)
    }

    fn memberships(&self, port: u32) -> Vec<IpAddr> {
        self.0.memberships(port)
    }

    #[getter]
    fn pending_changes(&self) -> usize {
        self.0.pending_changes()
    }

    #[getter]
    fn repeats(&self) -> bool {
        self.0.repeats()
    }

    fn on_frame(&mut self, port: u32, frame: &[u8], now_ns: u64) -> Vec<Frame> {
        self.0.on_frame(port, frame, now_ns);
        Vec::new()
    }

    fn on_time(&mut self, now_ns: u64) -> Vec<Frame> {
        self.0.on_time(now_ns).into_iter().map(tuple).collect()
    }

    fn next_event(&mut self) -> Option<u64> {
        self.0.next_event()
    }
}

/// The querier of a port.
#[pyclass(module = "p4mesh._engine")]
pub struct Querier(groups::Querier);

#[pymethods]
impl Querier {
    #[new]
    #[pyo3(signature = (station, version, now_ns, *, interval_ns, robustness))]
    fn new(
        station: Owner,
        version: &str,
        now_ns: u64,
        interval_ns: u64,
        robustness: u8,
    ) -> PyResult<Querier> {
        let settings = QuerierSettings { protocol: protocol(version)?, interval_ns, robustness };
        Ok(Querier(groups::Querier::new(station.port, station.sender(), settings, now_ns)))
    }

    fn on_frame(&mut self, port: u32, frame: &[u8], now_ns: u64) -> Vec<Frame> {
        self.0.on_frame(port, frame, now_ns);
        Vec::new()
    }

    fn on_time(&mut self, now_ns: u64) -> Vec<Frame> {
        self.0.on_time(now_ns).into_iter().map(tuple).collect()
    }

    fn next_event(&self) -> Option<u64> {
        Some(self.0.next_event())
    }
}
