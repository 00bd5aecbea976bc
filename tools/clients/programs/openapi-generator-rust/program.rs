mod retry;

use openapi::apis::categories_api::create_category;
use openapi::apis::pets_api::{create_pet, list_pets};
use openapi::apis::{configuration::Configuration, Error};
use openapi::models::{self, NewCategory, NewPet};
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

    let bella = NewPet::new("Bella".into(), created.id);
    let key = Uuid::new_v4().to_string();
    let pet = retry(|| create_pet(&api, bella.clone(), Some(&key))).await?;
    println!("created {} {}", pet.id, pet.name);

    let mut after = Some(0);
    while after.is_some() {
        let page = retry(|| list_pets(&api, Some(2), after, None)).await?;
        for pet in &page {
            println!("listed {}", pet.name);
        }
        after = page.last().map(|pet| pet.id);
    }

    if let Err(Error::ResponseError(rejected)) = create_category(&api, NewCategory::new("".into()), None).await {
        // All errors have one body. The variants of the generated enums do not
        // tell them apart: each is read as the first variant whose fields fit.
        let error: models::Error = serde_json::from_str(&rejected.content)?;
        println!("rejected {} {}", error.status, error.code);
    }
    Ok(())
}
