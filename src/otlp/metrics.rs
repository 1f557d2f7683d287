//! Converts metrics between OTLP/JSON and protobuf. They are forwarded unchanged and never interpreted, so the protocol's own types
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

/// Converts a request to protobuf. `points` is the number of data points in the text.
///
/// # Errors
///
/// The text is not a metrics request, or a data point cannot be read.
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
    // The types treat a metric with unreadable data as one without data.
    if lacking || count_points(&message).ok() != Some(points) {
        return Err(serde_json::Error::custom("a data point of a metric has no value that can be read"));
    }
    Ok(message)
}

/// Converts a request to JSON.
///
/// # Errors
///
/// The bytes are not a metrics request.
pub fn to_json(message: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let request = ExportMetricsServiceRequest::decode(message).map_err(|source| DecodeError::Protobuf {
        signal: Signal::Metrics,
        source,
    })?;
    Ok(serde_json::to_vec(&request).unwrap_or_default())
}
