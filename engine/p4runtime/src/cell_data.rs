//! Counter cells and meter configurations, between messages and the pipeline (sections 9.3, 9.4).

use p4mesh_pipeline::{CounterCell, MeterConfig as PipelineMeter};

use crate::proto::entity::{CounterData, MeterConfig, MeterCounterData};
use crate::proto::info::MeterType;
use crate::refusal::{Outcome, Refusal};

/// A cell of the pipeline for a message.
pub fn to_cell(data: &CounterData) -> Outcome<CounterCell> {
    if data.byte_count < 0 || data.packet_count < 0 {
        return Err(Refusal::invalid("counter data is negative"));
    }
    Ok(CounterCell { packets: data.packet_count as u64, bytes: data.byte_count as u64 })
}

/// A counter cell as a message.
pub fn counter_data(cell: CounterCell) -> CounterData {
    CounterData { byte_count: cell.bytes as i64, packet_count: cell.packets as i64 }
}

/// The counts of a meter per colour, as a message.
pub fn from_marked(marked: [CounterCell; 3]) -> MeterCounterData {
    let [green, yellow, red] = marked.map(|cell| Some(counter_data(cell)));
    MeterCounterData { green, yellow, red }
}

/// Checks the counters per colour of a write: they can only be set to 0 (section 9.4).
///
/// # Errors
/// INVALID_ARGUMENT for any other value.
pub fn check_marked(owner: &str, data: &Option<MeterCounterData>) -> Outcome<()> {
    let Some(MeterCounterData { green, yellow, red }) = data else {
        return Ok(());
    };
    let zero = CounterData::default();
    match [green, yellow, red].iter().all(|data| data.unwrap_or_default() == zero) {
        true => Ok(()),
        false => {
            Err(Refusal::invalid(format!("{owner}: the counters per colour of a meter can only be set to 0")))
        }
    }
}

/// A meter configuration of the pipeline; `kind` restricts it (section 9.4).
pub fn to_meter(owner: &str, kind: MeterType, config: &MeterConfig) -> Outcome<PipelineMeter> {
    let bad = |problem: &str| Err(Refusal::invalid(format!("{owner}: {problem}")));
    if [config.cir, config.cburst, config.pir, config.pburst, config.eburst].iter().any(|value| *value < 0) {
        return bad("a meter rate or burst is negative");
    }
    let single = config.cir == config.pir && config.cburst == config.pburst;
    match kind {
        MeterType::TwoRateThreeColor if config.eburst != 0 => {
            bad("eburst is for single rate meters, this meter has two rates")
        }
        MeterType::SingleRateTwoColor if config.eburst != 0 => {
            bad("eburst is for three colours, this meter has two")
        }
        MeterType::SingleRateTwoColor | MeterType::SingleRateThreeColor if !single => {
            bad("a single rate meter needs cir = pir and cburst = pburst")
        }
        MeterType::SingleRateThreeColor if config.eburst != 0 => {
            Err(Refusal::unimplemented(format!("{owner}: an excess burst (eburst) is not supported")))
        }
        MeterType::TwoRateThreeColor if config.pir < config.cir => {
            bad("the peak rate is below the committed rate")
        }
        _ => Ok(PipelineMeter {
            committed_rate_per_s: config.cir as u64,
            committed_burst: config.cburst as u64,
            peak_rate_per_s: config.pir as u64,
            peak_burst: config.pburst as u64,
        }),
    }
}

/// The message for a meter configuration.
pub fn from_meter(config: PipelineMeter) -> MeterConfig {
    MeterConfig {
        cir: config.committed_rate_per_s as i64,
        cburst: config.committed_burst as i64,
        pir: config.peak_rate_per_s as i64,
        pburst: config.peak_burst as i64,
        eburst: 0,
    }
}
