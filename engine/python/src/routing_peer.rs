//! A host that speaks BGP and BFD, for the ports of a tester.

use std::net::IpAddr;

use ipnet::IpNet;
use p4mesh_peers::bgp::{Announcement, Families};
use p4mesh_peers::{
    BfdSettings, EventKind, HostAddresses, Ipv4Interface, Ipv6Interface, NeighbourSettings, Speaker,
};
use pyo3::prelude::*;

use crate::error::refused;

/// One host with sessions; it acts when it is given a frame or the time.
#[pyclass(module = "p4mesh._engine")]
pub struct RoutingPeer {
    speaker: Speaker,
}

/// An address with the length of its network's prefix.
#[derive(FromPyObject)]
struct Interface {
    address: IpAddr,
    prefix_bits: u8,
}

/// Keys of a session, as in `NeighbourSettings`.
#[derive(FromPyObject)]
struct Session {
    address: IpAddr,
    neighbour_as: Option<u32>,
    own_as: u32,
    router_id: IpAddr,
    hold_time_s: u16,
    passive: bool,
    connect_retry_s: u16,
    bfd_interval_us: Option<u32>,
    bfd_multiplier: u8,
}

#[pymethods]
impl RoutingPeer {
    #[new]
    fn new(
        mac: [u8; 6],
        interfaces: Vec<Interface>,
        sessions: Vec<Session>,
        seed: u64,
        now_ns: u64,
    ) -> PyResult<RoutingPeer> {
        let mut addresses = HostAddresses { mac, ipv4: None, ipv6: None };
        for Interface { address, prefix_bits } in interfaces {
            match address {
                IpAddr::V4(address) => addresses.ipv4 = Some(Ipv4Interface { address, prefix_bits }),
                IpAddr::V6(address) => addresses.ipv6 = Some(Ipv6Interface { address, prefix_bits }),
            }
        }
        let families = Families { ipv4: addresses.ipv4.is_some(), ipv6: addresses.ipv6.is_some() };
        let neighbours = sessions.into_iter().map(|it| {
            let IpAddr::V4(router_id) = it.router_id else {
                return Err(refused(format!("router_id: {} is no IPv4 address", it.router_id)));
            };
            Ok(NeighbourSettings {
                address: it.address,
                neighbour_as: it.neighbour_as,
                own_as: it.own_as,
                router_id,
                hold_time_s: it.hold_time_s,
                families,
                passive: it.passive,
                connect_retry_s: it.connect_retry_s,
                bfd: it
                    .bfd_interval_us
                    .map(|interval_us| BfdSettings { interval_us, multiplier: it.bfd_multiplier }),
            })
        });
        let neighbours: Vec<NeighbourSettings> = neighbours.collect::<PyResult<_>>()?;
        let speaker = Speaker::new(&addresses, &neighbours, seed, now_ns).map_err(refused)?;
        Ok(RoutingPeer { speaker })
    }

    fn on_frame(&mut self, frame: &[u8], now_ns: u64) {
        self.speaker.on_frame(frame, now_ns);
    }

    fn on_time(&mut self, now_ns: u64) {
        self.speaker.on_time(now_ns);
    }

    fn next_event(&mut self, now_ns: u64) -> Option<u64> {
        self.speaker.next_event(now_ns)
    }

    fn take_frames(&mut self) -> Vec<Vec<u8>> {
        self.speaker.frames()
    }

    /// Events since the last call: (session, time in ns, event, reason).
    fn take_events(&mut self) -> Vec<(usize, u64, &'static str, Option<String>)> {
        let named = |kind| match kind {
            EventKind::Up => ("up", None),
            EventKind::Down(reason) => ("down", Some(reason)),
            EventKind::Announced => ("announced", None),
            EventKind::BfdUp => ("bfd_up", None),
            EventKind::BfdDown(reason) => ("bfd_down", Some(reason)),
        };
        let events = self.speaker.events().into_iter();
        events
            .map(|it| {
                let (name, why) = named(it.kind);
                (it.neighbour, it.at, name, why)
            })
            .collect()
    }

    fn is_up(&self, session: usize) -> bool {
        self.speaker.is_up(session)
    }

    fn learned(&self, session: usize) -> usize {
        self.speaker.learned(session)
    }

    fn announce(&mut self, session: usize, networks: Vec<String>, now_ns: u64) -> PyResult<()> {
        let announcement = Announcement { networks: parse(&networks)?, as_path: Vec::new() };
        self.speaker.announce(session, &announcement, now_ns);
        Ok(())
    }

    fn withdraw(&mut self, session: usize, networks: Vec<String>, now_ns: u64) -> PyResult<()> {
        self.speaker.withdraw(session, &parse(&networks)?, now_ns);
        Ok(())
    }

    fn stop(&mut self, session: usize, now_ns: u64) {
        self.speaker.stop(session, now_ns);
    }
}

fn parse(networks: &[String]) -> PyResult<Vec<IpNet>> {
    let one = |text: &String| text.parse().map_err(|_| refused(format!("'{text}' is no network")));
    networks.iter().map(one).collect()
}
