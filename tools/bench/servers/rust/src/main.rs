// The peer in Rust: axum and tokio-postgres, one query per request.
use std::{env, error::Error};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use deadpool_postgres::{Manager, Pool};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio_postgres::{NoTls, Row};

#[derive(Deserialize)]
struct NewCategory {
    name: String,
    description: Option<String>,
}

#[derive(Serialize)]
struct Category {
    id: i64,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl From<&Row> for Category {
    fn from(row: &Row) -> Self {
        Self {
            id: row.get(0),
            name: row.get(1),
            description: row.get(2),
        }
    }
}

type Failure = (StatusCode, String);

fn internal(error: impl Error) -> Failure {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let manager = Manager::new(env::var("DATABASE_URL")?.parse()?, NoTls);
    let pool = Pool::builder(manager).max_size(10).build()?;
    let key: [u8; 32] = Sha256::digest(env::var("BENCH_KEY")?).into();
    let app = Router::new()
        .route("/v1/categories", get(list).post(create))
        .layer(middleware::from_fn_with_state(key, check_key))
        .with_state(pool);
    let address = format!("{}:{}", env::var("HOST")?, env::var("PORT")?);
    axum::serve(TcpListener::bind(address).await?, app).await?;
    Ok(())
}

/// Lets requests pass that have the API key.
async fn check_key(State(expected): State<[u8; 32]>, request: Request, next: Next) -> Response {
    let header = request.headers().get(AUTHORIZATION);
    let key = header.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    if key.is_some_and(|key| Sha256::digest(key).as_slice() == expected) {
        return next.run(request).await;
    }
    (StatusCode::UNAUTHORIZED, "The API key is not valid").into_response()
}

// deadpool prepares each statement once per connection.
async fn list(State(pool): State<Pool>) -> Result<Json<Vec<Category>>, Failure> {
    let client = pool.get().await.map_err(internal)?;
    let select = "SELECT id, name, description FROM categories ORDER BY id";
    let statement = client.prepare_cached(select).await.map_err(internal)?;
    let rows = client.query(&statement, &[]).await.map_err(internal)?;
    Ok(Json(rows.iter().map(Category::from).collect()))
}

async fn create(
    State(pool): State<Pool>,
    Json(NewCategory { name, description }): Json<NewCategory>,
) -> Result<(StatusCode, Json<Category>), Failure> {
    let client = pool.get().await.map_err(internal)?;
    let insert = "INSERT INTO categories (name, description) VALUES ($1, $2)
        RETURNING id, name, description";
    let statement = client.prepare_cached(insert).await.map_err(internal)?;
    let row = client.query_one(&statement, &[&name, &description]).await;
    let category = Category::from(&row.map_err(internal)?);
    Ok((StatusCode::CREATED, Json(category)))
}
