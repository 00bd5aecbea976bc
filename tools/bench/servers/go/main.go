// The peer in Go: net/http and pgx, one query per request.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type newCategory struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
}

type category struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

// pgx prepares each statement once per connection.
type server struct{ pool *pgxpool.Pool }

func main() {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	server := server{pool}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/categories", server.list)
	mux.HandleFunc("POST /v1/categories", server.create)
	log.Fatal(http.ListenAndServe(os.Getenv("HOST")+":"+os.Getenv("PORT"), checkKey(mux)))
}

// checkKey lets requests pass that have the API key.
func checkKey(next http.Handler) http.Handler {
	expected := sha256.Sum256([]byte(os.Getenv("BENCH_KEY")))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found || sha256.Sum256([]byte(key)) != expected {
			http.Error(w, "The API key is not valid", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s server) list(w http.ResponseWriter, r *http.Request) {
	rows, _ := s.pool.Query(r.Context(), "SELECT id, name, description FROM categories ORDER BY id")
	categories, err := pgx.CollectRows(rows, pgx.RowToStructByPos[category])
	send(w, http.StatusOK, categories, err)
}

func (s server) create(w http.ResponseWriter, r *http.Request) {
	var given newCategory
	if json.NewDecoder(r.Body).Decode(&given) != nil || given.Name == nil {
		http.Error(w, "name must be text", http.StatusBadRequest)
		return
	}
	const insert = "INSERT INTO categories (name, description) VALUES ($1, $2) RETURNING id, name, description"
	rows, _ := s.pool.Query(r.Context(), insert, given.Name, given.Description)
	created, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[category])
	send(w, http.StatusCreated, created, err)
}

func send(w http.ResponseWriter, status int, body any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
