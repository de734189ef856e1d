//! Answers of a router to a manager: an SNMPv1 GetRequest (RFC 1157 4.1.2) for `sysUpTime.0` (RFC 1213), over IPv4
//! or IPv6. Any other variable is `noSuchName`; another community, another message: no answer.

use p4mesh_pipeline::Frame;
use p4mesh_wire::udp::Datagram;

use super::packets::{self, Header};

const SNMP_PORT: u16 = 161;
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT: u8 = 0x06;
const TIME_TICKS: u8 = 0x43;
const GET_REQUEST: u8 = 0xa0;
const GET_RESPONSE: u8 = 0xa2;
const VERSION_1: &[u8] = &[0];
const SYS_UP_TIME: &[u8] = &[0x2b, 6, 1, 2, 1, 1, 3, 0];
const NO_ERROR: u8 = 0;
const NO_SUCH_NAME: u8 = 2;
const PS_PER_TICK: u64 = 10_000_000_000;
/// Largest value that BER writes as one byte.
const MAX_SHORT_LENGTH: usize = 127;

/// Turns a question to the router, whose header has been read, into its answer, addresses exchanged; `None`: it is no
/// question, and unchanged. `up_ps` is the time since the start.
pub fn answer(frame: &mut Frame, header: &Header, community: &str, up_ps: u64) -> Option<()> {
    let question = packets::udp_of(frame)?;
    if question.destination_port != SNMP_PORT {
        return None;
    }
    let message = respond(question.payload, community.as_bytes(), up_ps)?;
    let answer = Datagram {
        source_port: question.destination_port,
        destination_port: question.source_port,
        payload: &message,
    };
    packets::write_udp_answer(frame, header, &answer);
    Some(())
}

/// The message that answers `question`.
fn respond(question: &[u8], community: &[u8], up_ps: u64) -> Option<Vec<u8>> {
    let mut message = Reader(Reader(question).value(SEQUENCE)?);
    if message.value(INTEGER)? != VERSION_1 || message.value(OCTETS)? != community {
        return None;
    }
    let mut pdu = Reader(message.value(GET_REQUEST)?);
    let request = pdu.value(INTEGER)?;
    pdu.value(INTEGER)?;
    pdu.value(INTEGER)?;
    let mut binding = Reader(Reader(pdu.value(SEQUENCE)?).value(SEQUENCE)?);
    let object = binding.value(OBJECT)?;
    let ticks = ((up_ps / PS_PER_TICK) as u32).to_be_bytes();
    let (status, value) = if object == SYS_UP_TIME {
        (NO_ERROR, field(TIME_TICKS, &[&ticks])?)
    } else {
        (NO_SUCH_NAME, field(NULL, &[])?)
    };
    let index = u8::from(status != NO_ERROR);
    let bindings = field(SEQUENCE, &[&field(SEQUENCE, &[&field(OBJECT, &[object])?, &value])?])?;
    let response = field(
        GET_RESPONSE,
        &[
            &field(INTEGER, &[request])?,
            &field(INTEGER, &[&[status]])?,
            &field(INTEGER, &[&[index]])?,
            &bindings,
        ],
    )?;
    field(SEQUENCE, &[&field(INTEGER, &[VERSION_1])?, &field(OCTETS, &[community])?, &response])
}

/// Fields of ASN.1 BER with lengths of one byte, from the front of some bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The content of the next field, which must have this tag.
    fn value(&mut self, tag: u8) -> Option<&'a [u8]> {
        let [found, length, rest @ ..] = self.0 else {
            return None;
        };
        let length = usize::from(*length);
        if *found != tag || length > MAX_SHORT_LENGTH || length > rest.len() {
            return None;
        }
        let (value, rest) = rest.split_at(length);
        self.0 = rest;
        Some(value)
    }
}

/// A field with this tag around `parts`; `None` when it is too long for a length of one byte.
fn field(tag: u8, parts: &[&[u8]]) -> Option<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    if length > MAX_SHORT_LENGTH {
        return None;
    }
    let mut field = vec![tag, length as u8];
    for part in parts {
        field.extend_from_slice(part);
    }
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GetRequest 1 of sysUpTime.0, community "public".
    const QUESTION: &[u8] = b"\x30\x26\x02\x01\x00\x04\x06public\xa0\x19\x02\x01\x01\x02\x01\x00\x02\x01\x00\
        \x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";

    #[test]
    fn the_time_since_the_start_is_told_in_hundredths_of_a_second() {
        let answer = respond(QUESTION, b"public", 2_560_000_000_000).unwrap();
        let expected: &[u8] =
            b"\x30\x2a\x02\x01\x00\x04\x06public\xa2\x1d\x02\x01\x01\x02\x01\x00\x02\x01\x00\
            \x30\x12\x30\x10\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x43\x04\x00\x00\x01\x00";
        assert_eq!(answer, expected, "256 ticks of 10 ms");
    }

    #[test]
    fn another_variable_has_no_such_name() {
        let mut question = QUESTION.to_vec();
        let last = question.len() - 4;
        question[last] = 5; // sysName
        let answer = respond(&question, b"public", 0).unwrap();
        assert_eq!(answer.len(), question.len());
        assert_eq!(answer[13], GET_RESPONSE);
        assert_eq!(answer[18..24], [2, 1, NO_SUCH_NAME, 2, 1, 1], "error status and index");
    }

    #[test]
    fn strangers_and_damaged_questions_get_no_answer() {
        assert_eq!(respond(QUESTION, b"secret", 0), None);
        for length in 0..QUESTION.len() {
            assert_eq!(respond(&QUESTION[..length], b"public", 0), None);
        }
        for (place, byte) in [(0, 0x31), (1, 0x80), (4, 1), (13, GET_RESPONSE)] {
            let mut question = QUESTION.to_vec();
            question[place] = byte;
            assert_eq!(respond(&question, b"public", 0), None, "byte {place}");
        }
    }
}
