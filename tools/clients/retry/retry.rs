use openapi::apis::Error;
use std::{future::Future, time::Duration};

/// Makes a call up to 8 times, until the response is final. Pass each attempt
/// of a create the same Idempotency-Key, so that it creates only once. The
/// generated client hides Retry-After, so each wait is at least a second.
pub async fn retry<T, E, F>(call: impl Fn() -> F) -> Result<T, Error<E>>
where
    F: Future<Output = Result<T, Error<E>>>,
{
    for attempt in 1..8 {
        let result = call().await;
        let is_final = match &result {
            Ok(_) => true,
            Err(Error::ResponseError(response)) => {
                let status = response.status.as_u16();
                let is_in_use = response.content.contains("idempotency_key_in_use");
                status < 500 && status != 408 && status != 429 && !is_in_use
            }
            Err(error) => !matches!(error, Error::Reqwest(_)),
        };
        if is_final {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(1000.max(100 << attempt))).await;
    }
    call().await
}
