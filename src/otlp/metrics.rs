//! Metrics between OTLP/JSON and protobuf. They are forwarded as they came and never interpreted, so the protocol's own types
//! suffice.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::NumberDataPoint;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message as _;
use serde::de::Error as _;

use super::decode::DecodeError;
use super::signal::count_points;
use crate::span::Signal;

/// `DataPointFlags`: the point has no value.
const NO_RECORDED_VALUE: u32 = 1;

/// The request in protobuf. `points`: how many data points the text has.
///
/// # Errors
///
/// The text is no request of metrics, or a data point cannot be read.
pub(crate) fn from_json(text: &[u8], points: usize) -> Result<Vec<u8>, serde_json::Error> {
    let request: ExportMetricsServiceRequest = serde_json::from_slice(text)?;
    let lacks_value = |point: &NumberDataPoint| point.value.is_none() && point.flags & NO_RECORDED_VALUE == 0;
    let metrics = request
        .resource_metrics
        .iter()
        .flat_map(|of| &of.scope_metrics)
        .flat_map(|of| &of.metrics);
    let lacking = metrics.filter_map(|metric| metric.data.as_ref()).any(|data| match data {
        Data::Gauge(gauge) => gauge.data_points.iter().any(lacks_value),
        Data::Sum(sum) => sum.data_points.iter().any(lacks_value),
        _ => false,
    });
    let message = request.encode_to_vec();
    // The types take a metric whose data cannot be read for one without data.
    if lacking || count_points(&message).ok() != Some(points) {
        return Err(serde_json::Error::custom("a data point of a metric has no value that can be read"));
    }
    Ok(message)
}

/// The request in JSON.
///
/// # Errors
///
/// The bytes are no request of metrics.
pub fn to_json(message: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let request = ExportMetricsServiceRequest::decode(message).map_err(|source| DecodeError::Protobuf {
        signal: Signal::Metrics,
        source,
    })?;
    Ok(serde_json::to_vec(&request).unwrap_or_default())
}
