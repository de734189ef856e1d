//! MLD versions 1 and 2 (RFC 2710, 3810): messages of ICMPv6.

use std::net::Ipv6Addr;

use crate::icmpv6;
use crate::membership::{parse_records, Address, Detail, Query, Record};

const QUERY: u8 = 130;
const REPORT_V1: u8 = 131;
const DONE: u8 = 132;
const REPORT_V2: u8 = 143;
/// Maximum response code, reserved.
const CODE_BYTES: usize = 4;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Query(Query<Ipv6Addr>),
    ReportV1(Ipv6Addr),
    Done(Ipv6Addr),
    ReportV2(Vec<Record<Ipv6Addr>>),
}

/// Reads a message of ICMPv6.
pub fn parse(message: &icmpv6::Message) -> Option<Message> {
    let (&[code_high, code_low, high, low], rest) = message.body.split_first_chunk::<CODE_BYTES>()?;
    let group = || rest.get(..Ipv6Addr::BYTES).map(Ipv6Addr::read);
    match message.kind {
        QUERY => Some(Message::Query(Query {
            group: group()?,
            max_response_code: u16::from_be_bytes([code_high, code_low]),
            detail: match &rest[Ipv6Addr::BYTES..] {
                [] => None,
                rest => Some(Detail::parse(rest)?),
            },
        })),
        REPORT_V1 => Some(Message::ReportV1(group()?)),
        DONE => Some(Message::Done(group()?)),
        REPORT_V2 => {
            let records = parse_records(rest, u16::from_be_bytes([high, low]))?;
            Some(Message::ReportV2(records))
        }
        _ => None,
    }
}

impl Message {
    /// Writes a message of ICMPv6.
    pub fn emit(&self, source: Ipv6Addr, destination: Ipv6Addr, frame: &mut Vec<u8>) {
        let mut body = Vec::new();
        let kind = match self {
            Message::Query(query) => {
                body.extend_from_slice(&query.max_response_code.to_be_bytes());
                body.extend_from_slice(&[0; 2]);
                query.group.write(&mut body);
                if let Some(detail) = &query.detail {
                    detail.emit(&mut body);
                }
                QUERY
            }
            Message::ReportV1(group) | Message::Done(group) => {
                body.extend_from_slice(&[0; CODE_BYTES]);
                group.write(&mut body);
                match self {
                    Message::Done(_) => DONE,
                    _ => REPORT_V1,
                }
            }
            Message::ReportV2(records) => {
                body.extend_from_slice(&[0; 2]);
                body.extend_from_slice(&(records.len() as u16).to_be_bytes());
                records.iter().for_each(|record| record.emit(&mut body));
                REPORT_V2
            }
        };
        let message = icmpv6::Message { kind, code: 0, body: &body };
        message.emit(source, destination, frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::Mode;

    #[test]
    fn messages_of_both_versions_are_read_as_they_were_written() {
        let (source, destination) = (Ipv6Addr::LOCALHOST, "ff02::16".parse().unwrap());
        let group: Ipv6Addr = "ff0e::99".parse().unwrap();
        let query = |detail| Message::Query(Query { group, max_response_code: 10_000, detail });
        let detail =
            Detail { suppress: true, robustness: 2, interval_code: 125, sources: vec![Ipv6Addr::LOCALHOST] };
        let record = Record { mode: Mode::ToExclude, group, sources: vec![Ipv6Addr::LOCALHOST] };
        for (message, bytes) in [
            (query(None), 24),
            (query(Some(detail)), 44),
            (Message::ReportV1(group), 24),
            (Message::Done(group), 24),
            (Message::ReportV2(vec![record.clone(), record]), 80),
        ] {
            let mut frame = Vec::new();
            message.emit(source, destination, &mut frame);
            assert_eq!(frame.len(), bytes, "{message:?}");
            let read = icmpv6::parse(source, destination, &frame).unwrap();
            assert_eq!(parse(&read), Some(message));
            for length in 4..frame.len() {
                let short = icmpv6::Message { body: &frame[4..length], ..read };
                // A query of 24 bytes is one of version 1.
                assert!(length == 24 || parse(&short).is_none(), "{length}");
            }
        }
    }
}
