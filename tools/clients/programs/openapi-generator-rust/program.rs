mod retry;

use openapi::apis::categories_api::{create_category, list_categories};
use openapi::apis::quickstart_api::create_message;
use openapi::apis::{configuration::Configuration, Error};
use openapi::models::{self, NewCategory, NewMessage};
use retry::retry;
use std::{env, error};
use uuid::Uuid;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn error::Error>> {
    let stranger = Configuration { base_path: env::var("BASE_URL")?, ..Configuration::new() };
    let api = Configuration { bearer_access_token: Some(env::var("API_KEY")?), ..stranger.clone() };

    let rabbit = NewCategory { name: "Rabbit".into(), description: Some("Long ears".into()) };
    let key = Uuid::new_v4().to_string();
    let created = retry(|| create_category(&api, rabbit.clone(), Some(&key))).await?;
    println!("created {} {}", created.id, created.name);

    for category in retry(|| list_categories(&api, None)).await? {
        println!("listed {} {}", category.id, category.name);
    }

    let hello = NewMessage::new("Hello".into());
    let key = Uuid::new_v4().to_string();
    let message = retry(|| create_message(&api, hello.clone(), Some(&key))).await?;
    println!("{} {}", message.status, message.message);

    if let Err(Error::ResponseError(rejected)) = create_category(&api, NewCategory::new("".into()), None).await {
        report(&rejected.content)?;
    }

    if let Err(Error::ResponseError(rejected)) = list_categories(&stranger, None).await {
        report(&rejected.content)?;
    }
    Ok(())
}

/// All errors have one body. The variants of the generated enums do not tell
/// them apart: each is read as the first variant whose fields fit.
fn report(content: &str) -> Result<(), serde_json::Error> {
    let error: models::Error = serde_json::from_str(content)?;
    println!("rejected {} {}", error.status, error.code);
    Ok(())
}
