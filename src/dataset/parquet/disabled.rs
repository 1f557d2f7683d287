//! Replaces Parquet in builds without the feature.

use std::path::Path;

use super::error::{ParquetError, offers};
use crate::dataset::manifest::RowFile;
use crate::formats::{AnyFormat, Options};

/// Never constructed.
#[derive(Debug)]
pub(in crate::dataset) enum Rows {}

impl Rows {
    pub(in crate::dataset) fn create(_: &Path, format: &AnyFormat, _: &Options) -> Result<Self, ParquetError> {
        offers(format)?;
        Err(ParquetError::NotBuilt)
    }

    pub(in crate::dataset) fn row(&mut self, _: &str) -> Result<(), ParquetError> {
        match *self {}
    }

    pub(in crate::dataset) fn finish(self, _: String) -> Result<RowFile, ParquetError> {
        match self {}
    }
}
