mod retry;

use openapi::apis::categories_api::{create_category, list_categories};
use openapi::apis::{configuration::Configuration, Error};
use openapi::models::{self, NewCategory};
use retry::retry;
use std::{env, error};
use uuid::Uuid;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn error::Error>> {
    let api = Configuration {
        base_path: env::var("BASE_URL")?,
        bearer_access_token: Some(env::var("API_KEY")?),
        ..Configuration::new()
    };

    let rabbit = NewCategory { name: "Rabbit".into(), description: Some("Long ears".into()) };
    let key = Uuid::new_v4().to_string();
    let created = retry(|| create_category(&api, rabbit.clone(), Some(&key))).await?;
    println!("created {} {}", created.id, created.name);

    for category in retry(|| list_categories(&api, None)).await? {
        println!("listed {} {}", category.id, category.name);
    }

    if let Err(Error::ResponseError(rejected)) = create_category(&api, NewCategory::new("".into()), None).await {
        // All errors have one body. The variants of the generated enums do not
        // tell them apart: each is read as the first variant whose fields fit.
        let error: models::Error = serde_json::from_str(&rejected.content)?;
        println!("rejected {} {}", error.status, error.code);
    }
    Ok(())
}
