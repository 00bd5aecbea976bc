mod retry;

use openapi::apis::categories_api::{create_category, list_categories, CreateCategoryError, ListCategoriesError};
use openapi::apis::quickstart_api::create_message;
use openapi::apis::{configuration::Configuration, Error};
use openapi::models::{NewCategory, NewMessage};
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
        if let Some(CreateCategoryError::Status400(error)) = rejected.entity {
            println!("rejected {} {}", error.status, error.code);
        }
    }

    if let Err(Error::ResponseError(rejected)) = list_categories(&stranger, None).await {
        if let Some(ListCategoriesError::Status401(error)) = rejected.entity {
            println!("rejected {} {}", error.status, error.code);
        }
    }
    Ok(())
}
