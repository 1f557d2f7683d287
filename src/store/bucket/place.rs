//! Which bucket a URL names. Credentials come from the environment, from files or from the machine's role, as in the clouds'
//! own clients.

use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};

use super::failed::failed;
use super::requests::{Counted, Requests};
use crate::store::error::Error;

/// The folder of all writers' databases.
pub(super) const WRITERS: &str = "writers";

/// The folder of claims.
pub(super) const CLAIMS: &str = "claims";

/// A bucket, and a prefix in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
    pub(super) requests: Arc<Requests>,
    url: String,
}

/// The forms of a URL, for errors.
const FORMS: &str = "write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER";

impl Place {
    pub(super) fn of(url: &str) -> Result<Self, Error> {
        let refused = |fault: String| Error::Url {
            url: url.to_owned(),
            fault,
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refused(FORMS.to_owned()))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let bucketless = bucket.is_empty() && !matches!(scheme, "file" | "memory");
        if bucketless {
            return Err(refused(FORMS.to_owned()));
        }
        let client = |error: object_store::Error| refused(error.to_string());
        let objects: Arc<dyn ObjectStore> = match scheme {
            "s3" | "s3a" => Arc::new(AmazonS3Builder::from_env().with_url(url).build().map_err(client)?),
            "gs" => Arc::new(GoogleCloudStorageBuilder::from_env().with_url(url).build().map_err(client)?),
            "az" | "azure" | "abfs" | "abfss" => Arc::new(MicrosoftAzureBuilder::from_env().with_url(url).build().map_err(client)?),
            "file" => return Self::folder(url, rest),
            "memory" => Arc::new(InMemory::new()),
            _ => return Err(refused(FORMS.to_owned())),
        };
        let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|error| refused(error.to_string()))?;
        Ok(Self::new(objects, prefix, url))
    }

    fn new(inner: Arc<dyn ObjectStore>, prefix: Path, url: &str) -> Self {
        let requests = Arc::<Requests>::default();
        let objects = Counted {
            inner,
            requests: Arc::clone(&requests),
        };
        Self {
            objects: Arc::new(objects),
            prefix,
            requests,
            url: url.to_owned(),
        }
    }

    fn folder(url: &str, folder: &str) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(failed("make", folder))?;
        let files = LocalFileSystem::new_with_prefix(folder).map_err(failed("open", folder))?;
        Ok(Self::new(Arc::new(files.with_fsync(true)), Path::default(), url))
    }

    /// A folder inside it.
    pub(super) fn below(&self, folder: &str) -> Self {
        let prefix = folder
            .split('/')
            .filter(|part| !part.is_empty())
            .fold(self.prefix.clone(), |path, part| path.join(part));
        Self { prefix, ..self.clone() }
    }

    /// The URL, for errors.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Removes the object at a path if it exists.
    pub(super) async fn remove(&self, path: &Path) -> Result<(), Error> {
        match self.objects.delete(path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("remove", path.as_ref())(error)),
        }
    }

    /// Whether a folder has anything in it.
    pub(super) async fn has(&self, folder: &Path) -> Result<bool, Error> {
        let listed = self
            .objects
            .list_with_delimiter(Some(folder))
            .await
            .map_err(failed("list", &self.url))?;
        Ok(!listed.objects.is_empty())
    }

    /// The object at a path, if it exists.
    pub(super) async fn get(&self, path: &Path) -> Result<Option<slatedb::bytes::Bytes>, object_store::Error> {
        match self.objects.get(path).await {
            Ok(found) => found.bytes().await.map(Some),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The path of a writer's database.
pub(super) fn database(place: &Place, writer: &str) -> Path {
    place.prefix.clone().join(WRITERS).join(writer)
}

/// Wraps an engine error that occurred while reading.
pub(super) fn unread(place: &Place) -> impl Fn(slatedb::Error) -> Error {
    let url = place.url().to_owned();
    move |error| failed("read", &url)(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_bucket_is_refused_with_the_forms_that_do() {
        for url in ["", "bucket", "s3://", "ftp://bucket/a", "s3:///prefix"] {
            let error = Place::of(url).expect_err(url).to_string();
            assert!(error.contains("s3://BUCKET/PREFIX"), "{error}");
        }
        let place = Place::of("memory:///a/b/").expect("a place");
        assert_eq!(place.below("projects/o/p").prefix.as_ref(), "a/b/projects/o/p");
    }
}
